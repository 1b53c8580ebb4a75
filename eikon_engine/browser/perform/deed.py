"""The result of performing an action, and what all actions need."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.playwright_errors import translate
from eikon_engine.errors import PageMissingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Page

    from eikon_engine.browser.bind import Bound
    from eikon_engine.browser.session import Session

ACT_TIMEOUT_MS: Final = 10_000.0
"""Wall time for an action on an element that is ready: a last resort, since waiting in page time comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """The elements that an action was bound to, and what it returned."""

    bound: Bound | None = None
    bound_second: Bound | None = None
    """The element that a drag ended on."""
    picture: bytes | None = None


def require_page(session: Session, ordinal: int) -> Page:
    """Return an open page.

    Raises:
        PageMissingError: no page of that ordinal is open.
    """
    page = session.page(ordinal)
    if page is None:
        listing = ", ".join(str(number) for number, _ in session.ledger.open_pages()) or "none"
        message = f"page {ordinal} (in order of opening) is not open; open pages: {listing}"
        raise PageMissingError(message)
    return page


@asynccontextmanager
async def translated(wanted: str) -> AsyncIterator[None]:
    """Translate Playwright's errors inside the block."""
    from playwright.async_api import Error

    try:
        yield
    except Error as error:
        raise translate(error, wanted) from error


@asynccontextmanager
async def closed_gate(session: Session, page: Page) -> AsyncIterator[None]:
    """Hold back network responses while an action runs, so that none arrives between its events.

    A page that closes itself loses the action's acknowledgement: the action was performed.
    """
    from playwright.async_api import Error

    session.rest.act()
    with session.rest.held(acting=True):
        try:
            yield
        except Error:
            if session.ledger.crashed or not page.is_closed():
                raise
