"""Let a page come to rest, then let its clock go on: the only way in which page time passes."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import BrowserDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.async_api import BrowserContext, Frame, Page

    from eikon_engine.browser.ledger import PageLedger

STALL_S: Final = 15.0
"""Wall time after which a request that neither ends nor fails is no longer waited for; noted when it happens."""
ROUND_TRIP_S: Final = 30.0
"""Wall time after which a page that does not answer counts as dead."""
BLOCKED_S: Final = 2.0
"""Wall time after which a page that does not answer counts as waiting for an answer from the network."""
WENT_AWAY: Final = r"Execution context was destroyed|[Ff]rame was detached|navigat"
"""What Playwright says of a document that is just being replaced by another."""

PROBE: Final = """() => {
  const moving = document.getAnimations().filter(
    each => each.playState === 'running' && each.timeline === document.timeline);
  for (const each of moving) {
    if (each.effect?.getComputedTiming().endTime < Infinity && each.playbackRate) each.finish();
    else { each.pause(); each.currentTime = 0; }
  }
  for (const each of document.getElementsByTagName('svg')) {
    if (each.animationsPaused && !each.animationsPaused()) { each.pauseAnimations(); each.setCurrentTime(0); }
  }
  const own = window.__eikon__ || {};
  const loaded = document.readyState === 'complete' || own.waived === document;
  const stays = !own.leaving || own.leaving.defaultPrevented;
  if (moving.length) return 'moving';
  return loaded && stays && (own.pending || 0) <= (own.unanswered || 0) ? 'rest' : 'busy';
}"""
"""Ask whether a document has loaded and stands still. Animations run by a clock of their own, which nothing can step:
one that ends is ended now, with its events, and one that never does is stopped where it begins."""
PENDING: Final = "() => window.__eikon__?.pending ?? 0"
FRAME: Final = """() => new Promise(painted => {
  const frame = new Animation(new KeyframeEffect(null, [], 1));
  frame.onfinish = painted;
  frame.play();
  frame.finish();
})"""
"""Answer after the next frame, in which the events of animations that ended are sent."""
FRAME_S: Final = 0.5
"""Wall time after which a page counts as one that is not painted."""
ARRIVED: Final = "() => { if (window.__eikon__) window.__eikon__.leaving = null }"
"""Tell the documents that are still there after a navigation that they stay: it brought a file, or nothing."""
WAIVE: Final = """() => {
  const own = window.__eikon__;
  if (own) Object.assign(own, { leaving: null, unanswered: own.pending, waived: document });
}"""
"""Wait no more for a document that a script opened and did not close, that does not leave as it said, or that asked for
something that never comes."""
UNFINISHED_S: Final = 2.0
"""Wall time after which a document that asks for nothing more counts as loaded, though it never says so."""


class Rest:
    """Step the clock of a context, one tick after the other, with the page at rest in between."""

    def __init__(self, context: BrowserContext, ledger: PageLedger, tick_ms: float) -> None:
        """Step the paused clock of `context` by at most `tick_ms` at a time."""
        self._tick_ms = tick_ms
        self._context = context
        self._ledger = ledger
        self.gate = asyncio.Event()
        """Open while answers may be delivered: closed during an action and while the clock moves."""
        self.gate.set()
        self.pending: list[Callable[[], int]] = []
        """Counters of work that is not a request: captures to read, navigations to redo."""
        self.virtual_ms = 0.0
        """Page time passed since the last call of `take_time`."""
        self.notes: list[str] = []

    def take_time(self) -> float:
        """Return the page time since the last call."""
        passed, self.virtual_ms = self.virtual_ms, 0.0
        return passed

    async def settle(self, duration_ms: float) -> None:
        """Let page time pass, and leave the page at rest."""
        remaining = duration_ms
        await self.quiesce()
        while remaining > 0:
            step = min(self._tick_ms, remaining)
            await self.tick(step)
            remaining -= step

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold back answers, so that none falls between the events of an action or of a step of the clock.

        A page that stands still because it waits for an answer, as a synchronous request does, gets it all the same.
        """
        self.gate.clear()
        give_up = asyncio.get_running_loop().call_later(BLOCKED_S, self.gate.set)
        try:
            yield
        finally:
            give_up.cancel()
            self.gate.set()

    async def tick(self, duration_ms: float) -> None:
        """Move the clock once; answers that come meanwhile wait until it stands."""
        from playwright.async_api import Error

        try:
            with self.held():
                async with asyncio.timeout(ROUND_TRIP_S):
                    await self._context.clock.run_for(round(duration_ms))
        except Error as error:
            if re.search(WENT_AWAY, error.message) is None:
                message = f"the page's clock could not be moved: {error.message.splitlines()[0]}"
                raise BrowserDiedError(message) from error
        except TimeoutError as error:
            message = f"{duration_ms:.0f} ms of page time were not over within {ROUND_TRIP_S:.0f} s; a page may loop"
            raise BrowserDiedError(message) from error
        self.virtual_ms += duration_ms
        await self.quiesce()

    async def quiesce(self) -> None:
        """Return when no request is in flight and the pages have nothing left to do at this time of their clock.

        Raises:
            BrowserDiedError: the browser went away.
        """
        calm = 0
        busy_at = time.monotonic()
        deadline = busy_at + STALL_S
        while calm < 2:  # noqa: PLR2004 - two round trips: what the first answer triggers, the second one sees
            if self._ledger.fault is not None:
                raise self._ledger.fault
            if self._ledger.crashed:
                message = "a page crashed; the browser cannot go on"
                raise BrowserDiedError(message)
            if self._busy():
                calm, busy_at = 0, time.monotonic()
                if not await self._change(deadline):
                    self._give_up()
                    return
                continue
            if self._ledger.take_arrival():
                await self.round_trip(ARRIVED)
            complete = await (self._pages_rest() if calm else self.round_trip()) and not self._ledger.uncommitted
            calm = calm + 1 if complete and not self._busy() else 0
            if not complete and time.monotonic() > busy_at + UNFINISHED_S:
                self._ledger.uncommitted.clear()
                await self.round_trip(WAIVE)
            if time.monotonic() > deadline:
                self.notes.append(f"the page was still loading or moving after {STALL_S:.0f} s")
                return

    def _busy(self) -> bool:
        return bool(self._ledger.in_flight) or any(count() for count in self.pending)

    async def _change(self, deadline: float) -> bool:
        self._ledger.changed.clear()
        try:
            async with asyncio.timeout(0.05):
                await self._ledger.changed.wait()
        except TimeoutError:
            return time.monotonic() < deadline
        return True

    def _give_up(self) -> None:
        if not self._ledger.in_flight:
            self.notes.append(f"recording or serving was not done within {STALL_S:.0f} s")
        for request in tuple(self._ledger.in_flight):
            self.notes.append(f"no answer within {STALL_S:.0f} s: {request.method} {request.url}")
            self._ledger.forget(request)

    async def ask_pages(self) -> int:
        """Ask how many answers to fetches the pages wait for; whatever they had to do before is done when they answer.

        A page that waits for its next document is left out: the browser holds such questions back until that one shows.
        """
        pages = [page for _, page in self._ledger.open_pages() if not self._ledger.is_leaving(page)]
        frames = [frame for page in pages for frame in page.frames if has_document(frame)]
        answers = await asyncio.gather(*(_probe(frame, PENDING) for frame in frames))
        return sum(int(answer) for answer in answers if answer.isdigit())

    async def _pages_rest(self) -> bool:
        """Ask the main frames alone, a moment after all frames: time to hear of what those had begun."""
        answers = await asyncio.gather(*(_probe(page.main_frame, PROBE) for _, page in self._ledger.open_pages()))
        return all(answer == "rest" for answer in answers)

    async def round_trip(self, script: str = PROBE) -> bool:
        """Ask every frame whether it has come to rest."""
        frames = [frame for _, page in self._ledger.open_pages() for frame in page.frames if has_document(frame)]
        answers = await asyncio.gather(*(_probe(frame, script) for frame in frames))
        if script == PROBE and "moving" in answers:
            await asyncio.gather(*(_painted(page) for _, page in self._ledger.open_pages()))
        return all(answer == "rest" for answer in answers)


def has_document(frame: Frame) -> bool:
    """Say whether a frame shows a document; one that is to be loaded lazily has none, and would answer nothing."""
    return frame.parent_frame is None or bool(frame.url)


async def _painted(page: Page) -> None:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(FRAME_S):
            await page.evaluate(FRAME)
    except (Error, TimeoutError):
        return  # a page that is going, or is not painted: the next look says which


async def _probe(frame: Frame, script: str) -> str:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(ROUND_TRIP_S):
            return str(await frame.evaluate(script))
    except Error as error:
        if frame.page.is_closed() or frame.is_detached():
            return "rest"
        if re.search(WENT_AWAY, error.message):
            return "busy"
        message = f"the browser stopped answering: {error.message.splitlines()[0]}"
        raise BrowserDiedError(message) from error
    except TimeoutError as error:
        message = f"{frame.url} did not answer within {ROUND_TRIP_S:.0f} s; it may be in an endless loop"
        raise BrowserDiedError(message) from error
