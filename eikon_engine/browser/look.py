"""Look at the documents of all pages: whether they load, move, or wait for answers."""

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
"""Wall time after which a page that does not answer counts as dead."""
WENT_AWAY: Final = r"Execution context was destroyed|[Ff]rame was detached|navigat"
"""What Playwright says of a document that is just being replaced by another."""

LOOK: Final = "() => window.__eikon__?.look?.() ?? [document.readyState === 'complete' ? 0 : 1, 0, 0, 0]"
"""Ask whether a document loads (or leaves), moves, how many answers it waits for, and for its workers; see
init_look.js."""
LOOK_INSIDE: Final = "documents => window.__eikon__?.lookInside?.(documents) ?? null"
"""As above, of a document and all inside it; null where they are not so many, or one is out of reach, as another
site's."""
PENDING: Final = """async () => {
  const own = window.__eikon__ ?? {};
  const fetches = own.workerCount?.() ? await own.restWorkers() : 0;
  const loading = document.readyState !== 'complete' || own.workersStart?.();
  const pending = Math.max(0, (own.pending ?? 0) - (own.unanswered ?? 0)) + (own.working?.() ?? 0);
  return [loading ? 1 : 0, 0, pending + fetches, 0];
}"""
"""Ask whether a document loads, and for the answers."""
ARRIVED: Final = f"() => {{ if (window.__eikon__) window.__eikon__.leaving = null; return ({LOOK})() }}"
"""As above, and tell the documents that are still there after a navigation that they stay: it brought a file, or
nothing."""
WAIVE: Final = """() => {
  const own = window.__eikon__;
  if (own) Object.assign(own, { leaving: null, unanswered: own.pending, waived: document });
  own?.waiveWorkers?.();
  return [0, 0, 0, 0];
}"""
"""Wait no more for a document that a script opened and did not close, that does not leave as it said, or that asked for
something that never comes."""
STEP_WORKERS: Final = "async () => { await window.__eikon__?.stepWorkers?.(); return [0, 0, 0, 0] }"
"""Bring the workers of a document to its time; over when their timers have run and what they posted has arrived."""
FRAME: Final = """() => new Promise(painted => {
  const frame = new Animation(new KeyframeEffect(null, [], 1));
  frame.onfinish = painted;
  frame.play();
  frame.finish();
})"""
"""Answer after the next frame, in which the events of animations that ended are sent."""
FRAME_S: Final = 3.0
"""Wall time after which a page counts as one that is not painted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look at all documents."""

    loading: bool
    moving: bool
    """Whether an animation runs, or the pointer lies over something that does not know it yet."""
    pending: int
    """Fetches that wait for an answer, those of workers included, and work of the browser for a page."""
    workers: int

    async def paint(self, ledger: PageLedger) -> None:
        """Give every page a frame."""
        await asyncio.gather(*(_painted(page) for _, page in ledger.open_pages()))


async def look_at(
    ledger: PageLedger, script: str = LOOK, *, main_only: bool = False, skip_leaving: bool = False
) -> Seen:
    """Ask every frame, or the main frames alone; with `skip_leaving`, no page that waits for its next document.

    The browser holds back all questions to such a page until that document shows.
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
    """Ask the frames of a page; all at once where the main one reaches them."""
    frames = [page.main_frame, *(() if main_only else filter(has_document, page.frames[1:]))]
    if len(frames) > 1 and script == LOOK:
        inside = await _evaluate(page.main_frame, LOOK_INSIDE, len(frames))
        if inside is not None:
            return [(int(inside[0]), int(inside[1]), int(inside[2]), int(inside[3]))]
    return list(await asyncio.gather(*(_ask(frame, script) for frame in frames)))


def has_document(frame: Frame) -> bool:
    """Say whether a frame shows a document; one that is to be loaded lazily has none, and would answer nothing."""
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
        message = f"the browser stopped answering: {error.message.splitlines()[0]}"
        raise BrowserDiedError(message) from error
    except TimeoutError as error:
        message = f"{frame.url} did not answer within {ANSWER_S:.0f} s; it may be in an endless loop"
        raise BrowserDiedError(message) from error


async def _painted(page: Page) -> None:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(FRAME_S):
            await page.evaluate(FRAME)
    except (Error, TimeoutError):
        return  # a page that is going, or is not painted: the next look says which
