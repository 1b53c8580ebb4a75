"""Query the documents of all pages: whether they load, animate, or wait for responses."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urldefrag

from eikon_engine.browser.frames import frame_of
from eikon_engine.browser.page_calls import (
    DOCUMENT_REPLACED,
    call_in_frame,
    unreadable,
)
from eikon_engine.browser.playwright_errors import CRASHED
from eikon_engine.errors import BrowserDiedError, PageCrashedError
from eikon_engine.files.origins import split_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from playwright.async_api import Frame, Page, Request

    from eikon_engine.browser.page_tracker import PageTracker


ACTIVITY: Final = "() => window.__eikon__?.activity?.() ?? [document.readyState === 'complete' ? 0 : 1, 0, 0, 0, 0]"
"""Returns whether a document loads (or unloads), whether it animates, how many responses it waits for, its workers, and
the page time to its next timer; see init_page_activity.js."""
ACTIVITY_TWICE: Final = f"() => window.__eikon__?.activityTwice?.() ?? ({ACTIVITY})()"
"""As above, from two looks with what scripts do in between; the second one sees what the first one triggered."""
_LOOKS: Final = {ACTIVITY: "activity", ACTIVITY_TWICE: "activityTwice"}
"""The functions of `ACTIVITY_OF_TREE` that return the same for all frames."""
ACTIVITY_OF_TREE: Final = "([documents, look]) => window.__eikon__?.activityOfTree?.(documents, look) ?? null"
"""As above, for a document and all its frames, with the name of the function that looks; null if their number differs,
or one is out of reach (cross-origin)."""
PENDING_RESPONSES: Final = """async () => {
  const own = window.__eikon__ ?? {};
  const fetches = own.workerCount?.() ? (await own.settleWorkers()).fetches : 0;
  const loading = document.readyState !== 'complete' || own.hasStartingWorkers?.();
  const pending = Math.max(0, (own.pending ?? 0) - (own.unanswered ?? 0)) + (own.openingSockets?.() ?? 0);
  return [loading ? 1 : 0, 0, pending + (own.working?.() ?? 0) + fetches, 0, 0];
}"""
"""Returns whether a document loads, and how many responses it waits for."""
ACTIVITY_AFTER_NAVIGATION: Final = (
    f"() => {{ if (window.__eikon__) window.__eikon__.leaving = null; return ({ACTIVITY_TWICE})() }}"
)
"""As `ACTIVITY_TWICE`, and resets the unload flag of documents that survived a navigation: it was a download, or
returned nothing."""
STOP_WAITING: Final = """() => {
  const own = window.__eikon__;
  if (own) Object.assign(own, { leaving: null, unanswered: own.pending, ignoredDocument: document });
  own?.ignoreWorkers?.();
  return [0, 0, 0, 0, 0];
}"""
"""Stop waiting for a document that a script opened and did not close, that did not unload as announced, or whose
requests never end."""
UNREAD: Final = "url => [0, 0, window.__eikon__?.working?.() ?? 0, window.__eikon__?.fetchesOf?.(url) ?? 0, 0]"
"""Returns how much the browser works for a document off the main thread, and how many fetches of a URL it waits for;
see init_browser_work.js and init_determinism.js."""
STARTING_FRAMES: Final = "() => [0, 0, window.__eikon__?.startingFrames?.() ?? 0, 0, 0]"
"""Returns how many frames of a document still start without a request; see init_browser_work.js."""
STEP_WORKER_CLOCKS: Final = "async () => { await window.__eikon__?.stepWorkers?.(); return [0, 0, 0, 0, 0] }"
"""Advance the workers of a document to its time; resolves when their timers ran and their messages arrived."""
NEXT_FRAME: Final = """() => new Promise(painted => {
  const frame = new Animation(new KeyframeEffect(null, [], 1));
  frame.onfinish = painted;
  frame.play();
  frame.finish();
})"""
"""Resolves after the next frame, in which scroll events and those of finished animations are dispatched."""
_AFTER_FRAME: Final = "async () => {{ await window.__eikon__?.nextFrame?.(); return ({script})() }}"
"""Renders a frame, then calls a function."""
RENDER_TIMEOUT_S: Final = 3.0
"""Wall time after which a page counts as one that is not rendered."""


NO_TIMER_MS: Final = 1e12
"""Page time to the next timer of a document without timers."""
NEXT_TIMER: Final = "() => window.__eikon__?.nextTimer?.() ?? 0"
"""Returns the page time to the next timer of a document, in milliseconds; 0 if unknown, as with workers."""

LOCAL_DOCUMENTS: Final = ("about:srcdoc", "blob:")
"""How the URLs of documents begin that a page has itself."""

DocumentActivity: TypeAlias = tuple[int, int, int, int, float]
"""What `ACTIVITY` returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageActivity:
    """The activity of all documents at one moment."""

    loading: bool
    animating: bool
    """Whether an animation runs, or the pointer lies over an element that was not notified yet."""
    pending: int
    """Fetches that wait for a response, those of workers included, WebSockets that open, and pending browser work for a
    page, such as bodies that scripts read."""
    workers: int
    next_timer_ms: float
    """Page time to the next timer; 0 if unknown."""

    @classmethod
    def total(cls, documents: Iterable[DocumentActivity]) -> PageActivity:
        """Return the activity of several documents together."""
        answers = tuple(documents)
        return cls(
            loading=any(answer[0] for answer in answers),
            animating=any(answer[1] for answer in answers),
            pending=sum(answer[2] for answer in answers),
            workers=sum(answer[3] for answer in answers),
            next_timer_ms=min((answer[4] for answer in answers), default=NO_TIMER_MS),
        )


