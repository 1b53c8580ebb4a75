"""Navigate, go back and forward, reload."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from eikon_engine.browser.look import WENT_AWAY
from eikon_engine.browser.perform.deed import Deed, require_page
from eikon_engine.browser.playwright_errors import translate
from eikon_engine.errors import NavigationError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from playwright.async_api import Page, Response

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import GoBack, GoForward, Navigate, Reload


async def navigate(session: Session, action: Navigate) -> Deed:
    """Load a URL."""
    page = require_page(session, action.page)
    load = page.goto(action.url, wait_until=action.wait_until, timeout=action.timeout_ms, referer=action.referer)
    await _load(session, load, f"navigating to {action.url}")
    return Deed()


async def reload(session: Session, action: Reload) -> Deed:
    """Load the current document again."""
    page = require_page(session, action.page)
    await _load(session, page.reload(wait_until=action.wait_until, timeout=action.timeout_ms), "reloading")
    return Deed()


async def travel(session: Session, action: GoBack | GoForward) -> Deed:
    """Move one step through the history of a page.

    Raises:
        NavigationError: the history has no such entry.
    """
    page = require_page(session, action.page)
    before = await _history_entry(page, action.type)
    if action.type == "go_back":
        move, wanted = page.go_back(wait_until=action.wait_until, timeout=action.timeout_ms), "going back"
    else:
        move, wanted = page.go_forward(wait_until=action.wait_until, timeout=action.timeout_ms), "going forward"
    response = await _load(session, move, wanted)
    await session.rest.quiesce()
    if response is None and await _history_entry(page, action.type) == before:
        message = f"{wanted}: the history of page {action.page} has no such entry; the page is still at {page.url}"
        raise NavigationError(message)
    return Deed()


async def _history_entry(page: Page, wanted: str) -> object:
    """Return the current history entry; two states of an application may share one URL."""
    from playwright.async_api import Error

    try:
        return await page.evaluate("[window.navigation?.currentEntry?.key ?? '', location.href]")
    except Error as error:
        if re.search(WENT_AWAY, error.message):
            return None  # the page is navigating
        raise translate(error, f"reading the history to {wanted}") from error


async def _load(session: Session, load: Awaitable[Response | None], wanted: str) -> Response | None:
    from playwright.async_api import Error

    redirects, downloads = session.redirects_served, session.ledger.downloads_begun
    task = asyncio.ensure_future(load)
    try:
        await session.rest.drive(task)
        return task.result()
    except Error as error:
        if session.redirects_served > redirects:
            return None  # a recorded document redirect continues as a navigation of our own
        if session.ledger.downloads_begun > downloads or "Download is starting" in error.message:
            return None  # the document turned out to be a download
        raise translate(error, wanted) from error
