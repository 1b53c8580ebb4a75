"""Take pictures of pages, and draw stored documents: no scripts, and no network but stored resources."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.playwright_errors import translate
from eikon_engine.dom.html import OUTLINED_ATTRIBUTE
from eikon_engine.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import CDPSession, Page, Route, ViewportSize

    from eikon_engine.browser.session import Session

_OUTLINE: Final = f"[{OUTLINED_ATTRIBUTE}] {{ outline: 3px solid #d6006c !important; outline-offset: 2px !important; }}"
_TIMEOUT_MS: Final = 5_000
"""Deadline for one document, whose resources are all at hand."""
_URL: Final = "http://document.invalid/"
"""Address of documents that had none on the web."""


_PICTURE_S: Final = 10.0
"""Deadline for a picture of a page."""


_SESSIONS: Final[dict[Page, CDPSession]] = {}
"""DevTools sessions of open pages; to attach to a page and detach from it takes longer than a picture."""


def _forget_session(page: Page) -> None:
    _SESSIONS.pop(page, None)


async def take_picture(page: Page) -> bytes | None:
    """Return a PNG of what a page shows; None if it closes or hangs.

    Playwright's own screenshots wait until the fonts of a page have loaded. A replay holds those back that the
    recording delivers later, and its clock stands still meanwhile.
    """
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(_PICTURE_S):
            if page not in _SESSIONS:
                _SESSIONS[page] = await page.context.new_cdp_session(page)
                page.once("close", _forget_session)
            options = {"format": "png", "optimizeForSpeed": True}  # a third faster, and a third larger
            taken = await _SESSIONS[page].send("Page.captureScreenshot", options)
    except (Error, TimeoutError):
        return None
    return base64.b64decode(taken["data"])


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResource:
    """A response that documents may load."""

    content_type: str
    body: bytes = field(repr=False)


async def draw_document(
    session: Session, html: str, url: str, size: tuple[int, int], resource: Callable[[str], StoredResource | None]
) -> bytes:
    """Return a PNG of a document, scrolled to its first outlined element; the session's own pages are not touched.

    `size` is width and height of the viewport in CSS pixels. `resource` returns the style sheet, picture or font at a
    URL; None if it is not stored.

    Raises:
        BrowserError: the browser could not draw it.
    """
    from playwright.async_api import Error

    address = url.partition("#")[0] if url.startswith(("http:", "https:")) else _URL

    async def serve(route: Route) -> None:
        request = route.request
        found = resource(request.url)
        with suppress(Error):  # the document is closed
            if request.is_navigation_request() and request.url == address:
                await route.fulfill(content_type="text/html; charset=utf-8", body=html)
            elif found is not None and not request.is_navigation_request():
                await route.fulfill(content_type=found.content_type, body=found.body)
            else:
                await route.abort("blockedbyclient")

    browser = session.context.browser
    if browser is None:
        message = "drawing a stored document: the context of the session belongs to no browser"
        raise BrowserError(message)
    try:
        viewport: ViewportSize = {"width": size[0], "height": size[1]}
        context = await browser.new_context(java_script_enabled=False, service_workers="block", viewport=viewport)
        try:
            await context.route("**/*", serve)
            page = await context.new_page()
            await page.goto(address, timeout=_TIMEOUT_MS)
            for frame in page.frames:
                marked = frame.locator(f"[{OUTLINED_ATTRIBUTE}]:visible")
                if await marked.count():
                    await marked.first.scroll_into_view_if_needed(timeout=_TIMEOUT_MS)
                    break
            return await page.screenshot(style=_OUTLINE, timeout=_TIMEOUT_MS)
        finally:
            await context.close()
    except Error as error:
        raise translate(error, "drawing a stored document") from error
