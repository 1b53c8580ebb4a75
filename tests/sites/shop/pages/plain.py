"""Pages with a single purpose: help, late content, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites.shop.templates import bare_page, fill, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request


def show_help(request: Request) -> Answer:
    """Show the popup."""
    del request
    return bare_page("Help", fill("help.html"))


def show_slow(request: Request) -> Answer:
    """Show a page whose content appears 400 ms later."""
    return page(request, "Slow", fill("slow.html"), "slow.js")


def show_broken(request: Request) -> Answer:
    """Show a page that throws an error, logs another one, and has a missing picture."""
    return page(request, "Broken", fill("broken.html"), "broken.js")
