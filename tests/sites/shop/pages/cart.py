"""The cart page and its API."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.sites.shop.catalogue import COUPONS, WRAP_COLOURS, find_product, money
from tests.sites.shop.messages import answer_json
from tests.sites.shop.state import CartLine
from tests.sites.shop.templates import fill, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request
    from tests.sites.shop.state import Session

_MOST = 9


def show_cart(request: Request) -> Answer:
    """Show the empty page that the script fills."""
    notice = ""
    if request.query.get("notice"):
        notice = fill("alert.html", id="cart-notice", text="Look over your cart once more.")
    return page(request, "Cart", fill("cart.html", notice=notice), "cart.js")


def _options(line: CartLine) -> str:
    return ", ".join(filter(None, (f"gift in {line.wrap}" if line.gift else "", line.note)))


def _cart(session: Session, message: str = "") -> dict[str, object]:
    lines = [
        {
            "product": line.product.id,
            "name": line.product.name,
            "quantity": line.quantity,
            "options": _options(line),
            "sum": money(line.cents),
        }
        for line in session.cart.values()
    ]
    return {"lines": lines, "count": session.count, "total": money(session.total), "message": message}


def read_cart(request: Request) -> Answer:
    """Return the cart as JSON."""
    return answer_json(_cart(request.session))


def add_to_cart(request: Request) -> Answer:
    """Add a product to the cart; adding it again increases its quantity."""
    if request.changed("cart-error"):
        return answer_json({"message": "The cart is closed for a moment."}, HTTPStatus.SERVICE_UNAVAILABLE)
    value, session = request.json(), request.session
    product, quantity = find_product(int(value.get("product", 0))), int(value.get("quantity", 1))
    if product is None or not 1 <= quantity <= _MOST:
        return answer_json({"message": f"Choose 1 to {_MOST} pieces."}, HTTPStatus.UNPROCESSABLE_ENTITY)
    before = session.cart.get(product.id)
    wrap = str(value.get("wrap", ""))
    session.cart[product.id] = CartLine(
        product=product,
        quantity=quantity + (before.quantity if before else 0),
        gift=bool(value.get("gift")),
        wrap=wrap if wrap in WRAP_COLOURS else WRAP_COLOURS[0],
        note=str(value.get("note", "")),
    )
    return answer_json(_cart(session, f"{product.name} added to the cart."), HTTPStatus.CREATED)


def remove_from_cart(request: Request) -> Answer:
    """Remove a product from the cart."""
    request.session.cart.pop(int(request.arguments[0]), None)
    return answer_json(_cart(request.session))


def use_coupon(request: Request) -> Answer:
    """Apply a coupon, or answer that it is unknown."""
    code = str(request.json().get("code", "")).strip().upper()
    if code not in COUPONS:
        return answer_json(_cart(request.session, "This coupon is not known."), HTTPStatus.UNPROCESSABLE_ENTITY)
    request.session.coupon = code
    return answer_json(_cart(request.session, f"Coupon {code}: {COUPONS[code]} % off."))
