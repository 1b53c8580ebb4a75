"""The listing and its search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites.shop.catalogue import CATEGORIES, PRODUCTS
from tests.sites.shop.templates import fill, fill_each, options, page

if TYPE_CHECKING:
    from tests.sites.shop.catalogue import Product
    from tests.sites.shop.messages import Answer, Request

_RYE_BREAD = 5
_SPONSORED = 9
_CONSOLE_ERROR = '<script>console.error("the recommendations did not load");</script>'


def _listed(request: Request) -> tuple[Product, ...]:
    wanted, category = request.query.get("q", "").strip().lower(), request.query.get("category", "")
    listed = [p for p in PRODUCTS if wanted in p.name.lower() and category in {"", p.category}]
    if request.changed("removed-item"):
        listed = [product for product in listed if product.id != _RYE_BREAD]
    if request.changed("reordered-list"):
        listed[:2] = listed[1::-1]
    if request.changed("only-one-left"):
        listed = listed[:1]
    return tuple(listed)


def show_catalogue(request: Request) -> Answer:
    """Show the products that match the search."""
    listed = _listed(request)
    rows = tuple({"id": p.id, "name": p.name, "price": p.price, "category": p.category} for p in listed)
    if request.changed("sponsored-first"):
        rows = ({**rows[0], "id": _SPONSORED}, *rows)
    choices = {"": "All", **{category: category.title() for category in CATEGORIES}}
    main = fill(
        "catalogue.html",
        q=request.query.get("q", ""),
        categories=options(choices, request.query.get("category", "")),
        count=len(listed),
        cards=fill_each("card.html", rows),
        extra=_CONSOLE_ERROR if request.changed("console-error") else "",
    )
    title = "Corner Shop - Summer sale" if request.changed("title") else "Corner Shop"
    return page(request, title, main, "catalogue.js")
