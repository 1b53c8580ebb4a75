"""The function that answers a request."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.sites.shop.pages import (
    assets,
    cart,
    catalogue,
    checkout,
    login,
    news,
    plain,
    prices,
    product,
    reviews,
    upload,
    wishlist,
)
from tests.sites.shop.pages.message import show_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sites.shop.messages import Answer, Request

    Page = Callable[[Request], Answer]

ROUTES: tuple[tuple[str, str, Page], ...] = (
    ("GET", "/", catalogue.show_catalogue),
    ("GET", "/login", login.show_login),
    ("POST", "/login", login.sign_in),
    ("POST", "/logout", login.sign_out),
    ("GET", "/prices", prices.show_prices),
    ("GET", r"/product/(\d+)", product.show_product),
    ("GET", "/reviews-frame", reviews.show_reviews),
    ("GET", "/review-rules", reviews.show_rules),
    ("POST", "/api/reviews", reviews.post_review),
    ("GET", "/cart", cart.show_cart),
    ("GET", "/api/cart", cart.read_cart),
    ("POST", "/api/cart", cart.add_to_cart),
    ("DELETE", r"/api/cart/(\d+)", cart.remove_from_cart),
    ("POST", "/api/coupon", cart.use_coupon),
    ("GET", "/checkout", checkout.show_checkout),
    ("POST", "/checkout", checkout.place_order),
    ("GET", r"/order/(\d+)", checkout.show_order),
    ("GET", r"/invoice/(\d+)\.txt", checkout.send_invoice),
    ("GET", "/import", upload.show_import),
    ("POST", "/import", upload.take_upload),
    ("GET", "/wishlist", wishlist.show_wishlist),
    ("POST", "/api/wishlist", wishlist.keep_order),
    ("GET", "/news", news.show_news),
    ("GET", "/api/news", news.read_news),
    ("GET", "/help", plain.show_help),
    ("GET", "/slow", plain.show_slow),
    ("GET", "/broken", plain.show_broken),
    ("GET", r"/static/picture-(\d+)\.svg", assets.send_picture),
    ("GET", r"/static/([\w-]+\.\w+)", assets.send_asset),
)


def _not_found(request: Request) -> Answer:
    return show_message(request, HTTPStatus.NOT_FOUND, "This page is not in our shop.")


def find_page(method: str, path: str) -> tuple[Page, tuple[str, ...]]:
    """Return the function for a method and a path, and the variable parts of the path."""
    for wanted, pattern, page in ROUTES:
        match = re.fullmatch(pattern, path)
        if match and method == wanted:
            return page, match.groups()
    return _not_found, ()
