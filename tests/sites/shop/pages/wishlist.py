"""The wish list and its order."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.sites.shop.catalogue import find_product
from tests.sites.shop.messages import answer_json
from tests.sites.shop.templates import fill, fill_each, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request


def show_wishlist(request: Request) -> Answer:
    """Show the list in the visitor's order."""
    found = tuple(filter(None, (find_product(number) for number in request.session.wishlist)))
    items = fill_each("wish.html", tuple({"id": product.id, "name": product.name} for product in found))
    return page(request, "Wish list", fill("wishlist.html", items=items), "wishlist.js")


def keep_order(request: Request) -> Answer:
    """Store a new order of the same items, or answer 422."""
    order = request.json().get("order", [])
    if not isinstance(order, list) or sorted(order) != sorted(request.session.wishlist):
        return answer_json({"message": "The list has changed meanwhile."}, HTTPStatus.UNPROCESSABLE_ENTITY)
    request.session.wishlist = tuple(order)
    return answer_json({"message": "Order kept."})
