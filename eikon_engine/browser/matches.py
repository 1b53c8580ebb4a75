"""List everything that a selector matches, with the engine that binds targets. Pages are not changed."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.clean import redact_page_text
from eikon_engine.browser.frames import frame_path
from eikon_engine.browser.look import DOCUMENT_REPLACED, PAGE_RESPONSE_S, has_document
from eikon_engine.browser.own_script import load_script
from eikon_engine.browser.playwright_errors import translate
from eikon_engine.browser.standing import require_frame
from eikon_engine.errors import ActionError, BrowserDiedError

if TYPE_CHECKING:
    from playwright.async_api import Frame

    from eikon_engine.browser.session import Session

MAX_DESCRIBED: Final = 50
"""Elements that are described; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementMatch:
    """One element that a selector matches."""

    description: str
    """Tag and accessible name."""
    is_visible: bool
    box: tuple[float, float, float, float]
    """Left, top, width and height in CSS pixels, in the viewport of its frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorMatches:
    """What a selector matches in one document."""

    page: int
    """Ordinal."""
    frame: str
    """Path of the frame, empty for the main one."""
    count: int
    shown: tuple[ElementMatch, ...]
    """The first matches, in document order."""
    digest: str
    """Changes with the markup or form state of any match."""


async def find_matches(session: Session, selector: str, page: int, frame: str = "") -> SelectorMatches:
    """List everything that a selector matches in one frame of a page, without secrets.

    Raises:
        PageMissingError: the page, or its frame, is not open.
        ActionError: the selector is invalid, or the page does not respond.
    """
    matches = await _query_matches(session, require_frame(session, page, frame), selector, page)
    if matches is None:
        message = f"page {page} is navigating. Try again when the new document has loaded."
        raise ActionError(message)
    return matches


async def find_matches_everywhere(session: Session, selector: str) -> tuple[SelectorMatches, ...]:
    """List what a selector matches in each document of all pages; documents being replaced are omitted.

    Raises:
        ActionError: the selector is invalid, or a page does not respond.
    """
    asked = [
        _query_matches(session, frame, selector, ordinal)
        for ordinal, page in session.tracker.open_pages()
        if not session.tracker.is_navigating(page)
        for frame in page.frames
        if has_document(frame)
    ]
    return tuple(each for each in await asyncio.gather(*asked) if each is not None)


async def _query_matches(session: Session, frame: Frame, selector: str, page: int) -> SelectorMatches | None:
    from playwright.async_api import Error

    path, in_clear = frame_path(frame), session.secret_restorer.restore_bytes(selector.encode()).decode()
    if session.tracker.is_navigating(frame.page):
        return None
    try:
        async with asyncio.timeout(PAGE_RESPONSE_S):
            answer = await frame.locator(in_clear).evaluate_all(load_script("bind.js"), {"every": MAX_DESCRIBED})
    except TimeoutError as error:
        message = f"page {page} did not respond within {PAGE_RESPONSE_S:.0f} s"
        raise ActionError(message) from error
    except Error as error:
        if session.tracker.is_dead:
            message = f"the browser is gone; it closed while evaluating {selector}"
            raise BrowserDiedError(message) from error
        if re.search(DOCUMENT_REPLACED, error.message):
            return None
        refused = translate(error, f"looking for {selector}")
        raise type(refused)(session.redactor_for_query(selector).redact_text(refused.message)) from error
    return _parse_matches(session, answer, page, path)


def _parse_matches(session: Session, answer: Any, page: int, frame: str) -> SelectorMatches:  # noqa: ANN401 - what a page's script returns has no type yet
    return SelectorMatches(
        page=page,
        frame=frame,
        count=int(answer["count"]),
        shown=tuple(
            ElementMatch(
                description=redact_page_text(session, each["description"]),
                is_visible=bool(each["visible"]),
                box=_parse_box(each["box"]),
            )
            for each in answer["shown"]
        ),
        digest=str(answer["digest"]),
    )


def _parse_box(numbers: list[float]) -> tuple[float, float, float, float]:
    left, top, width, height = numbers
    return left, top, width, height
