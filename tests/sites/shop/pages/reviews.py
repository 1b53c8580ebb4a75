"""The reviews in their frame, and new ones."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.sites.shop.messages import answer_json
from tests.sites.shop.state import Review
from tests.sites.shop.templates import bare_page, fill, fill_each

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request


def show_reviews(request: Request) -> Answer:
    """Show the frame with the list and the form."""
    number = request.query.get("product", "1")
    reviews = request.shop.reviews.get(int(number) if number.isdecimal() else 0, ())
    main = fill(
        "reviews.html",
        heading="What people say" if request.changed("frame-text") else "Reviews of our customers",
        product=number,
        reviews=fill_each("review.html", tuple({"author": r.author, "text": r.text} for r in reviews)),
    )
    return bare_page("Reviews", main, "reviews.js")


def show_rules(request: Request) -> Answer:
    """Show the nested frame."""
    del request
    return bare_page("Rules for reviews", fill("review_rules.html"))


def post_review(request: Request) -> Answer:
    """Store a review, or answer 422 if it has no text."""
    value = request.json()
    product, author, text = int(value.get("product", 0)), str(value.get("author", "")), str(value.get("text", ""))
    if not text.strip():
        return answer_json({"message": "Write a few words first."}, HTTPStatus.UNPROCESSABLE_ENTITY)
    review = Review(author=author.strip() or "Anonymous", text=text.strip())
    reviews = request.shop.reviews
    reviews[product] = (*reviews.get(product, ()), review)
    return answer_json({"author": review.author, "text": review.text, "message": "Thank you."}, HTTPStatus.CREATED)
