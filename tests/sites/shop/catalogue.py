"""The products, news and coupons of the shop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product on sale."""

    id: int
    name: str
    category: str
    cents: int
    stock: int
    text: str

    @property
    def price(self) -> str:
        """Return the price as the pages show it."""
        return money(self.cents)


def money(cents: int) -> str:
    """Format an amount as the pages do."""
    return f"{cents / 100:.2f} €"


def _product(line: str) -> Product:
    number, name, category, cents, stock, text = (part.strip() for part in line.split("|"))
    return Product(id=int(number), name=name, category=category, cents=int(cents), stock=int(stock), text=text)


PRODUCTS = tuple(
    _product(line)
    for line in """\
 1 | Banana           | fruit      |   30 | 120 | Ripe, yellow, sold by the piece.
 2 | Apple            | fruit      |   45 |  80 | Crisp and a little sour.
 3 | Jalapeño         | vegetables |   90 |  35 | Hot; wash your hands afterwards.
 4 | Carrot           | vegetables |   25 | 200 | With its green still on.
 5 | Rye bread        | bakery     |  420 |  12 | Baked in the night, one kilogram.
 6 | Butter croissant | bakery     |  180 |  24 | Best before noon.
 7 | Oat milk         | drinks     |  215 |  40 | One litre, without sugar.
 8 | Apple juice      | drinks     |  260 |  18 | Pressed from the apples above.
 9 | Tea "Grey & Blue"| drinks     |  640 |   9 | Twenty bags with bergamot.
10 | Tomato           | vegetables |   60 |  66 | From the greenhouse next door.
""".splitlines()
)

CATEGORIES = ("fruit", "vegetables", "bakery", "drinks")
WRAP_COLOURS = ("red", "green", "blue")
DELIVERIES = {"standard": "Standard, 3 days", "express": "Express, next day", "pickup": "Pick up in the shop"}
PAYMENTS = {"card": "Card", "invoice": "Invoice"}
COUPONS = {"SAVE10": 10}
"""Discount in percent, by coupon code."""

USERS = {"ada": "correct-horse-battery"}
WISHLIST = (5, 9, 6, 3)
NEWS_COUNT = 40
NEWS_PER_PAGE = 10


def find_product(number: int) -> Product | None:
    """Return the product with a number, if there is one."""
    return next((product for product in PRODUCTS if product.id == number), None)
