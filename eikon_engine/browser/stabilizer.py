"""Advance the page clock and wait until pages are idle; nothing else advances page time."""

from __future__ import annotations

import asyncio
import math
import re
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from eikon_engine.browser.delivery_barrier import BLOCKED_S, DeliveryBarrier
from eikon_engine.browser.page_activity import (
    ACTIVITY,
    ACTIVITY_AFTER_NAVIGATION,
    ACTIVITY_TWICE,
    NEXT_TIMER,
    NO_TIMER_MS,
    STEP_WORKER_CLOCKS,
    STOP_WAITING,
    has_document,
    query_activity,
    render_frames,
)
from eikon_engine.browser.page_calls import DOCUMENT_REPLACED, answer_timeout, call_in_frame
from eikon_engine.browser.page_timeline import PageTimeline
from eikon_engine.errors import BrowserDiedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from playwright.async_api import Frame, Request

    from eikon_engine.browser.page_activity import PageActivity
    from eikon_engine.browser.page_clock import PageClock
    from eikon_engine.browser.page_tracker import PageTracker

_Result = TypeVar("_Result")

IDLE_TIMEOUT_S: Final = 15.0
"""Wall time after which a request that neither ends nor fails is no longer waited for; reported as a note."""
NATURAL_IDLE_TIMEOUT_S: Final = 3.0
"""As above, while page time is wall time: a polling page is observed as it is."""
UNFINISHED_DOCUMENT_S: Final = 2.0
"""Wall time after which a document that requests nothing more counts as loaded, though it never fires `load`."""
REPEATED_IDLE_TIMEOUT_S: Final = 0.5
"""Wall time left for each further wait of an action whose pages did not become idle in time."""
CHANGE_POLL_S: Final = 0.05
"""Wall time between two checks of what keeps the pages busy, if no event arrives."""
CLOCK_RESOLUTION_MS: Final = 0.5
"""Page time that counts as zero: the clock moves by whole milliseconds."""
MAX_REPAINTS: Final = 20
"""How often pages are given a frame, while they settle, to update what lies under the pointer."""


