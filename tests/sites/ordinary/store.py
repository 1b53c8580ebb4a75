"""A shop whose pages are made by the server and whose cart is kept by a JSON API, with stock from an event stream."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from aiohttp import web

from tests.sites.ordinary.restartable import serve_ordinary

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.sites.ordinary.restartable import OrdinarySite


class Product(NamedTuple):
    """Something to buy."""

    sku: str
    name: str
    price: float
    stock: int


PRODUCTS: Final = (
    Product("mug", "Blue mug", 7.5, 12),
    Product("lamp", "Desk lamp", 39, 4),
    Product("pen", "Fountain pen", 24.9, 31),
)
_DAY: Final = 86_400

_LAYOUT: Final = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} - Store</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/static/store.css?_={now}"></head><body>
<header id="top"><a id="shop" href="/">Store</a> <a id="cart-link" href="/cart">Cart (<span id="badge">0</span>)</a>
</header><main id="content">{content}</main>
<script nonce="{nonce}">window.requestToken = "{nonce}";</script>
<script src="/static/store.js?_={now}"></script></body></html>"""
_HOME: Final = """<h1 id="heading">Everything you need</h1><p id="offer">Free delivery until midnight.</p>
<form id="search" action="/" method="get"><label for="q">Search</label> <input id="q" name="q" type="search" value="{q}"
placeholder="mug, lamp, ..."> <select id="sort" name="sort"><option id="by-name">name</option>
<option id="by-price">price</option></select> <button id="find">Find</button></form>
<ul id="products">{items}</ul>"""
_ITEM: Final = """<li id="item-{sku}"><a id="link-{sku}" href="/product/{sku}">{name}</a>
<span id="price-{sku}">{price:.2f} EUR</span></li>"""
_PRODUCT: Final = """<h1 id="heading">{name}</h1><p id="price">{price:.2f} EUR</p>
<p id="stock" data-sku="{sku}">Stock unknown</p><label id="amount-label" for="amount">Amount</label>
<input id="amount" type="number" value="1"> <button id="add" data-sku="{sku}">Add to cart</button>
<p id="added"></p>"""
_CART: Final = """<h1 id="heading">Your cart</h1><table id="lines"><thead><tr><th>Product</th><th>Amount</th>
<th>Sum</th></tr></thead><tbody id="rows"></tbody></table><p>Total: <b id="total"></b></p>
<form id="checkout" method="post" action="/checkout"><input type="hidden" name="nonce" value="{nonce}">
<label for="address">Address</label> <input id="address" name="address" placeholder="Street and town">
<button id="order">Order</button></form>"""
_ORDER: Final = """<h1 id="heading">Thank you!</h1><p id="number">Your order has the number {number}.</p>
<p id="address">It goes to {address}.</p><p id="delivery">It arrives on {day}.</p>
<p id="sum">You pay {total:.2f} EUR.</p>
<p id="made">Ordered at {clock}</p>"""


class Store:
    """Carts and orders since the last restart."""

    def __init__(self) -> None:
        """Begin without orders; their numbers go on from those of other shoppers."""
        self._carts: dict[str, dict[str, int]] = {}
        self._nonces: set[str] = set()
        self._next_order = 100_000 + secrets.randbelow(800_000)

    def routes(self) -> dict[str, Callable[[web.Request], object]]:
        """Return the handlers."""
        products = {f"GET /product/{each.sku}": self._product for each in PRODUCTS}
        return {
            "GET /": self._home,
            **products,
            "GET /cart": lambda request: self._page(request, "Cart", _CART),
            "GET /api/cart": lambda request: web.json_response(self._lines(request)),
            "POST /api/cart": self._add,
            "POST /checkout": self._order,
            "GET /stock": self._stock,
        }

    def _page(self, request: web.Request, title: str, content: str, **values: object) -> web.Response:
        nonce = secrets.token_urlsafe(18)
        self._nonces.add(nonce)
        page = _LAYOUT.format(
            title=title, nonce=nonce, now=time.time_ns() // 1_000_000, content=content.format(nonce=nonce, **values)
        )
        response = web.Response(text=page, content_type="text/html")
        if request.cookies.get("visitor") not in self._carts:
            visitor = secrets.token_hex(16)
            self._carts[visitor] = {}
            response.set_cookie("visitor", visitor, httponly=True, samesite="Lax")
        return response

    def _home(self, request: web.Request) -> web.Response:
        query = request.query.get("q", "").lower()
        found = [each for each in PRODUCTS if query in each.name.lower()]
        if request.query.get("sort") == "price":
            found.sort(key=lambda each: each.price)
        items = "".join(_ITEM.format(**each._asdict()) for each in found)
        return self._page(request, "Home", _HOME, items=items, q=query)

    def _product(self, request: web.Request) -> web.Response:
        product = next(each for each in PRODUCTS if each.sku == request.path.rpartition("/")[2])
        return self._page(request, product.name, _PRODUCT, **product._asdict())

    def _cart(self, request: web.Request) -> dict[str, int]:
        return self._carts.get(request.cookies.get("visitor", ""), {})

    def _lines(self, request: web.Request) -> dict[str, object]:
        cart = self._cart(request)
        lines = [
            {"name": each.name, "amount": cart[each.sku], "sum": each.price * cart[each.sku]}
            for each in PRODUCTS
            if each.sku in cart
        ]
        total = sum(float(str(line["sum"])) for line in lines)
        return {"lines": lines, "total": total, "count": sum(cart.values()), "checked_at": time.time()}

    async def _add(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if request.headers.get("X-Request-Token") not in self._nonces:
            return web.json_response({"error": "The page has expired"}, status=403)
        cart = self._cart(request)
        cart[asked["sku"]] = cart.get(asked["sku"], 0) + int(asked["amount"])
        return web.json_response({"count": sum(cart.values()), "message": f"{asked['amount']} added to the cart"})

    async def _order(self, request: web.Request) -> web.Response:
        form = await request.post()
        if form.get("nonce") not in self._nonces:
            return web.Response(
                status=403, text="<!doctype html><h1>The page has expired</h1>", content_type="text/html"
            )
        number, self._next_order = self._next_order, self._next_order + 1
        now = time.time()
        return self._page(
            request,
            "Order",
            _ORDER,
            number=number,
            address=form["address"],
            day=time.strftime("%A, %d %B %Y", time.gmtime(now + 3 * _DAY)),
            total=float(str(self._lines(request)["total"])),
            clock=time.strftime("%H:%M:%S", time.gmtime(now)),
        )

    async def _stock(self, request: web.Request) -> web.StreamResponse:
        product = next(each for each in PRODUCTS if each.sku == request.query["sku"])
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(f"data: {json.dumps({'stock': product.stock})}\n\n".encode())
        await asyncio.Event().wait()
        return response


def serve_store(*, port: int = 0) -> AbstractContextManager[OrdinarySite]:
    """Serve the shop until the block ends."""
    return serve_ordinary(Store, port=port)
