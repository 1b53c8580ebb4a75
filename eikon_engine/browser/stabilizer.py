"""Advance the page clock and wait until pages are idle; nothing else advances page time."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from eikon_engine.browser.page_activity import (
    ACTIVITY,
    ACTIVITY_AFTER_NAVIGATION,
    DOCUMENT_REPLACED,
    STEP_WORKER_CLOCKS,
    STOP_WAITING,
    has_document,
    query_activity,
)
from eikon_engine.errors import BrowserDiedError
from eikon_engine.network.exchange import PHASES_PER_ACTION, PHASES_PER_ACTION_WITH_LOOKUP, Moment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from playwright.async_api import Frame, Request

    from eikon_engine.browser.page_clock import PageClock
    from eikon_engine.browser.page_tracker import PageTracker

_Result = TypeVar("_Result")

IDLE_TIMEOUT_S: Final = 15.0
"""Wall time after which a request that neither ends nor fails is no longer waited for; reported as a note."""
NATURAL_IDLE_TIMEOUT_S: Final = 3.0
"""As above, while page time is wall time: a polling page is observed as it is."""
ROUND_TRIP_S: Final = 30.0
"""Wall time after which an unresponsive page counts as dead."""
BLOCKED_S: Final = 4.0
"""Wall time after which an unresponsive page counts as waiting for the network."""
UNFINISHED_DOCUMENT_S: Final = 2.0
"""Wall time after which a document that requests nothing more counts as loaded, though it never fires `load`."""
REPEATED_IDLE_TIMEOUT_S: Final = 0.5
"""Wall time left for each further wait of an action whose pages did not become idle in time."""
CHANGE_POLL_S: Final = 0.05
"""Wall time between two checks of what keeps the pages busy, if no event arrives."""
IDLE_CHECKS: Final = 2
"""Consecutive idle checks required: the second one sees what the first one triggered."""
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
        self.barrier_open = asyncio.Event()
        """Set while responses may be delivered: cleared while an action runs and while the clock moves."""
        self.barrier_open.set()
        self.pending_work: list[Callable[[], int]] = []
        """Counters of work that is not a request: captures to read, navigations to repeat."""
        self.open_connections: list[Callable[[], int]] = []
        """Counters of open connections over which a live server can push."""
        self.event_collectors: list[Callable[[], Awaitable[None]]] = []
        """Called to collect events that arrive late."""
        self.settles_after_action: int | None = None
        """After how many of the agent's actions pages are allowed to settle; None if recorded times always apply."""
        self.lag_ms = 0.0
        """Page time by which a replay lags behind its recording because its actions took longer."""
        self.phase = 0
        self.notes: list[str] = []
        self._action_began_ms = 0.0
        self._are_phases_over = True
        """Whether the phases of the last action have ended."""
        self._is_barrier_forced = False
        """Whether the barrier was opened by a timeout."""
        self.has_acting_phase = False
        """Whether locating a target is a phase of its own, as in recordings with the natural clock."""
        self.acted_ms: float | None = None
        """Page time at which the action acted on its target, if that is a phase of its own and was reached."""
        self._idle_timeout_s = NATURAL_IDLE_TIMEOUT_S if clock.is_natural else IDLE_TIMEOUT_S
        """Wall time within which pages must become idle."""
        self.moments_issued = 0
        """How many moments were issued."""
        self.known_timeout: KnownTimeout | None = None
        """Set while the action waits for something that is known not to happen."""
        self._has_workers = False
        """Whether a page had workers at the last check."""

    @property
    def now_ms(self) -> float:
        """Return the page time since the session began."""
        return self._clock.now_ms

    @property
    def begun_ms(self) -> float:
        """Return the page time at which the action began."""
        return self._action_began_ms

    @property
    def used_ms(self) -> float:
        """Return the page time since the action began."""
        return self._clock.now_ms - self._action_began_ms

    @property
    def has_pending_work(self) -> bool:
        """Whether work other than a request is pending."""
        return any(count() for count in self.pending_work)

    @property
    def is_natural(self) -> bool:
        """Whether page time passes by itself."""
        return self._clock.is_natural

    def moment(self) -> Moment:
        """Issue the next position in the timeline of a recording."""
        self.moments_issued += 1
        return Moment(order=self.moments_issued - 1, at_ms=round(self._clock.now_ms), phase=self.phase)

    @property
    def should_settle(self) -> bool:
        """Whether pages may settle after an action that the agent did not wait for."""
        return self.settles_after_action is not None and self.phase > self.phase_after(self.settles_after_action)

    def phase_after(self, actions: int) -> int:
        """Return the phase after which this many actions are over."""
        return (PHASES_PER_ACTION_WITH_LOOKUP if self.has_acting_phase else PHASES_PER_ACTION) * actions

    def move_to_action(self, actions: int) -> None:
        """Move to the phase after this many recorded actions, where a replay omits or inserts some."""
        if self.phase != self.phase_after(actions):
            self.phase = self.phase_after(actions) - 1
            self._advance_phase()

    async def begin_action(self, at_ms: float | None, acts_at_ms: float | None = None) -> None:
        """Begin an action, at the recorded page time if given, after every delivery due before it.

        If the recorded action acted on its target later, at `acts_at_ms`, page time advances to that as well.
        """
        self._idle_timeout_s = NATURAL_IDLE_TIMEOUT_S if self._clock.is_natural else IDLE_TIMEOUT_S
        if at_ms is not None:
            if at_ms + self.lag_ms > self.now_ms or (
                self.pending_deliveries is not None and self.pending_deliveries.due_count()
            ):
                await self._pass_time(max(0.0, at_ms + self.lag_ms - self.now_ms))
                await self.wait_until_idle()
            self.lag_ms = max(0.0, self.now_ms - at_ms)
        self.mark_begin()
        if acts_at_ms is not None and self.has_acting_phase:
            await self._pass_time(max(0.0, acts_at_ms + self.lag_ms - self.now_ms))
            await self.wait_until_idle()

    def mark_begin(self) -> None:
        """Mark the beginning of an action."""
        self._advance_phase()
        self._are_phases_over = False
        self._action_began_ms = self._clock.now_ms
        self.acted_ms = None

    def mark_acting(self) -> None:
        """Mark that the action acts on its target now; deliveries while locating the target came before it."""
        if self.has_acting_phase and self.acted_ms is None:
            self.acted_ms = self._clock.now_ms
            self._advance_phase()

    def mark_observed(self) -> None:
        """Mark that the pages were observed: whatever a live server sends from now on belongs after the action."""
        if self.pending_deliveries is None:
            self._end_phase()

    def end_action(self) -> None:
        """End the action; an action that did not act has the same number of phases."""
        self._end_phase()

    def _end_phase(self) -> None:
        if self._are_phases_over:
            return
        self.mark_acting()
        self._advance_phase()
        self._are_phases_over = True

    async def settle(self, duration_ms: float) -> None:
        """Let page time pass, and leave the pages idle except for one last check; see `confirm_idle`."""
        await self.wait_until_idle(checks=IDLE_CHECKS if duration_ms > CLOCK_RESOLUTION_MS else 1)
        await self._pass_time(duration_ms, checks=1)

    async def confirm_idle(self) -> bool:
        """Check once more whether pages that seemed idle are idle.

        Anything else evaluated in a page at the same time is answered after this.
        """
        news = self._tracker.data_events
        seen = await query_activity(self._tracker, main_only=True)
        await self.collect_events()
        complete = self._is_complete(seen.loading, seen.pending) and not seen.animating
        return complete and not self._is_busy() and news == self._tracker.data_events

    async def pass_time_waiting(self, duration_ms: float) -> None:
        """Let a little page time pass for an action that waits, and wait until the pages are idle.

        Takes as much wall time while a live server may push: otherwise page time would end before the server responds.
        """
        end_s = time.monotonic() + duration_ms / 1000
        await self._pass_time(duration_ms)
        if self.pending_deliveries is None and self._can_server_push() and (left_s := end_s - time.monotonic()) > 0:
            await asyncio.sleep(left_s)
            await self.wait_until_idle()

    @contextmanager
    def hold_deliveries(self, *, acting: bool = False) -> Iterator[None]:
        """Hold back responses, so that none arrives between the events of an action or of a clock step.

        While page time passes by itself, only `acting` holds anything back. After a timeout, responses are let through
        in case the page waits for one, and a note reports it.
        """
        if self._clock.is_natural and not acting:
            yield
            return
        self.barrier_open.clear()
        give_up = asyncio.get_running_loop().call_later(BLOCKED_S, self._force_barrier)
        try:
            yield
        finally:
            give_up.cancel()
            self._is_barrier_forced = False
            self.barrier_open.set()

    def _force_barrier(self) -> None:
        self._is_barrier_forced = True
        self.barrier_open.set()

    def note_delivery(self) -> None:
        """Note that something is delivered to a page, and report it if a timeout opened the barrier."""
        if self._is_barrier_forced:
            self._is_barrier_forced = False
            self.notes.append(f"a response arrived during an action or clock step of more than {BLOCKED_S:.0f} s")

    async def wait_until_deliverable(self, request: Request) -> None:
        """Wait until responses may be delivered, or a document is blocked on this request."""
        standstills = self._tracker.blocking_requests
        while not self.barrier_open.is_set() and request not in standstills:
            waits = {
                asyncio.ensure_future(self.barrier_open.wait()),
                asyncio.ensure_future(standstills.wait_for_change()),
            }
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
        if request not in standstills:
            self.note_delivery()

    async def run_with_deliveries(self, task: asyncio.Future[_Result]) -> None:
        """Wait for a task that may need recorded responses, such as a page load; the caller handles its result.

        A document does not wait for its scripts' fetches, such as long polls; where one seems to, it gets the response
        in the end.
        """
        blocked_at = time.monotonic() + BLOCKED_S
        while not task.done():
            await asyncio.wait({task}, timeout=None if self.pending_deliveries is None else 0.02)
            self._require_alive()
            if task.done() or self.pending_deliveries is None:
                continue
            if not self.pending_deliveries.waiting_requests():
                continue
            await self.wait_until_idle()
            if task.done() or not self.pending_deliveries.waiting_requests():
                continue
            if self.pending_deliveries.next_ms() is None:
                self.pending_deliveries.deliver_early(fetches=time.monotonic() > blocked_at)
            else:
                await self._step_clock(self._tick_ms)
                await self.wait_until_idle()

    async def wait_until_idle(self, checks: int = IDLE_CHECKS) -> None:
        """Return when nothing is pending and the pages have nothing left to do at this page time.

        They must be idle this many checks in a row.

        Raises:
            BrowserDiedError: the browser went away.
        """
        calm = repaints = 0
        busy_at = time.monotonic()
        deadline = busy_at + self._idle_timeout_s
        while calm < checks:
            self._require_alive()
            if self._is_busy():
                calm, busy_at = 0, time.monotonic()
                if not await self._wait_for_change(deadline):
                    self._stop_waiting()
                    return
                continue
            arrived = self._tracker.take_navigation_end()
            news = self._tracker.data_events
            seen = await query_activity(
                self._tracker, ACTIVITY_AFTER_NAVIGATION if arrived else ACTIVITY, main_only=bool(calm) and not arrived
            )
            self._has_workers = bool(seen.workers) or (bool(calm) and self._has_workers)
            if seen.animating and repaints < MAX_REPAINTS:
                repaints += 1
                await seen.render_frame(self._tracker)
            complete = self._is_complete(seen.loading, seen.pending) and not (
                seen.animating and repaints < MAX_REPAINTS
            )
            if calm:
                await self.collect_events()
            calm = calm + 1 if complete and not self._is_busy() and news == self._tracker.data_events else 0
            if not complete and time.monotonic() > busy_at + UNFINISHED_DOCUMENT_S:
                self._tracker.uncommitted_documents.clear()
                await query_activity(self._tracker, STOP_WAITING)
            if time.monotonic() > deadline:
                self._note_not_idle("the page was still loading, moving or asking for more")
                return

    async def collect_events(self) -> None:
        """Collect every event that has reached the pages so far."""
        await asyncio.gather(*(each() for each in self.event_collectors))

    def _is_complete(self, loading: bool, pending: int) -> bool:  # noqa: FBT001 - two halves of one check
        """Whether pages wait for nothing but deliveries that are due later."""
        if self._tracker.uncommitted_documents:
            return False
        if self.pending_deliveries is None:
            return not loading and not pending
        return (
            not loading or bool(self.pending_deliveries.waiting_requests())
        ) and pending <= self.pending_deliveries.unanswered_fetches()

    async def _pass_time(self, duration_ms: float, checks: int = IDLE_CHECKS) -> None:
        """Let page time pass, stopping at each delivery; `looks` is the number of idle checks at the end."""
        end = self._clock.now_ms + duration_ms
        while (left := end - self._clock.now_ms) > CLOCK_RESOLUTION_MS:
            await self._step_clock(left)
            await self.wait_until_idle(checks if end - self._clock.now_ms <= CLOCK_RESOLUTION_MS else IDLE_CHECKS)

    async def _step_clock(self, left_ms: float) -> None:
        """Move the clock once; responses wait until it stops."""
        from playwright.async_api import Error

        duration = min(left_ms, self._tick_ms)
        coming = self.pending_deliveries.next_ms() if self.pending_deliveries is not None else None
        if coming is not None:
            duration = max(1.0, min(duration, coming - self._clock.now_ms))
        try:
            with self.hold_deliveries():
                async with asyncio.timeout(ROUND_TRIP_S):
                    await self._clock.advance(duration)
                if self._has_workers and not self._clock.is_natural:
                    await query_activity(self._tracker, STEP_WORKER_CLOCKS)
        except Error as error:
            if re.search(DOCUMENT_REPLACED, error.message) is None:
                message = f"could not advance the page clock: {error.message.splitlines()[0]}"
                raise BrowserDiedError(message) from error
        except TimeoutError as error:
            message = f"{duration:.0f} ms of page time took more than {ROUND_TRIP_S:.0f} s; a page may be in a loop"
            raise BrowserDiedError(message) from error
        if self.pending_deliveries is not None:
            self.pending_deliveries.wake()

    def _advance_phase(self) -> None:
        self.phase += 1
        if self.pending_deliveries is not None:
            self.pending_deliveries.wake()

    def _is_busy(self) -> bool:
        if self.has_pending_work or (self.pending_deliveries is not None and self.pending_deliveries.due_count()):
            return True
        return any(map(self._keeps_busy, self._tracker.in_flight))

    def _keeps_busy(self, request: Request) -> bool:
        """Whether pages count as busy until a request ends."""
        return not (
            self._tracker.is_stream(request)
            if self.pending_deliveries is None
            else self.pending_deliveries.is_waiting(request)
        )

    def _can_server_push(self) -> bool:
        streams = self._tracker.event_streams or any(map(self._tracker.is_stream, self._tracker.in_flight))
        return bool(streams) or any(count() for count in self.open_connections)

    def _require_alive(self) -> None:
        if self._tracker.error is not None:
            raise self._tracker.error
        if self._tracker.is_dead:
            message = "a page crashed; the browser cannot go on"
            raise BrowserDiedError(message)

    async def _wait_for_change(self, deadline: float) -> bool:
        """Wait briefly for an event; return whether there is time for more."""
        self._tracker.changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(CHANGE_POLL_S):
                await self._tracker.changed.wait()
        return time.monotonic() < deadline

    def _stop_waiting(self) -> None:
        awaited = tuple(filter(self._keeps_busy, self._tracker.in_flight))
        if not awaited:
            self._note_not_idle("recording or serving network traffic was not finished")
        patience_s, self._idle_timeout_s = self._idle_timeout_s, REPEATED_IDLE_TIMEOUT_S
        if self._clock.is_natural:
            return  # what is pending arrives later, as it would for a user who looks now
        for request in awaited:
            self.notes.append(f"no response within {patience_s:g} s: {request.method} {request.url}")
            self._tracker.forget(request)

    def _note_not_idle(self, what: str) -> None:
        """Note once per action that pages did not become idle, and wait less from now on."""
        if self._idle_timeout_s == IDLE_TIMEOUT_S:
            self.notes.append(f"{what} after {IDLE_TIMEOUT_S:.0f} s")
        self._idle_timeout_s = REPEATED_IDLE_TIMEOUT_S


