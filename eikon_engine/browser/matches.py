"""List everything that a selector matches, with the engine that binds targets. Pages are not changed."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.clean import clean
from eikon_engine.browser.frames import frame_path
from eikon_engine.browser.look import ANSWER_S, WENT_AWAY, has_document
from eikon_engine.browser.own_script import own_script
from eikon_engine.browser.playwright_errors import translate
from eikon_engine.browser.standing import frame_in
from eikon_engine.errors import ActionError, BrowserDiedError

if TYPE_CHECKING:
    from playwright.async_api import Frame

    from eikon_engine.browser.session import Session

SHOWN: Final = 50
"""Elements that are described; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One element that a selector matches."""

    description: str
    """Tag and accessible name."""
    is_visible: bool
    box: tuple[float, float, float, float]
    """Left, top, width and height in CSS pixels, in the viewport of its frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """What a selector matches in one document."""

    page: int
    """Ordinal."""
    frame: str
    """Path of the frame, empty for the main one."""
    count: int
    shown: tuple[Match, ...]
    """The first matches, in document order."""
    digest: str
    """Changes with the markup or form state of any match."""


async def matches_in(session: Session, selector: str, page: int, frame: str = "") -> Matches:
    """List everything that a selector matches in one frame of a page, without secrets.

    Raises:
        PageMissingError: the page, or its frame, is not open.
        ActionError: the selector is invalid, or the page does not respond.
    """
    matches = await _ask(session, frame_in(session, page, frame), selector, page)
    if matches is None:
        message = f"page {page} is navigating. Try again when the new document has loaded."
        raise ActionError(message)
    return matches


async def matches_anywhere(session: Session, selector: str) -> tuple[Matches, ...]:
    """List what a selector matches in each document of all pages; documents being replaced are omitted.

    Raises:
        ActionError: the selector is invalid, or a page does not respond.
    """
    asked = [
        _ask(session, frame, selector, ordinal)
        for ordinal, page in session.ledger.open_pages()
        if not session.ledger.is_leaving(page)
        for frame in page.frames
        if has_document(frame)
    ]
    return tuple(each for each in await asyncio.gather(*asked) if each is not None)


async def _ask(session: Session, frame: Frame, selector: str, page: int) -> Matches | None:
    from playwright.async_api import Error

    path, in_clear = frame_path(frame), session.restorer.restore(selector.encode()).decode()
    if session.ledger.is_leaving(frame.page):
        return None
    try:
        async with asyncio.timeout(ANSWER_S):
            answer = await frame.locator(in_clear).evaluate_all(own_script("bind.js"), {"every": SHOWN})
    except TimeoutError as error:
        message = f"page {page} did not respond within {ANSWER_S:.0f} s"
        raise ActionError(message) from error
    except Error as error:
        if session.ledger.crashed:
            message = f"the browser is gone; it closed while evaluating {selector}"
            raise BrowserDiedError(message) from error
        if re.search(WENT_AWAY, error.message):
            return None
        refused = translate(error, f"looking for {selector}")
        raise type(refused)(session.redactor_for(selector).text(refused.message)) from error
    return _read(session, answer, page, path)


def _read(session: Session, answer: Any, page: int, frame: str) -> Matches:  # noqa: ANN401 - what a page's script returns has no type yet
    return Matches(
        page=page,
        frame=frame,
        count=int(answer["count"]),
        shown=tuple(
            Match(
                description=clean(session, each["description"]),
                is_visible=bool(each["visible"]),
                box=_box(each["box"]),
            )
            for each in answer["shown"]
        ),
        digest=str(answer["digest"]),
    )


def _box(numbers: list[float]) -> tuple[float, float, float, float]:
    left, top, width, height = numbers
    return left, top, width, height
