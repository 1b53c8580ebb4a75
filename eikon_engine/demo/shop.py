"""The server of the shop: sessions, carts and orders in memory, on loopback only."""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from eikon_engine.demo.pages import (
    PRODUCTS,
    Visitor,
    format_price,
    price_of,
    render_cart,
    render_list,
    render_login,
    render_order,
    render_page,
    render_product,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.demo.pages import Drift

HOST: Final = "127.0.0.1"
USER: Final = "ada"
PASSWORD: Final = "correct-horse-battery"  # noqa: S105 - of the demo, and in its documentation
_FIRST_ORDER: Final = 1001
_POLLS_UNTIL_PACKED: Final = 3
_MAX_BODY: Final = 64 * 1024


@dataclass(slots=True)
class _Session:
    """What the shop knows of a visitor."""

    csrf_token: str
    user: str = ""
    cart: Counter[int] = field(default_factory=Counter)
    """Number of pieces by product."""
    orders: list[str] = field(default_factory=list)
    """Totals of the orders, from number 1001."""
    polls: Counter[int] = field(default_factory=Counter)
    """Number of polls by order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Response:
    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    location: str = ""


class DemoShop(ThreadingHTTPServer):
    """The shop; each visitor has a cart and orders of their own."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, drift: Drift | None = None) -> None:
        """Listen on a port of 127.0.0.1; 0 is a free one.

        Raises:
            OSError: the port cannot be used.
        """
        self.drift = drift
        self.sessions: dict[str, _Session] = {}
        super().__init__((HOST, port), _ShopRequest)

    @property
    def url(self) -> str:
        """The address of the start page."""
        return f"http://{HOST}:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's own signature
        """Ignore a browser that closed its connection."""


class _ShopRequest(BaseHTTPRequestHandler):
    """One request."""

    server: DemoShop
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""

    def _respond(self) -> None:
        session_id, self._session = self._find_session()
        self._body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _MAX_BODY))
        response = self._route()
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        self.send_header("Cache-Control", "no-store")
        if response.location:
            self.send_header("Location", response.location)
        if session_id:
            self.send_header("Set-Cookie", f"sid={session_id}; Path=/; HttpOnly; SameSite=Lax")
        self.end_headers()
        self.wfile.write(response.body)

    do_GET = do_POST = _respond  # noqa: N815 - the names are the parent's

    def _find_session(self) -> tuple[str, _Session]:
        """Return the session of the cookie; a new one has an id to set."""
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get("sid")
        except CookieError:
            cookie = None
        known = self.server.sessions.get(cookie.value) if cookie is not None else None
        if known is not None:
            return "", known
        session_id = secrets.token_hex(16)
        session = self.server.sessions[session_id] = _Session(csrf_token=secrets.token_hex(16))
        return session_id, session

    def _route(self) -> _Response:
        path = urlsplit(self.path).path
        for method, pattern, respond in _ROUTES:
            found = re.fullmatch(pattern, path)
            if method == self.command and found is not None:
                return respond(self, *map(int, found.groups()))
        return self._show("Not found", "<h1>There is no such page</h1>", status=404)

    def _show(self, title: str, body: str, *, status: int = 200) -> _Response:
        session = self._session
        visitor = Visitor(user=session.user, cart_count=session.cart.total())
        return _Response(status=status, body=render_page(title, body, visitor))

    def show_list(self) -> _Response:
        query = parse_qs(urlsplit(self.path).query).get("q", [""])[0]
        return self._show("Products", render_list(query, self.server.drift))

    def show_product(self, number: int) -> _Response:
        if number not in PRODUCTS:
            return self._show("Not found", "<h1>There is no such product</h1>", status=404)
        return self._show(PRODUCTS[number].name, render_product(number, self.server.drift))

    def show_cart(self) -> _Response:
        return self._show("Cart", render_cart(self._session.csrf_token, self.server.drift))

    def read_cart(self) -> _Response:
        cart = self._session.cart
        lines = [{"name": PRODUCTS[number].name, "count": count} for number, count in cart.items()]
        return _json({"lines": lines, "total": self._total()})

    def add_to_cart(self) -> _Response:
        if self.server.drift == "api-error":
            return _json({"error": "The cart is not available"}, status=500)
        try:
            number = json.loads(self._body)["product"]
        except (ValueError, TypeError, KeyError):
            number = None
        if not isinstance(number, int) or number not in PRODUCTS:
            return _json({"error": "There is no such product"}, status=422)
        self._session.cart[number] += 1
        return _json({"count": self._session.cart.total()})

    def place_order(self) -> _Response:
        if self._field("csrf_token") != self._session.csrf_token:
            return self._show("Refused", "<h1>The form has expired</h1>", status=403)
        if not self._session.cart:
            return _Response(status=303, location="/cart")
        self._session.orders.append(self._total())
        self._session.cart.clear()
        return _Response(status=303, location=f"/order/{_FIRST_ORDER + len(self._session.orders) - 1}")

    def show_order(self, number: int) -> _Response:
        if number not in self._order_numbers():
            return self._show("Not found", "<h1>There is no such order</h1>", status=404)
        return self._show(f"Order {number}", render_order(number, self._session.orders[number - _FIRST_ORDER]))

    def read_order(self, number: int) -> _Response:
        if number not in self._order_numbers():
            return _json({"error": "There is no such order"}, status=404)
        self._session.polls[number] += 1
        is_packed = self._session.polls[number] >= _POLLS_UNTIL_PACKED
        return _json({"state": "packed" if is_packed else "received"})

    def show_login(self) -> _Response:
        return self._show("Sign in", render_login(self._session.csrf_token))

    def sign_in(self) -> _Response:
        session = self._session
        if self._field("csrf_token") != session.csrf_token:
            return self._show("Refused", "<h1>The form has expired</h1>", status=403)
        if (self._field("username"), self._field("password")) != (USER, PASSWORD):
            form = render_login(session.csrf_token, "Unknown name or wrong password")
            return self._show("Sign in", form, status=401)
        session.user = USER
        return _Response(status=303, location="/")

    def _field(self, name: str) -> str:
        """Return a field of the posted form."""
        return parse_qs(self._body.decode(errors="replace")).get(name, [""])[0]

    def _total(self) -> str:
        cents = sum(count * price_of(number, self.server.drift) for number, count in self._session.cart.items())
        return format_price(cents)

    def _order_numbers(self) -> range:
        return range(_FIRST_ORDER, _FIRST_ORDER + len(self._session.orders))


_ROUTES: Final[tuple[tuple[str, str, Callable[..., _Response]], ...]] = (
    ("GET", "/", _ShopRequest.show_list),
    ("GET", r"/product/(\d{1,4})", _ShopRequest.show_product),
    ("GET", "/cart", _ShopRequest.show_cart),
    ("POST", "/order", _ShopRequest.place_order),
    ("GET", r"/order/(\d{4})", _ShopRequest.show_order),
    ("GET", "/login", _ShopRequest.show_login),
    ("POST", "/login", _ShopRequest.sign_in),
    ("GET", "/api/cart", _ShopRequest.read_cart),
    ("POST", "/api/cart", _ShopRequest.add_to_cart),
    ("GET", r"/api/orders/(\d{4})", _ShopRequest.read_order),
)


def _json(value: object, *, status: int = 200) -> _Response:
    return _Response(status=status, body=json.dumps(value).encode(), content_type="application/json")