class PendingDeliveries(Protocol):
    """The recorded deliveries that are still pending."""

    def due_count(self) -> int:
        """Count what can be delivered now."""

    def is_waiting(self, request: Request) -> bool:
        """Whether a request waits for a response that is not due yet."""

    def waiting_requests(self) -> int:
        """Count the requests that wait for a response that is not due yet."""

    def pending_count(self) -> int:
        """Count the deliveries that are requested and wait for their moment."""

    def unanswered_fetches(self) -> int:
        """Count the fetches whose response is pending, or never arrives."""

    def next_ms(self) -> float | None:
        """Return the page time of the next delivery in this phase that is not due yet."""

    def deliver_early(self, *, fetches: bool) -> None:
        """Deliver pending responses before their moments; those of fetches only with `fetches`."""

    def wake(self) -> None:
        """Check again: time passed, or a phase began."""


_NEXT_TIMER: Final = """() => {
  const clock = window.__pwClock?.controller;
  if (!(clock?._timers instanceof Map) || window.__eikon__?.workerCount?.()) return 0;
  return Math.min(...Array.from(clock._timers.values(), each => each.callAt - clock._now.ticks));
}"""
"""Milliseconds to the next timer of a document, `Infinity` without one; 0 if unknown, as with workers."""


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
        return float(await frame.evaluate(_NEXT_TIMER))
    except Error:
        return 0.0  # the document is being replaced: nothing is known of the next one


QUIET_ROUND_TRIPS: Final = 10
"""Round trips without any page event."""
QUIET_S: Final = (0.05, 0.5)
"""Minimum and maximum wall time of that."""
QUIET_TIMEOUT_S: Final = 1.0
"""Wall time after which pages that keep sending requests count as idle anyway."""


async def wait_until_quiet(stabilizer: PageStabilizer, tracker: PageTracker) -> None:
    """Return once no request began or ended and no page opened for some wall time; the page clock does not advance."""
    deadline = time.monotonic() + QUIET_TIMEOUT_S
    heard = -1
    while heard != tracker.request_events and time.monotonic() < deadline:
        heard = tracker.request_events
        asked_at = time.monotonic()
        await stabilizer.wait_until_idle()
        trips_s = (time.monotonic() - asked_at) / IDLE_CHECKS * QUIET_ROUND_TRIPS
        await asyncio.sleep(min(max(QUIET_S[0], trips_s), QUIET_S[1]))
