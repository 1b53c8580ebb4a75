"""A page that contains only a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites.shop.templates import fill, page

if TYPE_CHECKING:
    from http import HTTPStatus

    from tests.sites.shop.messages import Answer, Request


def show_message(request: Request, status: HTTPStatus, text: str) -> Answer:
    """Show what went wrong, below the reason phrase of the status."""
    return page(request, status.phrase, fill("message.html", heading=status.phrase, text=text), status=status)
