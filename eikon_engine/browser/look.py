"""Query the documents of all pages: whether they load, animate, or wait for responses."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from eikon_engine.errors import BrowserDiedError

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page

    from eikon_engine.browser.ledger import PageLedger

ANSWER_S: Final = 30.0
"""Wall time after which an unresponsive page counts as dead."""
WENT_AWAY: Final = r"Execution context was destroyed|[Ff]rame was detached|navigat"
"""Playwright's errors for a document that is being replaced."""

LOOK: Final = "() => window.__eikon__?.activity?.() ?? [document.readyState === 'complete' ? 0 : 1, 0, 0, 0]"
"""Returns whether a document loads (or unloads), whether it animates, how many responses it waits for, and its workers;
see init_look.js."""
LOOK_INSIDE: Final = "documents => window.__eikon__?.activityOfTree?.(documents) ?? null"
"""As above, for a document and all its frames; null if their number differs, or one is out of reach (cross-origin)."""
PENDING: Final = """async () => {
  const own = window.__eikon__ ?? {};
  const fetches = own.workerCount?.() ? await own.restWorkers() : 0;
  const loading = document.readyState !== 'complete' || own.workersStart?.();
  const pending = Math.max(0, (own.pending ?? 0) - (own.unanswered ?? 0)) + (own.working?.() ?? 0);
  return [loading ? 1 : 0, 0, pending + fetches, 0];
}"""
"""Returns whether a document loads, and how many responses it waits for."""
ARRIVED: Final = f"() => {{ if (window.__eikon__) window.__eikon__.leaving = null; return ({LOOK})() }}"
"""As above, and resets the unload flag of documents that survived a navigation: it was a download, or returned
nothing."""
WAIVE: Final = """() => {
  const own = window.__eikon__;
  if (own) Object.assign(own, { leaving: null, unanswered: own.pending, waived: document });
  own?.waiveWorkers?.();
  return [0, 0, 0, 0];
}"""
"""Stop waiting for a document that a script opened and did not close, that did not unload as announced, or whose
requests never end."""
STEP_WORKERS: Final = "async () => { await window.__eikon__?.stepWorkers?.(); return [0, 0, 0, 0] }"
"""Advance the workers of a document to its time; resolves when their timers ran and their messages arrived."""
FRAME: Final = """() => new Promise(painted => {
  const frame = new Animation(new KeyframeEffect(null, [], 1));
  frame.onfinish = painted;
  frame.play();
  frame.finish();
})"""
"""Resolves after the next frame, in which the events of finished animations are dispatched."""
FRAME_S: Final = 3.0
"""Wall time after which a page counts as one that is not rendered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The activity of all documents at one moment."""

    loading: bool
    moving: bool
    """Whether an animation runs, or the pointer lies over an element that was not notified yet."""
    pending: int
    """Fetches that wait for a response, those of workers included, and pending browser work for a page."""
    workers: int

    async def paint(self, ledger: PageLedger) -> None:
        """Render one frame of every page."""
        await asyncio.gather(*(_painted(page) for _, page in ledger.open_pages()))


async def look_at(
    ledger: PageLedger, script: str = LOOK, *, main_only: bool = False, skip_leaving: bool = False
) -> Seen:
    """Query every frame, or the main frames alone; with `skip_leaving`, no page that waits for its next document.

    The browser delays any evaluation in such a page until that document is shown.
    """
    pages = [page for _, page in ledger.open_pages() if not (skip_leaving and ledger.is_leaving(page))]
    answers: list[_Answer] = []
    for found in await asyncio.gather(*(_ask_page(page, script, main_only=main_only) for page in pages)):
        answers.extend(found)
    return Seen(
        loading=any(answer[0] for answer in answers),
        moving=any(answer[1] for answer in answers),
        pending=sum(answer[2] for answer in answers),
        workers=sum(answer[3] for answer in answers),
    )


_Answer: TypeAlias = tuple[int, int, int, int]


async def _ask_page(page: Page, script: str, *, main_only: bool) -> list[_Answer]:
    """Query the frames of a page; in one evaluation if the main frame reaches them all."""
    frames = [page.main_frame, *(() if main_only else filter(has_document, page.frames[1:]))]
    if len(frames) > 1 and script == LOOK:
        inside = await _evaluate(page.main_frame, LOOK_INSIDE, len(frames))
        if inside is not None:
            return [(int(inside[0]), int(inside[1]), int(inside[2]), int(inside[3]))]
    return list(await asyncio.gather(*(_ask(frame, script) for frame in frames)))


def has_document(frame: Frame) -> bool:
    """Whether a frame shows a document; one that loads lazily has none, and would never answer."""
    return frame.parent_frame is None or bool(frame.url)


async def _ask(frame: Frame, script: str) -> _Answer:
    loading, moving, pending, workers = await _evaluate(frame, script)
    return int(loading), int(moving), int(pending), int(workers)


async def _evaluate(frame: Frame, script: str, told: int | None = None) -> Any:  # noqa: ANN401 - no type yet
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(ANSWER_S):
            return await frame.evaluate(script, told)
    except Error as error:
        if frame.page.is_closed() or frame.is_detached():
            return 0, 0, 0, 0
        if re.search(WENT_AWAY, error.message):
            return 1, 0, 0, 0
        message = f"the browser stopped responding: {error.message.splitlines()[0]}"
        raise BrowserDiedError(message) from error
    except TimeoutError as error:
        message = f"{frame.url} did not respond within {ANSWER_S:.0f} s; it may be in an endless loop"
        raise BrowserDiedError(message) from error


async def _painted(page: Page) -> None:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(FRAME_S):
            await page.evaluate(FRAME)
    except (Error, TimeoutError):
        return  # the page is closing, or is not rendered: the next query shows which