class PageStabilizer:
    """Step the clock of a context tick by tick, and wait until its pages are idle after each tick."""

    def __init__(self, clock: PageClock, tracker: PageTracker, tick_ms: float) -> None:
        """Control `clock` in steps of at most `tick_ms`."""
        self._clock = clock
        self._tracker = tracker
        self._tick_ms = tick_ms
        self.pending_deliveries: PendingDeliveries | None = None
        """What a recording still delivers; None if a live server responds."""
        self.paced_deliveries: PendingDeliveries | None = None
        """What a live server delivers at recorded moments; None if it delivers everything at once."""
        self.pending_work: list[Callable[[], int]] = []
        """Counters of work that is not a request: captures to read, navigations to repeat."""
        self.open_connections: list[Callable[[], int]] = []
        """Counters of open connections over which a live server can push."""
        self.event_collectors: list[Callable[[], Awaitable[None]]] = []
        """Called to collect events that arrive late."""
        self.settles_after_action: int | None = None
        """After how many of the agent's actions pages are allowed to settle; None if recorded times always apply."""
        self.notes: list[str] = []
        self.timeline = PageTimeline(clock)
        self.timeline.phase_listeners.append(self._wake_deliveries)
        self.barrier = DeliveryBarrier(tracker.requests.blocking, self.notes, is_natural=clock.is_natural)
        self._idle_timeout_s = NATURAL_IDLE_TIMEOUT_S if clock.is_natural else IDLE_TIMEOUT_S
        """Wall time within which pages must become idle."""
        self.known_timeout: KnownTimeout | None = None
        """Set while the action waits for something that is known not to happen."""
        self._has_workers = False
        """Whether a page had workers at the last check."""
        self._next_timer_ms = 0.0
        """Page time to the next timer of any page, as known from the last checks; 0 if unknown."""
        self._counts_then = (0, 0)
        """Counts of the tracker at that time."""

    @property
    def deliveries(self) -> PendingDeliveries | None:
        """What is delivered at its recorded moment, by a recording or by a live server; None without such moments."""
        return self.pending_deliveries or self.paced_deliveries

    @property
    def has_pending_work(self) -> bool:
        """Whether work other than a request is pending."""
        return any(count() for count in self.pending_work)

    @property
    def should_settle(self) -> bool:
        """Whether pages may settle after an action that the agent did not wait for."""
        if self.settles_after_action is None:
            return False
        return self.timeline.phase > self.timeline.phase_after(self.settles_after_action)

    async def begin_action(self, at_ms: float | None, acts_at_ms: float | None = None) -> None:
        """Begin an action, at the recorded page time if given, after every delivery due before it.

        If the recorded action acted on its target later, at `acts_at_ms`, page time advances to that as well.
        """
        self._idle_timeout_s = NATURAL_IDLE_TIMEOUT_S if self._clock.is_natural else IDLE_TIMEOUT_S
        timeline = self.timeline
        if at_ms is not None:
            await self._pass_time(at_ms + timeline.lag_ms - timeline.now_ms)
            await self._wait_if_busy()
            timeline.lag_ms = max(0.0, timeline.now_ms - at_ms)
        timeline.mark_begin()
        if acts_at_ms is not None and timeline.has_acting_phase:
            await self._pass_time(acts_at_ms + timeline.lag_ms - timeline.now_ms)
            await self._wait_if_busy()
        self._next_timer_ms = 0.0  # whatever the action does may set timers

    def mark_observed(self) -> None:
        """Mark that the pages were observed: whatever a live server sends from now on belongs after the action."""
        if self.pending_deliveries is None:
            self.timeline.end_action()

    async def settle(self, duration_ms: float) -> None:
        """Let page time pass, and leave the pages idle except for one last check; see `confirm_idle`."""
        await self.wait_until_idle(looks_twice=duration_ms > CLOCK_RESOLUTION_MS)
        await self._pass_time(duration_ms, looks_twice=False)

    async def confirm_idle(self, seen: PageActivity, counts: tuple[int, int]) -> bool:
        """Return whether pages that seemed idle were idle while they were observed.

        `seen` is the activity of their main documents just before, and `counts` those of the tracker by then.
        """
        await self.collect_events()
        self._note_next_timer(seen, counts)
        complete = self._is_complete(seen.loading, seen.pending) and not seen.animating
        return complete and not self._is_busy() and counts[0] == self._tracker.data_events

    async def pass_time_waiting(self, duration_ms: float, *, is_watched: bool = True) -> None:
        """Let a little page time pass for an action that waits, and wait until the pages are idle.

        Takes as much wall time while a live server may push: otherwise page time would end before the server responds.
        Unless `is_watched` is set, because a person may act meanwhile, time in which nothing can happen passes at once.
        """
        end_s = time.monotonic() + duration_ms / 1000
        await self._pass_time(duration_ms, checks_ticks=is_watched)
        if self.pending_deliveries is None and self._can_server_push() and (left_s := end_s - time.monotonic()) > 0:
            await asyncio.sleep(left_s)
            await self.wait_until_idle()

    def begin_late_wait(self) -> LateWaitClock:
        """Begin to wait for a live page that is late."""
        return LateWaitClock(self, self._tracker)

    async def may_change(self) -> bool:
        """Return whether pages may change without an action: by a timer, a response, or a message of a live server."""
        if self._is_busy() or self._tracker.requests.in_flight or self._can_server_push():
            return True
        frames = (frame for _, page in self._tracker.open_pages() for frame in page.frames if has_document(frame))
        return min(await asyncio.gather(*map(_next_timer, frames)), default=NO_TIMER_MS) < NO_TIMER_MS

    async def pass_instant(self) -> None:
        """Let one millisecond of page time pass within an action, as between two clicks; nothing is delivered.

        Natural time passes by itself.
        """
        if not self._clock.is_natural:
            await self._advance_clock(1.0)

    async def run_with_deliveries(self, task: asyncio.Future[_Result]) -> None:
        """Wait for a task that may need pending responses, such as a page load; the caller handles its result.

        A document does not wait for its scripts' fetches, such as long polls; where one seems to, it gets the response
        in the end.
        """
        blocked_at = time.monotonic() + BLOCKED_S
        while not task.done():
            await asyncio.wait({task}, timeout=None if self.deliveries is None else 0.02)
            self._require_alive()
            if task.done() or self.deliveries is None:
                continue
            if not self.deliveries.waiting_requests():
                continue
            await self.wait_until_idle()
            if task.done() or not self.deliveries.waiting_requests():
                continue
            if self.deliveries.next_ms() is None:
                self.deliveries.deliver_early(fetches=time.monotonic() > blocked_at)
            else:
                await self._step_clock(self._tick_ms)
                await self.wait_until_idle()

    async def wait_until_idle(self, *, looks_twice: bool = True, renders: bool = False) -> None:
        """Return when nothing is pending and the pages have nothing left to do at this page time.

        Documents look twice unless `looks_twice` is false: the second look sees what the first one triggered. With
        `renders`, pages render a frame before the first look.

        Raises:
            BrowserDiedError: the browser went away.
        """
        repaints = 0
        busy_at = time.monotonic()
        deadline = busy_at + self._idle_timeout_s
        while True:
            self._require_alive()
            if self._is_busy():
                busy_at = time.monotonic()
                if not await self._wait_for_change(deadline):
                    self._stop_waiting()
                    self._next_timer_ms = 0.0
                    return
                continue
            arrived = self._tracker.requests.take_navigation_end()
            counts = self._tracker.event_counts
            script = ACTIVITY_TWICE if looks_twice else ACTIVITY
            script = ACTIVITY_AFTER_NAVIGATION if arrived else script
            seen = await query_activity(self._tracker, script, renders=renders)
            renders = False
            self._has_workers = bool(seen.workers)
            self._note_next_timer(seen, counts)
            if seen.animating and repaints < MAX_REPAINTS:
                repaints += 1
                await render_frames(self._tracker)
            complete = self._is_complete(seen.loading, seen.pending) and not (
                seen.animating and repaints < MAX_REPAINTS
            )
            if looks_twice:
                await self.collect_events()
            if complete and not self._is_busy() and counts[0] == self._tracker.data_events:
                return
            if not complete and time.monotonic() > busy_at + UNFINISHED_DOCUMENT_S:
                self._tracker.requests.uncommitted_documents.clear()
                await query_activity(self._tracker, STOP_WAITING)
            if time.monotonic() > deadline:
                self._note_not_idle("pages were still loading, animating or sending requests")
                self._next_timer_ms = 0.0
                return

    async def collect_events(self) -> None:
        """Collect every event that has reached the pages so far."""
        await asyncio.gather(*(each() for each in self.event_collectors))

    def _is_complete(self, loading: bool, pending: int) -> bool:  # noqa: FBT001 - two halves of one check
        """Whether pages wait for nothing but deliveries that are due later."""
        if self._tracker.requests.uncommitted_documents:
            return False
        if self.deliveries is None:
            return not loading and not pending
        return (
            not loading or bool(self.deliveries.waiting_requests())
        ) and pending <= self.deliveries.unanswered_fetches()

    async def _pass_time(self, duration_ms: float, *, looks_twice: bool = True, checks_ticks: bool = False) -> None:
        """Let page time pass, stopping at each delivery; `looks_twice` is how pages are checked at the end.

        Unless `checks_ticks` is set, time in which nothing can happen passes at once, without a check after it.
        """
        end = self._clock.now_ms + duration_ms
        is_rendered = False
        while (left := end - self._clock.now_ms) > CLOCK_RESOLUTION_MS:
            free_ms = 0.0 if checks_ticks else self._undisturbed_ms(left)
            if free_ms > self._tick_ms and not is_rendered:
                # what a page does as an element comes into view, for example
                await self.wait_until_idle(looks_twice=False, renders=True)
                is_rendered = True
            elif free_ms:
                await self._move_clock(free_ms)
                await self._wait_if_busy()
            else:
                is_rendered = False
                await self._step_clock(left)
                is_over = end - self._clock.now_ms <= CLOCK_RESOLUTION_MS
                await self.wait_until_idle(looks_twice=looks_twice or not is_over)

    def _note_next_timer(self, seen: PageActivity, counts: tuple[int, int]) -> None:
        """Note what documents said of their timers; `counts` are those of the tracker before."""
        self._next_timer_ms, self._counts_then = seen.next_timer_ms, counts

    async def _wait_if_busy(self) -> None:
        """Wait until the pages are idle if something is pending, such as a delivery that is due."""
        if self._is_busy():
            await self.wait_until_idle()

    def _undisturbed_ms(self, left_ms: float) -> float:
        """Return how much page time can pass at once because nothing happens meanwhile: all, or a number of ticks."""
        is_stale = self._counts_then != self._tracker.event_counts
        can_server_push = self.pending_deliveries is None and self._can_server_push()
        if self._clock.is_natural or is_stale or can_server_push or self._is_busy():
            return 0.0
        coming = self.deliveries.next_stop_ms() if self.deliveries is not None else None
        free_ms = min(self._next_timer_ms, NO_TIMER_MS if coming is None else coming - self._clock.now_ms)
        if free_ms > left_ms + 1.0:  # the clock moves by whole milliseconds
            return left_ms
        return max(0, math.ceil(free_ms / self._tick_ms) - 1) * self._tick_ms

    async def _step_clock(self, left_ms: float) -> None:
        """Move the clock by a tick, or to the next delivery or heartbeat."""
        duration = min(left_ms, self._tick_ms)
        coming = self.deliveries.next_stop_ms() if self.deliveries is not None else None
        if coming is not None:
            duration = max(1.0, min(duration, coming - self._clock.now_ms))
        await self._move_clock(duration)

    async def _move_clock(self, duration_ms: float) -> None:
        """Move the clock once; responses wait until it stops."""
        self.timeline.mark_clock_move()
        before_ms = self._clock.now_ms
        with self.barrier.hold():
            await self._advance_clock(duration_ms)
        self._next_timer_ms = max(0.0, self._next_timer_ms - (self._clock.now_ms - before_ms))
        self._wake_deliveries()

    async def _advance_clock(self, duration: float) -> None:
        """Move the clock by a number of milliseconds.

        Raises:
            BrowserDiedError: a page does not respond.
        """
        from playwright.async_api import Error

        pages = [page for _, page in self._tracker.open_pages()]
        place = pages[0].url if len(pages) == 1 else "a page"
        try:
            async with answer_timeout(pages[0], place) if pages else nullcontext():
                await self._clock.advance(duration)
            if self._has_workers and not self._clock.is_natural:
                await query_activity(self._tracker, STEP_WORKER_CLOCKS)
        except Error as error:
            if re.search(DOCUMENT_REPLACED, error.message) is None:
                message = f"could not advance the page clock: {error.message.splitlines()[0]}"
                raise BrowserDiedError(message) from error

    def _wake_deliveries(self) -> None:
        if self.deliveries is not None:
            self.deliveries.wake()

    def _is_busy(self) -> bool:
        if self.has_pending_work or (self.deliveries is not None and self.deliveries.due_count()):
            return True
        return any(map(self._keeps_busy, self._tracker.requests.in_flight))

    def _keeps_busy(self, request: Request) -> bool:
        """Whether pages count as busy until a request ends."""
        if self.pending_deliveries is None and self._tracker.requests.is_stream(request):
            return False
        return self.deliveries is None or not self.deliveries.is_waiting(request)

    def _can_server_push(self) -> bool:
        streams = self._tracker.requests.event_streams or any(
            map(self._tracker.requests.is_stream, self._tracker.requests.in_flight)
        )
        return bool(streams or self._tracker.requests.unanswered) or any(count() for count in self.open_connections)

    def _require_alive(self) -> None:
        if self._tracker.error is not None:
            raise self._tracker.error
        if self._tracker.is_dead:
            raise self._tracker.death("")

    async def _wait_for_change(self, deadline: float) -> bool:
        """Wait briefly for an event; return whether there is time for more."""
        self._tracker.changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(CHANGE_POLL_S):
                await self._tracker.changed.wait()
        return time.monotonic() < deadline

    def _stop_waiting(self) -> None:
        awaited = tuple(filter(self._keeps_busy, self._tracker.requests.in_flight))
        if not awaited:
            self._note_not_idle("network traffic was still being recorded or served")
        timeout_s, self._idle_timeout_s = self._idle_timeout_s, REPEATED_IDLE_TIMEOUT_S
        if self._clock.is_natural:
            return  # what is pending arrives later, as it would for a user who looks now
        for request in awaited:
            self.notes.append(f"no response within {timeout_s:g} s: {request.method} {request.url}")
            self._tracker.requests.forget(request, is_unanswered=True)

    def _note_not_idle(self, what: str) -> None:
        """Note once per action that pages did not become idle, and wait less from now on."""
        if self._idle_timeout_s == IDLE_TIMEOUT_S:
            self.notes.append(f"{what} after {IDLE_TIMEOUT_S:.0f} s")
        self._idle_timeout_s = REPEATED_IDLE_TIMEOUT_S


