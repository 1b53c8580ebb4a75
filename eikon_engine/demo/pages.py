"""The pages of the shop: pure functions that return HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Drift: TypeAlias = Literal["renamed-button", "changed-price", "removed-element", "api-error"]
"""One difference from the shop that was recorded."""
DRIFTS: Final[tuple[Drift, ...]] = get_args(Drift)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product of the shop."""

    name: str
    cents: int


PRODUCTS: Final[Mapping[int, Product]] = MappingProxyType(
    {
        1: Product(name="Green tea", cents=420),
        2: Product(name="Black tea", cents=390),
        3: Product(name="Coffee", cents=680),
        4: Product(name="Honey", cents=510),
        5: Product(name="Oat biscuits", cents=240),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """What the head of each page shows."""

    user: str
    cart_count: int


def price_of(number: int, drift: Drift | None) -> int:
    """Return the price of a product in cents."""
    increase = 30 if drift == "changed-price" and number == 1 else 0
    return PRODUCTS[number].cents + increase


def format_price(cents: int) -> str:
    """Return a price as the pages show it: 4.20 EUR."""
    return f"{cents // 100}.{cents % 100:02} EUR"


def render_list(query: str, drift: Drift | None) -> str:
    """Return the start page, or what a search found."""
    found = [number for number, product in PRODUCTS.items() if query.lower() in product.name.lower()]
    rows = "\n".join(
        f'<li><a href="/product/{number}">{escape(PRODUCTS[number].name)}</a>, '
        f'<span class="price">{format_price(price_of(number, drift))}</span></li>'
        for number in found
    )
    return f"""<h1>Products</h1>
<form action="/"><label>Search <input id="search" name="q" value="{escape(query)}"></label>
<button>Search</button></form>
<p id="count">{len(found)} found</p>
<ul>
{rows}
</ul>"""


def render_product(number: int, drift: Drift | None) -> str:
    """Return the page of a product, which adds it to the cart by `POST /api/cart`."""
    label = "Add to basket" if drift == "renamed-button" else "Add to cart"
    return f"""<h1>{escape(PRODUCTS[number].name)}</h1>
<p class="price">{format_price(price_of(number, drift))}</p>
<p><button id="add" data-product="{number}">{label}</button></p>
<p id="added" role="status"></p>
<script>
const button = document.querySelector("#add");
button.addEventListener("click", async () => {{
  const body = JSON.stringify({{ product: Number(button.dataset.product) }});
  const headers = {{ "Content-Type": "application/json" }};
  const response = await fetch("/api/cart", {{ method: "POST", body, headers }});
  if (response.ok) document.querySelector("#cart-count").textContent = (await response.json()).count;
  document.querySelector("#added").textContent = response.ok ? "Added" : `Not added: error ${{response.status}}`;
}});
</script>"""


def render_cart(csrf_token: str, drift: Drift | None) -> str:
    """Return the page of the cart, which reads its lines by `GET /api/cart`."""
    delivery = "" if drift == "removed-element" else '<p id="delivery">Delivered within two days</p>'
    return f"""<h1>Cart</h1>
<ul id="lines"></ul>
{delivery}
<form method="post" action="/order"><input type="hidden" name="csrf_token" value="{csrf_token}">
<button id="place-order">Place order</button></form>
<script>
fetch("/api/cart").then((response) => response.json()).then((cart) => {{
  for (const line of cart.lines) {{
    const item = document.createElement("li");
    item.textContent = `${{line.count}} of ${{line.name}}`;
    document.querySelector("#lines").append(item);
  }}
  const total = document.createElement("span");
  total.id = "total";
  total.textContent = cart.total;
  const sum = document.createElement("p");
  sum.append("Total: ", total);
  document.querySelector("#lines").after(sum);
}});
</script>"""


def render_order(number: int, total: str) -> str:
    """Return the page of an order, which polls its state by `GET /api/orders/NUMBER` until it is packed."""
    return f"""<h1>Order {number}</h1>
<p>Total: <span id="total">{total}</span></p>
<p id="state" role="status">received</p>
<script>
async function poll() {{
  const response = await fetch("/api/orders/{number}");
  const {{ state }} = await response.json();
  document.querySelector("#state").textContent = state;
  if (state !== "packed") setTimeout(poll, 300);
}}
setTimeout(poll, 300);
</script>"""


def render_login(csrf_token: str, error: str = "") -> str:
    """Return the form with which a visitor signs in."""
    message = f'<p id="login-error" role="alert">{escape(error)}</p>\n' if error else ""
    return f"""<h1>Sign in</h1>
{message}<form method="post" action="/login"><input type="hidden" name="csrf_token" value="{csrf_token}">
<p><label>Name <input id="username" name="username" autocomplete="username"></label></p>
<p><label>Password <input id="password" name="password" type="password" autocomplete="current-password"></label></p>
<p><button id="sign-in">Sign in</button></p></form>"""


def render_page(title: str, body: str, visitor: Visitor) -> bytes:
    """Return a whole document in UTF-8."""
    account = f'<span id="user">{escape(visitor.user)}</span>' if visitor.user else '<a href="/login">Sign in</a>'
    return "\n".join(_document(title, body, account, visitor.cart_count)).encode()


def _document(title: str, body: str, account: str, cart_count: int) -> Iterable[str]:
    yield "<!doctype html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)} - Demo shop</title>'
    yield "<style>body { font-family: sans-serif; margin: 2em auto; max-width: 40em }"
    yield "nav { display: flex; gap: 2em }</style>"
    yield '<link rel="icon" href="data:,"></head><body>'
    yield '<nav><a href="/">Products</a>'
    yield f'<a href="/cart">Cart (<span id="cart-count">{cart_count}</span>)</a> {account}</nav>'
    yield f"<main>{body}</main>"
    yield "</body></html>"
