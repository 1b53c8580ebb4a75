"""A product with its form, its custom elements and its reviews."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.sites.shop.catalogue import WRAP_COLOURS, find_product
from tests.sites.shop.pages.message import show_message
from tests.sites.shop.templates import fill, fill_each, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request


def _button(request: Request) -> str:
    if request.changed("renamed-target"):
        return fill("button.html", id="buy-now", label="Buy now", state="")
    if request.changed("wrong-target"):
        return fill("button.html", id="add-to-cart", label="Add to wish list", state=" data-wish")
    if request.changed("new-id"):
        return fill("button.html", id="buy-now", label="Add to cart", state="")
    if request.changed("new-label"):
        return fill("button.html", id="add-to-cart", label="Add to basket", state="")
    states = {"disabled-button": " disabled", "hidden-button": " hidden"}
    state = states.get(request.shop.change or "", "")
    button = fill("button.html", id="add-to-cart", label="Add to cart", state=state)
    return button * 2 if request.changed("two-matches") else button


def show_product(request: Request) -> Answer:
    """Show the product whose number is in the path."""
    product = find_product(int(request.arguments[0]))
    if product is None:
        return show_message(request, HTTPStatus.NOT_FOUND, "This product is not in our list.")
    colours = tuple(
        {"colour": colour, "label": colour.title(), "state": " checked" if colour == WRAP_COLOURS[0] else ""}
        for colour in WRAP_COLOURS
    )
    moved, button = request.changed("moved-button"), _button(request)
    main = fill(
        "product.html",
        id=product.id,
        name=product.name,
        price=product.price,
        stock=product.stock,
        text=product.text,
        colours=fill_each("colour.html", colours),
        above=button if moved else "",
        button="" if moved else button,
        cover=fill("cover.html") if request.changed("covered-button") else "",
    )
    return page(request, product.name, main, "product.js")
