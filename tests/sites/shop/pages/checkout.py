"""Checkout, orders and invoices."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.sites.shop.catalogue import DELIVERIES, PAYMENTS, money
from tests.sites.shop.messages import Answer, redirect
from tests.sites.shop.pages.message import show_message
from tests.sites.shop.templates import fill, fill_each, options, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Request

_FIELDS = ("name", "address", "delivery", "payment", "date")


def _sign_in_first(request: Request) -> Answer | None:
    if request.session.user is not None and not request.changed("expired-session"):
        return None
    return redirect(f"/login?next={quote(request.path)}", HTTPStatus.FOUND)


def _form(request: Request, fields: dict[str, str], error: str, status: HTTPStatus) -> Answer:
    deliveries = {k: v for k, v in DELIVERIES.items() if k != "express" or not request.changed("missing-option")}
    main = fill(
        "checkout.html",
        error=fill("alert.html", id="checkout-error", text=error) if error else "",
        name=fields.get("name", ""),
        address=fields.get("address", ""),
        date=fields.get("date", ""),
        deliveries=options(deliveries, fields.get("delivery", "")),
        phone=fill("phone.html") if request.changed("new-required-field") else "",
    )
    return page(request, "Checkout", main, status=status)


def show_checkout(request: Request) -> Answer:
    """Show the form to signed-in visitors."""
    return _sign_in_first(request) or _form(request, {}, "", HTTPStatus.OK)


def _fault(request: Request, fields: dict[str, str]) -> str:
    if not fields["name"]:
        return "Enter your name."
    if fields["delivery"] not in DELIVERIES or fields["payment"] not in PAYMENTS:
        return "Choose how to deliver and how to pay."
    if request.changed("new-required-field") and not request.form().get("phone"):
        return "Enter your phone number."
    return ""


def place_order(request: Request) -> Answer:
    """Place the order and redirect to it, or show the form again with 422."""
    elsewhere = _sign_in_first(request)
    if elsewhere:
        return elsewhere
    form = request.form()
    fields = {name: form.get(name, "") for name in _FIELDS}
    fault = _fault(request, fields)
    if fault:
        return _form(request, fields, fault, HTTPStatus.UNPROCESSABLE_ENTITY)
    if request.changed("error-on-submit"):
        text = "We could not take your order. Nothing was charged; try again in a while."
        return show_message(request, HTTPStatus.INTERNAL_SERVER_ERROR, text)
    if request.changed("other-redirect"):
        return redirect("/cart?notice=1", HTTPStatus.SEE_OTHER)
    order = request.shop.place_order(request.session, fields)
    return redirect(f"/order/{order.number}", HTTPStatus.SEE_OTHER)


def show_order(request: Request) -> Answer:
    """Show a finished order."""
    order = request.shop.orders.get(int(request.arguments[0]))
    elsewhere = _sign_in_first(request)
    if elsewhere:
        return elsewhere
    if order is None:
        return show_message(request, HTTPStatus.NOT_FOUND, "There is no such order.")
    fields = tuple({"name": name.title(), "id": f"order-{name}", "value": value} for name, value in order.fields)
    lines = tuple({"text": f"{line.quantity} x {line.product.name}: {money(line.cents)}"} for line in order.lines)
    main = fill(
        "order.html",
        number=order.number,
        fields=fill_each("field.html", fields),
        lines=fill_each("item.html", lines),
        total=money(order.total),
    )
    return page(request, f"Order {order.number}", main)


def send_invoice(request: Request) -> Answer:
    """Return an order's invoice as a download."""
    order = request.shop.orders.get(int(request.arguments[0]))
    if order is None:
        return show_message(request, HTTPStatus.NOT_FOUND, "There is no such invoice.")
    extra = 1 if request.changed("download-content") else 0
    rows = (f"{line.quantity} x {line.product.name}: {money(line.cents)}" for line in order.lines)
    text = "\n".join((f"Invoice {order.number}", "", *rows, f"Total: {money(order.total + extra)}", ""))
    disposition = ("Content-Disposition", f'attachment; filename="invoice-{order.number}.txt"')
    return Answer(content_type="text/plain; charset=utf-8", body=text.encode(), headers=(disposition,))
