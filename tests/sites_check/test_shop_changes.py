"""Each change of the shop changes the answers listed in its table, and no others."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.sites.shop import CHANGE_TABLE, CHANGES, Change, serve_shop
from tests.sites_check.visitor import Reply, Visitor

PAGES = (
    "/",
    "/?category=drinks",
    "/login",
    "/prices",
    "/product/1",
    "/reviews-frame?product=1",
    "/review-rules",
    "/cart",
    "/api/cart",
    "/checkout",
    "/order/1000",
    "/invoice/1000.txt",
    "/import",
    "/wishlist",
    "/news",
    "/api/news?page=2",
    "/help",
    "/slow",
    "/broken",
    "/nowhere",
    "/static/shop.css",
    "/static/shop.js",
    "/static/cart.js",
    "/static/product.js",
    "/static/reviews.js",
    "/static/picture-1.svg",
)
ORDER = {"name": "Ada", "address": "1 Road", "delivery": "standard", "payment": "card", "date": "2026-12-24"}


def walk(change: str | None) -> dict[str, tuple[int, str, str]]:
    """Visit everything once, signed in; return status, redirect and text by request."""
    with serve_shop(change=change) as shop:
        visitor = Visitor(shop.url)
        replies: dict[str, Reply] = {"POST /login": visitor.sign_in()}
        replies |= {f"GET {path}": visitor.get(path) for path in PAGES}
        replies["POST /api/cart"] = visitor.post_json("/api/cart", {"product": 1, "quantity": 2})
        replies["POST /checkout"] = visitor.post("/checkout", **ORDER)
    return {request: (reply.status, reply.location, reply.text) for request, reply in replies.items()}


@pytest.fixture(scope="module")
def unchanged() -> dict[str, tuple[int, str, str]]:
    """Walk through the unchanged shop."""
    return walk(None)


def test_the_shop_is_the_same_every_time(unchanged: dict[str, tuple[int, str, str]]) -> None:
    """Two fresh shops answer the same walk with equal bytes."""
    assert walk(None) == unchanged


@pytest.mark.parametrize("change", CHANGE_TABLE, ids=lambda change: change.name)
def test_a_change_changes_its_own_answers_only(change: Change, unchanged: dict[str, tuple[int, str, str]]) -> None:
    """The requests whose answers differ are exactly those in the table."""
    changed = walk(change.name)

    differing = {request.partition("?")[0] for request, reply in changed.items() if reply != unchanged[request]}
    assert differing == set(change.where)


def test_a_slow_list_answers_later() -> None:
    """The catalogue takes at least 300 ms and is otherwise unchanged."""
    with serve_shop(change="slow-list") as shop:
        started = time.perf_counter()
        Visitor(shop.url).get("/")
        took = time.perf_counter() - started

    assert took >= 0.3


def test_an_unknown_change_is_refused_with_the_known_ones() -> None:
    """An unknown name is an error that lists the known ones."""
    with (
        pytest.raises(ValueError, match=r"no change of the shop is called 'sale'.*renamed-target"),
        serve_shop(change="sale"),
    ):
        pass


def test_the_names_of_changes_are_unique() -> None:
    """No two changes have the same name."""
    assert len(set(CHANGES)) == len(CHANGES)


def test_the_readme_shows_every_change() -> None:
    """The table in the README matches the one in the code."""
    readme = (Path(__file__).parents[1] / "sites" / "README.md").read_text(encoding="utf-8")

    assert [change.name for change in CHANGE_TABLE if f"| `{change.name}` |" not in readme] == []
    assert [change.what for change in CHANGE_TABLE if f"| {change.what} |" not in readme] == []
