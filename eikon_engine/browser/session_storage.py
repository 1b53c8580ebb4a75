"""Restore the session storage of the first page.

Session storage belongs to one page and one origin, and Playwright does not restore it. The page visits each origin
once, on a blank document served without a network, before any listener is attached; then its history is reset. A script
that filled the storage in each document would bring back items that a mission had removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playwright.async_api import BrowserContext, Route

BLANK_PAGE: Final = "about:blank"
_FILL_STORAGE: Final = (
    "items => { for (const [key, value] of Object.entries(items)) sessionStorage.setItem(key, value); }"
)


async def open_page_with_session_storage(context: BrowserContext, storage: Mapping[str, Mapping[str, str]]) -> None:
    """Open the first page of a context with its session storage filled, blank and without history."""
    page = await context.new_page()
    await page.route("**/*", _fulfill_blank)
    for origin, items in storage.items():
        await page.goto(f"{origin}/")
        await page.evaluate(_FILL_STORAGE, dict(items))
    await page.goto(BLANK_PAGE)
    await page.unroute("**/*")
    protocol = await context.new_cdp_session(page)
    await protocol.send("Page.resetNavigationHistory")
    await protocol.detach()


async def _fulfill_blank(route: Route) -> None:
    await route.fulfill(status=200, content_type="text/html", body="")