async def render_frames(tracker: PageTracker) -> None:
    """Render one frame of every page."""
    await asyncio.gather(*(_render_frame(page.main_frame) for _, page in tracker.open_pages()))


def is_in_local_frame(frame: Frame) -> bool:
    """Whether the document of a frame, or of one around it, comes without a request."""
    above = frame.parent_frame
    return above is not None and (frame.url.startswith(LOCAL_DOCUMENTS) or is_in_local_frame(above))


async def query_activity(
    tracker: PageTracker, script: str = ACTIVITY, *, skip_leaving: bool = False, renders: bool = False
) -> PageActivity:
    """Query every frame; with `skip_leaving`, no page that waits for its next document.

    The browser delays any evaluation in such a page until that document is shown. With `renders`, pages render a frame
    first.
    """
    pages = [page for _, page in tracker.open_pages() if not (skip_leaving and tracker.requests.is_navigating(page))]
    answers = await asyncio.gather(*(_query_page(page, script, renders=renders) for page in pages))
    return PageActivity.total(answer for some in answers for answer in some)


async def count_unread(tracker: PageTracker, frame: Frame, request: Request) -> int:
    """Count what the scripts of a document may still read: the response to a request, and what the browser prepares.

    The response is not read before the fetch resolves, and that is some time after the request ended. 0 if the page
    waits for the next document, as above.
    """
    if tracker.requests.is_navigating(frame.page):
        return 0
    url = urldefrag(request.url).url
    others = sum(
        each.resource_type == request.resource_type and frame_of(each) == frame and urldefrag(each.url).url == url
        for each in tracker.requests.in_flight
        if each is not request
    )
    _, _, working, fetching, _ = await _evaluate(frame, UNREAD, url)
    return int(working) + max(0, int(fetching) - others)


async def count_starting_frames(tracker: PageTracker, frame: Frame) -> int:
    """Count the frames that start without a request in the document of a frame and in those around it.

    None count in a document that is about to be replaced, whose scripts may not answer.
    """
    if tracker.requests.is_navigating(frame.page):
        return 0
    leaving = {frame_of(each) for each in tracker.requests.in_flight if each.is_navigation_request()}
    around: list[Frame] = []
    within: Frame | None = frame
    while within is not None:
        around += [] if within in leaving else [within]
        within = within.parent_frame
    answers = await asyncio.gather(*(_evaluate(each, STARTING_FRAMES) for each in around))
    return sum(int(answer[2]) for answer in answers)


async def _query_page(page: Page, script: str, *, renders: bool) -> list[DocumentActivity]:
    """Query the frames of a page; in one evaluation if the main frame reaches them all."""
    frames = [page.main_frame, *filter(has_document, page.frames[1:])]
    if renders and len(frames) == 1:
        return [await _query_frame(page.main_frame, _AFTER_FRAME.format(script=script))]
    if renders:
        await _render_frame(page.main_frame)
    look = _LOOKS.get(script)
    if len(frames) > 1 and look is not None and len(set(map(_site, frames)) - {""}) <= 1:
        inside = await _evaluate(page.main_frame, ACTIVITY_OF_TREE, [len(page.frames), look])
        if inside is not None:
            return [_document_activity(page.main_frame, inside)]
    return list(await asyncio.gather(*(_query_frame(frame, script) for frame in frames)))


def _site(frame: Frame) -> str:
    """Return scheme and host of a frame's URL; empty without a host, as for `about:srcdoc`."""
    url = split_url(frame.url)
    return f"{url.scheme}://{url.netloc}" if url.netloc else ""


def has_document(frame: Frame) -> bool:
    """Whether a frame shows a document; one that loads lazily has none, and would never answer."""
    return frame.parent_frame is None or bool(frame.url)


async def _query_frame(frame: Frame, script: str) -> DocumentActivity:
    return _document_activity(frame, await _evaluate(frame, script))


def _document_activity(frame: Frame, answer: Sequence[float]) -> DocumentActivity:
    try:
        loading, moving, pending, workers, next_timer_ms = answer
        return int(loading), int(moving), int(pending), int(workers), float(next_timer_ms)
    except (TypeError, ValueError) as error:
        raise unreadable(frame, f"its activity is {answer!r:.80}") from error


async def _evaluate(frame: Frame, script: str, argument: object = None) -> Any:  # noqa: ANN401 - no type yet
    from playwright.async_api import Error

    try:
        return await call_in_frame(frame, script, argument)
    except Error as error:
        if frame.page.is_closed() or frame.is_detached():
            return 0, 0, 0, 0, NO_TIMER_MS
        if re.search(DOCUMENT_REPLACED, error.message):
            return 1, 0, 0, 0, 0
        if CRASHED.search(error.message):
            raise PageCrashedError(f"{frame.url} crashed") from error
        message = f"the browser stopped responding: {error.message.splitlines()[0]}"
        raise BrowserDiedError(message) from error


async def dispatch_scroll_events(page: Page) -> None:
    """Render a frame of every document of a page: those that scrolled dispatch their scroll events."""
    await asyncio.gather(*(_render_frame(frame) for frame in page.frames if has_document(frame)))


async def _render_frame(frame: Frame) -> None:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(RENDER_TIMEOUT_S):
            await call_in_frame(frame, NEXT_FRAME)
    except (Error, TimeoutError):
        return  # the document is being replaced, or is not rendered: the next query shows which
