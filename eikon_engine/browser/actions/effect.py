"""The result of performing an action, and what all actions need."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.page_calls import answer_timeout
from eikon_engine.browser.playwright_errors import translate
from eikon_engine.errors import PageMissingError, TraceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from playwright.async_api import FilePayload, Page

    from eikon_engine.browser.actions.targets import BoundTarget
    from eikon_engine.browser.session import Session
    from eikon_engine.errors import ActionError
    from eikon_engine.trace.actions import Drop, ReadValue, SetInputFiles

ACT_TIMEOUT_MS: Final = 10_000.0
"""Wall time for an action on an element that is ready: a last resort, since waiting in page time comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionEffect:
    """The elements that an action was bound to, and what it returned."""

    bound: BoundTarget | None = None
    bound_second: BoundTarget | None = None
    """The element that a drag ended on."""
    screenshot: bytes | None = None
    value: ReadValue | None = None
    """What was read from the page, redacted."""
    long_text: str | None = field(default=None, repr=False)
    """The JSON text of a long value."""
    error: ActionError | None = None
    """Why an action failed that read something."""
    waited_ms: float | None = None
    """Page time since a wait of the agent began until its condition held; None for other actions."""


def require_page(session: Session, ordinal: int) -> Page:
    """Return an open page.

    Raises:
        PageMissingError: no page of that ordinal is open.
    """
    page = session.page(ordinal)
    if page is None:
        listing = ", ".join(str(number) for number, _ in session.tracker.open_pages()) or "none"
        message = f"page {ordinal} (in order of opening) is not open; open pages: {listing}"
        raise PageMissingError(message)
    return page


def file_payloads(session: Session, action: Drop | SetInputFiles) -> list[FilePayload]:
    """Return the files of an action with their contents.

    Raises:
        TraceError: the bundle contains no files.
    """
    uploads = session.uploads
    if uploads is None:
        message = f"{action.target}: the bundle contains no files to upload"
        raise TraceError(message, code="attachment-missing")
    return [
        {"name": each.name, "mimeType": each.mime_type, "buffer": uploads.get(each.content)} for each in action.files
    ]


@asynccontextmanager
async def translated_errors(operation: str) -> AsyncIterator[None]:
    """Translate Playwright's errors inside the block."""
    from playwright.async_api import Error

    try:
        yield
    except Error as error:
        raise translate(error, operation) from error


@asynccontextmanager
async def delivery_barrier(session: Session, page: Page) -> AsyncIterator[None]:
    """Hold back network responses while an action runs, so that none arrives between its events.

    A page that closes itself loses the action's acknowledgement: the action was performed.
    """
    from playwright.async_api import Error

    session.timeline.mark_acting()
    with session.stabilizer.barrier.hold(acting=True):
        try:
            yield
        except Error:
            if session.tracker.is_dead or not page.is_closed():
                raise


async def await_input(page: Page, operation: Awaitable[None], timeout_ms: float | None = None) -> None:
    """Await an operation of mouse, keyboard or touchscreen, which has no timeout of its own.

    Raises:
        PageUnresponsiveError: the page did not respond.
    """
    async with answer_timeout(page, page.url, (timeout_ms or ACT_TIMEOUT_MS) / 1000):
        await operation
