"""The shop has the features of real sites and is deterministic."""

from __future__ import annotations

import json
from contextlib import closing
from hashlib import sha256
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from urllib.error import URLError
from urllib.parse import urlsplit

import pytest

from tests.sites.shop import serve_shop
from tests.sites_check.visitor import Visitor

ORDER = {"name": "Ada", "address": "1 Road", "delivery": "express", "payment": "card", "date": "2026-12-24"}


def test_signing_in_sets_a_hidden_and_a_visible_cookie_and_redirects() -> None:
    """A correct password leads to the catalogue, which shows the user's name."""
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        reply = visitor.sign_in()
        cookies = reply.headers.get_all("Set-Cookie")
        home = visitor.get("/")

    assert (reply.status, reply.location) == (HTTPStatus.FOUND, "/")
    assert cookies == ["sid=s2; Path=/; HttpOnly; SameSite=Lax", "shopper=ada; Path=/; SameSite=Lax"]
    assert '<strong id="session-name">ada</strong>' in home.text


def test_a_wrong_password_is_answered_by_401_and_a_message() -> None:
    """The form keeps the typed values, and the visitor is not signed in."""
    with serve_shop() as shop:
        reply = Visitor(shop.url).post("/login", username="ada", password="wrong")

    assert reply.status == HTTPStatus.UNAUTHORIZED
    assert 'id="login-error"' in reply.text
    assert 'value="ada"' in reply.text


def test_signing_in_leads_back_to_our_own_pages_only() -> None:
    """A `next` URL on another host is ignored."""
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        own = visitor.post("/login", username="ada", password="correct-horse-battery", next="/checkout")
        foreign = visitor.post("/login", username="ada", password="correct-horse-battery", next="//a.test")

    assert (own.location, foreign.location) == ("/checkout", "/")


def test_the_cart_remembers_what_was_added_and_removed() -> None:
    """Adding twice increases the quantity, removing deletes the line, and a coupon takes off ten percent."""
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        visitor.get("/")
        visitor.post_json("/api/cart", {"product": 1, "quantity": 2})
        added = visitor.post_json("/api/cart", {"product": 1, "quantity": 1, "gift": True, "wrap": "blue"})
        visitor.post_json("/api/cart", {"product": 2, "quantity": 1})
        coupon = visitor.post_json("/api/coupon", {"code": "save10"})
        removed = visitor.ask("DELETE", "/api/cart/2")

    assert added.status == HTTPStatus.CREATED
    assert json.loads(added.text)["lines"] == [
        {"product": 1, "name": "Banana", "quantity": 3, "options": "gift in blue", "sum": "0.90 €"}
    ]
    assert json.loads(coupon.text)["total"] == "1.22 €"
    assert json.loads(removed.text)["count"] == 3


def test_an_order_is_placed_under_the_next_number() -> None:
    """Checkout redirects with 303 to the order, whose page and invoice show it."""
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        visitor.sign_in()
        visitor.post_json("/api/cart", {"product": 5, "quantity": 2})
        placed = visitor.post("/checkout", **ORDER)
        order = visitor.get(placed.location)
        invoice = visitor.get("/invoice/1001.txt")

    assert (placed.status, placed.location) == (HTTPStatus.SEE_OTHER, "/order/1001")
    assert "<title>Order 1001</title>" in order.text
    assert invoice.headers["Content-Disposition"] == 'attachment; filename="invoice-1001.txt"'
    assert invoice.text == "Invoice 1001\n\n2 x Rye bread: 8.40 €\nTotal: 8.40 €\n"


def test_an_order_without_a_name_is_answered_by_422() -> None:
    """A name of white space is rejected; the other fields stay filled in."""
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        visitor.sign_in()
        reply = visitor.post("/checkout", **{**ORDER, "name": "  "})

    assert reply.status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "Enter your name." in reply.text
    assert '<option value="express" selected>' in reply.text


def test_guests_are_sent_to_the_sign_in_page() -> None:
    """Checkout requires a user and returns to the requested page after sign-in."""
    with serve_shop() as shop:
        reply = Visitor(shop.url).get("/checkout")

    assert (reply.status, reply.location) == (HTTPStatus.FOUND, "/login?next=/checkout")


def test_an_upload_shows_name_size_and_digest_of_the_very_bytes() -> None:
    """A trailing line break is part of the uploaded file."""
    content = b"a,b\r\n\x00\xff\r\n\r\n"
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="l.csv"\r\n\r\n' + content + b"\r\n--x--\r\n"
    with serve_shop() as shop:
        reply = Visitor(shop.url).ask("POST", "/import", body, "multipart/form-data; boundary=x")

    assert sha256(content).hexdigest() in reply.text
    assert f"{len(content)} bytes" in reply.text


def test_news_come_in_four_pages_and_end() -> None:
    """The last page has no next one."""
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        pages = [json.loads(visitor.get(f"/api/news?page={number}").text) for number in range(1, 5)]

    assert [page["next"] for page in pages] == [2, 3, 4, None]
    assert [item["number"] for page in pages for item in page["items"]] == list(range(1, 41))


def test_what_visitors_write_is_escaped() -> None:
    """A review with markup is shown as text."""
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        visitor.post_json("/api/reviews", {"product": 1, "author": "<b>", "text": "<script>1</script>"})
        frame = visitor.get("/reviews-frame?product=1")

    assert "&lt;script&gt;1&lt;/script&gt;" in frame.text


def test_answers_carry_no_clock() -> None:
    """Responses have neither a date nor a server version."""
    with serve_shop() as shop:
        headers = Visitor(shop.url).get("/").headers

    assert sorted(headers.keys()) == ["Cache-Control", "Content-Length", "Content-Type", "Set-Cookie"]


def test_requests_are_remembered_and_forgotten_by_a_restart() -> None:
    """A restart keeps the address, and clears request log and state."""
    with serve_shop() as shop:
        Visitor(shop.url).get("/?q=tea")
        before, address = shop.requests, shop.url
        shop.restart("title")
        title = Visitor(shop.url).get("/").text

    assert before == ("GET /?q=tea",)
    assert shop.requests == ("GET /",)
    assert list(shop.state.sessions) == ["s1"]
    assert address == shop.url
    assert "Summer sale" in title


def test_a_stopped_shop_does_not_answer() -> None:
    """After the block its port is closed."""
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        visitor.get("/")

    with pytest.raises(URLError):
        visitor.get("/")


def ask_for_help(connection: HTTPConnection) -> int:
    """Send a request over a connection that stays open."""
    connection.request("GET", "/help")
    response = connection.getresponse()
    response.read()
    return response.status


def test_a_stopped_shop_closes_the_connections_that_are_kept_alive() -> None:
    """A browser cannot send further requests over an earlier connection."""
    with serve_shop() as shop:
        connection = HTTPConnection(urlsplit(shop.url).netloc)
        before = ask_for_help(connection)

    assert before == HTTPStatus.OK
    with closing(connection), pytest.raises((HTTPException, ConnectionError)):
        ask_for_help(connection)


def test_no_page_names_another_host() -> None:
    """Every URL in a page is the shop's own."""
    paths = ("/", "/login", "/prices", "/product/1", "/cart", "/import", "/wishlist", "/news", "/help", "/broken")
    with serve_shop() as shop:
        visitor = Visitor(shop.url)
        texts = [visitor.get(path).text for path in paths]

    assert not [text for text in texts if "//" in text.replace("<!--", "")]
