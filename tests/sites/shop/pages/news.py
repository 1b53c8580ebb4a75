"""The news, ten per page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites.shop.catalogue import NEWS_COUNT, NEWS_PER_PAGE
from tests.sites.shop.messages import answer_json
from tests.sites.shop.templates import fill, fill_each, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request

_SUBJECTS = ("The baker", "The greenhouse", "The tea room", "The cellar")


def _items(number: int) -> tuple[dict[str, object], ...]:
    first = (number - 1) * NEWS_PER_PAGE + 1
    return tuple(
        {"number": n, "title": f"News {n}", "text": f"{_SUBJECTS[n % len(_SUBJECTS)]} has something new."}
        for n in range(first, min(first + NEWS_PER_PAGE, NEWS_COUNT + 1))
    )


def show_news(request: Request) -> Answer:
    """Show the first page; the script fetches the others."""
    return page(request, "News", fill("news.html", items=fill_each("news_item.html", _items(1))), "news.js")


def read_news(request: Request) -> Answer:
    """Return one page of news as JSON, with the number of the next page or null."""
    asked = request.query.get("page", "1")
    number = max(1, int(asked)) if asked.isdecimal() else 1
    following = number + 1 if number * NEWS_PER_PAGE < NEWS_COUNT else None
    return answer_json({"items": _items(number), "next": following})