class LateWaitClock:
    """Lets page time pass for live pages that are late: never ahead of wall time once they wait for their server.

    Page time costs little wall time otherwise, so a page that asks its server again and again would run out of time
    before the server is ready.
    """

    def __init__(self, stabilizer: PageStabilizer, tracker: PageTracker) -> None:
        """Begin now."""
        self._stabilizer = stabilizer
        self._tracker = tracker
        self._begun_s = time.monotonic()
        self._events_then = tracker.requests.event_count
        self.passed_ms = 0.0
        """Page time that has passed."""

    async def pass_time(self, duration_ms: float) -> None:
        """Let page time pass, and wait until the pages are idle."""
        await self._stabilizer.pass_time_waiting(duration_ms, is_watched=False)
        self.passed_ms += duration_ms
        is_ahead_s = self._begun_s + self.passed_ms / 1000 - time.monotonic()
        if self._tracker.requests.event_count != self._events_then and is_ahead_s > 0:
            await asyncio.sleep(is_ahead_s)
            await self._stabilizer.wait_until_idle()


class PendingDeliveries(Protocol):
    """The deliveries that are still pending: recorded ones, or those of a live server that are paced."""

    def due_count(self) -> int:
        """Count what can be delivered now."""

    def is_waiting(self, request: Request) -> bool:
        """Whether a request waits for a response that is not due yet."""

    def waiting_requests(self) -> int:
        """Count the requests that wait for a response that is not due yet."""

    def loading_requests(self) -> Sequence[Request]:
        """Return the requests that wait for a response, and neither poll nor are sent by a timer."""

    def pending_count(self) -> int:
        """Count the deliveries that are requested and wait for their moment."""

    def unanswered_fetches(self) -> int:
        """Count the fetches whose response is pending, or never arrives."""

    def next_ms(self) -> float | None:
        """Return the page time of the next delivery in this phase that is not due yet."""

    def next_stop_ms(self) -> float | None:
        """Return the page time at which the clock must stop next, for a delivery or a heartbeat of a server."""

    def deliver_early(self, *, fetches: bool) -> None:
        """Deliver pending responses before their moments; those of fetches only with `fetches`."""

    def wake(self) -> None:
        """Check again: time passed, or a phase began."""


