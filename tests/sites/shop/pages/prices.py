"""The table of prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites.shop.catalogue import PRODUCTS, money
from tests.sites.shop.templates import fill, fill_each, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request

_CARROT = 4


def show_prices(request: Request) -> Answer:
    """Show name, price and stock of every product."""
    surcharge = {_CARROT: 10} if request.changed("other-price") else {}
    rows = tuple(
        {"id": p.id, "name": p.name, "price": money(p.cents + surcharge.get(p.id, 0)), "stock": p.stock}
        for p in PRODUCTS
    )
    return page(request, "Prices", fill("prices.html", rows=fill_each("price_row.html", rows)))