@dataclass(frozen=True, slots=True)
class KnownTimeout:
    """A wait that is known to time out."""

    tracker: PageTracker
    tick_ms: float
    """The longest step of the clock."""

    async def skippable_ms(self, stabilizer: PageStabilizer) -> float:
        """Return how much page time can pass at once without anything happening meanwhile."""
        if stabilizer.pending_deliveries is None or stabilizer.pending_deliveries.pending_count():
            return 0.0
        frames = (frame for _, page in self.tracker.open_pages() for frame in page.frames if has_document(frame))
        return min(await asyncio.gather(*map(_next_timer, frames)), default=0.0)


async def fast_forward(stabilizer: PageStabilizer, step_ms: float, left_ms: float) -> float:
    """Return the page time until an action checks again: one step, or several while nothing can happen."""
    step = min(step_ms, left_ms)
    if stabilizer.known_timeout is None:
        return step
    free = min(left_ms, stabilizer.known_timeout.tick_ms, await stabilizer.known_timeout.skippable_ms(stabilizer))
    return max(step, free // step_ms * step_ms)


async def _next_timer(frame: Frame) -> float:
    from playwright.async_api import Error

    try:
        return float(await call_in_frame(frame, NEXT_TIMER))
    except Error:
        return 0.0  # the document is being replaced: nothing is known of the next one


QUIET_ROUND_TRIPS: Final = 10
"""Round trips without any page event."""
QUIET_S: Final = (0.05, 0.5)
"""Minimum and maximum wall time of these round trips."""
QUIET_TIMEOUT_S: Final = 1.0
"""Wall time after which pages that keep sending requests count as idle anyway."""


async def wait_until_quiet(stabilizer: PageStabilizer, tracker: PageTracker) -> None:
    """Return once no request began or ended and no page opened for some wall time; the page clock does not advance."""
    deadline = time.monotonic() + QUIET_TIMEOUT_S
    event_count = -1
    while event_count != tracker.event_count and time.monotonic() < deadline:
        event_count = tracker.event_count
        started = time.monotonic()
        await stabilizer.wait_until_idle()
        trips_s = (time.monotonic() - started) * QUIET_ROUND_TRIPS
        await asyncio.sleep(min(max(QUIET_S[0], trips_s), QUIET_S[1]))
