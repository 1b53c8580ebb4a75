"""Deliver recorded traffic at its page time and in its order: a discrete-event simulation of the recording.

Every recorded event (a response, a piece of one, a WebSocket message) has a moment. It is due once the phase of the
replay and the page clock have reached that moment; due events are delivered one after the other. If the next one in
order has no cause yet, such as a request that was not sent, the pages are allowed to settle; if the cause is still
missing, the following event is delivered, and the other one as soon as its cause appears.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from bisect import bisect_right
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.page_activity import PENDING_RESPONSES, PageActivity, query_activity
from eikon_engine.browser.page_tracker import BackgroundTasks
from eikon_engine.browser.stabilizer import BLOCKED_S
from eikon_engine.network.exchange import FETCH_TYPES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from playwright.async_api import Request

    from eikon_engine.browser.page_tracker import PageTracker
    from eikon_engine.browser.stabilizer import PageStabilizer
    from eikon_engine.network.exchange import Moment

OVERDUE_MS: Final = 1000.0
"""Page time after which an event recorded for a later action is delivered to an action that waits. Only a replay that
departed from its recording gets there."""


COMPLETION_POLL_S: Final = 0.05
"""Wall time between two checks of what keeps a delivery from completing."""
CAUSE_CHECKS: Final = 2
"""Round trips without events after which a page counts as idle, as in the stabilizer."""
CAUSE_TIMEOUT_S: Final = 0.5
"""Wall time within which the cause of the next event must appear: a busy browser reports a request after the page that
sent it has answered. It passes only if the cause is missing or comes in a different order."""
UNTIMED_CAUSE_TIMEOUT_S: Final = 0.1
"""As above, for events without a moment, as in imported HAR files: they are ordered by completion, which replays often
do not reproduce. Also for any other missing cause in a phase in which one was missing already."""
CAUSE_POLL_S: Final = 0.02


def _has_always_cause() -> bool:
    return True


@dataclass(slots=True, eq=False)
class _Delivery:
    """An event whose cause exists, and that waits for its moment."""

    moment: Moment
    request: Request | None
    is_immediate: bool
    """Whether it is due at once: no clock can advance while a page waits for its document."""
    has_cause: Callable[[], bool]
    """Whether the requests that it depends on were sent; used when responses are served on request."""
    is_early: bool = False
    """Whether it is due before its moment, because nothing else can continue without it."""
    allowed: asyncio.Event = field(default_factory=asyncio.Event)
    completed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_fetch(self) -> bool:
        return self.request is not None and self.request.resource_type in FETCH_TYPES


class DeliverySchedule:
    """Deliver events in recorded order, none before its moment."""

    def __init__(
        self,
        stabilizer: PageStabilizer,
        tracker: PageTracker,
        moments: Iterable[Moment],
        on_delivery: Callable[[int, Moment], None] | None = None,
        failures: Iterable[int] = (),
    ) -> None:
        """Expect these moments, each once.

        If `given` is set, it is called with each delivery, and responses are delivered as soon as they are requested;
        but none that was recorded after a failed action is delivered before that action. `failures` are the positions
        of failed actions.
        """
        self._on_delivery = on_delivery
        self._failures = tuple(stabilizer.phase_after(place + 1) for place in failures)
        self._stabilizer = stabilizer
        self._tracker = tracker
        self._expected = [(moment.order, moment) for moment in moments]
        heapq.heapify(self._expected)
        self._times = sorted((moment.phase, moment.at_ms) for _, moment in self._expected)
        self._passed_times = 0
        """How many of them have been due, or precede an inserted action."""
        self._last_phase = 0
        """The phase in which the next of them was last requested."""
        self._pending: dict[int, _Delivery] = {}
        self.delivered: set[int] = set()
        """Orders of everything delivered so far."""
        self._overtaken: set[int] = set()
        self._phase_without_cause: int | None = None
        """The last phase in which an expected cause did not appear."""
        self._never_answered: set[Request] = set()
        self.late_count = 0
        """How many were delivered after a later event of the recording, or early."""
        self._changed = asyncio.Event()
        self._woken = asyncio.Event()
        self._in_delivery = 0
        tracker.blocking_requests.listeners.append(self.wake)
        self._background = BackgroundTasks(tracker)
        self._background.start(self._deliver_forever())

    def deliver_on_demand(self, on_delivery: Callable[[int, Moment], None]) -> None:
        """Serve responses as soon as they are requested, from now on, and call `given` for each."""
        self._on_delivery = on_delivery
        self.wake()

    def mark_never_answered(self, request: Request) -> None:
        """Mark a request that gets no response, as in the recording."""
        self._never_answered.add(request)

    @asynccontextmanager
    async def in_turn(
        self,
        moment: Moment | None,
        request: Request | None = None,
        *,
        is_immediate: bool = False,
        has_cause: Callable[[], bool] = _has_always_cause,
    ) -> AsyncIterator[None]:
        """Wait for a moment, and block other deliveries until the body of the `with` statement ends."""
        if moment is None:
            await self._stabilizer.barrier_open.wait()
            yield
            return
        turn = self._pending[moment.order] = _Delivery(moment, request, is_immediate, has_cause)
        self.wake()
        try:
            await turn.allowed.wait()
        except asyncio.CancelledError:
            self._pending.pop(moment.order, None)
            turn.completed.set()
            raise
        try:
            yield
        finally:
            turn.completed.set()

    def due_count(self) -> int:
        """Count what can be delivered now."""
        return self._in_delivery + sum(self._is_due(turn) for turn in self._pending.values())

    def is_waiting(self, request: Request) -> bool:
        """Whether a request waits for a response that is not due yet, or never arrives."""
        if request in self._never_answered:
            return True
        return any(turn.request is request and not self._is_due(turn) for turn in self._pending.values())

    def waiting_requests(self) -> int:
        """Count the requests that wait for a response that is not due yet."""
        return sum(turn.request is not None and not self._is_due(turn) for turn in self._pending.values())

    def pending_count(self) -> int:
        """Count the deliveries that are requested and wait for their moment."""
        return len(self._pending)

    def unanswered_fetches(self) -> int:
        """Count the fetches whose response is pending, or never arrives."""
        never = sum(each.resource_type in FETCH_TYPES for each in self._never_answered & self._tracker.in_flight)
        return never + sum(turn.is_fetch for turn in self._pending.values())

    def next_ms(self) -> float | None:
        """Return the page time of the next delivery in this phase that is not due yet."""
        here = (self._stabilizer.phase, self._timeline_ms)
        if here[0] < self._last_phase:
            self._passed_times = bisect_right(self._times, here)
        self._last_phase = here[0]
        while self._passed_times < len(self._times) and self._times[self._passed_times] <= here:
            self._passed_times += 1
        if self._passed_times == len(self._times):
            return None
        phase, at_ms = self._times[self._passed_times]
        return at_ms + self._stabilizer.lag_ms if phase == self._stabilizer.phase else None

    def deliver_early(self, *, fetches: bool) -> None:
        """Deliver pending responses before their moments, because nothing else can continue.

        Responses to fetches are included only with `fetches`.
        """
        for turn in self._pending.values():
            if not self._is_due(turn) and (fetches or not turn.is_fetch):
                turn.is_early = True
                self.late_count += 1
        self.wake()

    def forget(self, orders: Iterable[int]) -> None:
        """Stop expecting these orders: later events no longer wait for them."""
        gone = frozenset(orders)
        self._expected = [each for each in self._expected if each[0] not in gone]
        heapq.heapify(self._expected)
        self._overtaken -= gone
        self.wake()

    def wake(self) -> None:
        """Check again: time passed, a phase began, or a delivery was requested."""
        self._changed.set()
        self._tracker.changed.set()
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    async def wait_until_woken(self) -> None:
        """Wait until time passes, a phase begins, or a delivery is requested."""
        await self._woken.wait()

    async def stop(self) -> None:
        """Stop delivering."""
        await self._background.stop()

    def _is_due(self, turn: _Delivery) -> bool:
        if turn.is_immediate or turn.is_early or self._blocks_document(turn):
            return True
        return self._is_on_demand(turn) or self._is_past(turn.moment)

    def _is_on_demand(self, turn: _Delivery) -> bool:
        """Whether a response is served on request, before its moment."""
        if self._on_delivery is None or turn.request is None or not turn.has_cause():
            return False
        return not any(self._stabilizer.phase < over <= turn.moment.phase for over in self._failures)

    def _is_past(self, moment: Moment) -> bool:
        """Whether a moment was reached; an event of a later action counts once it is overdue."""
        return self._is_on_time(moment) or moment.at_ms + OVERDUE_MS <= self._timeline_ms

    def _is_on_time(self, moment: Moment) -> bool:
        return (moment.phase, moment.at_ms) <= (self._stabilizer.phase, self._timeline_ms)

    @property
    def _timeline_ms(self) -> float:
        """Return the current page time in the timeline of the recording."""
        return self._stabilizer.now_ms - self._stabilizer.lag_ms

    async def _deliver_forever(self) -> None:
        while True:
            self._changed.clear()
            blocking = self._blocking_delivery()
            turn = blocking or (self._first_due() if self._stabilizer.barrier_open.is_set() else None)
            if turn is None:
                await self._wait_for_change()
                continue
            if turn is not blocking and self._is_earlier_event_due(turn) and not await self._settle_without_cause(turn):
                continue
            if turn is not blocking and not self._stabilizer.barrier_open.is_set():
                continue
            await self._deliver_now(turn)

    async def _wait_for_change(self) -> None:
        """Wait until something may have become due, or may be delivered again."""
        if self._stabilizer.barrier_open.is_set():
            await self._changed.wait()
            return
        waits = {
            asyncio.ensure_future(self._changed.wait()),
            asyncio.ensure_future(self._stabilizer.barrier_open.wait()),
        }
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    def _blocking_delivery(self) -> _Delivery | None:
        """Return the delivery that a document is blocked on; nothing else reaches that document before it."""
        return next((turn for turn in self._pending.values() if self._blocks_document(turn)), None)

    def _blocks_document(self, turn: _Delivery) -> bool:
        return turn.request is not None and turn.request in self._tracker.blocking_requests

    async def _deliver_now(self, turn: _Delivery) -> None:
        order = turn.moment.order
        if self._pending.pop(order, None) is None:
            return
        blocking = self._blocks_document(turn)
        in_time = turn.is_immediate or turn.is_early or blocking or self._is_on_time(turn.moment)
        self.late_count += order in self._overtaken or not in_time
        self._overtaken.discard(order)
        self.delivered.add(order)
        self._in_delivery = 1
        if self._on_delivery is not None:
            self._on_delivery(order, self._stabilizer.moment())
        if not blocking:
            self._stabilizer.note_delivery()
        turn.allowed.set()
        await self._wait_until_completed(turn)
        self._in_delivery = 0
        if blocking:  # earlier events did not reach a page before it in the recording either
            self._expected = [each for each in self._expected if each[0] != order]
            heapq.heapify(self._expected)
        else:
            self._drop_past(order)
        self._tracker.note_data()

    async def _wait_until_completed(self, turn: _Delivery) -> None:
        """Wait until a delivery completes.

        A page that waits for its next document, or is blocked, accepts nothing before that.
        """
        while not (
            turn.completed.is_set()
            or self._blocking_delivery()
            or any(each.is_immediate for each in self._pending.values())
        ):
            with suppress(TimeoutError):
                async with asyncio.timeout(COMPLETION_POLL_S):
                    await turn.completed.wait()

    def _drop_past(self, order: int) -> None:
        """Drop a delivered moment; earlier ones that may still be delivered count as late from now on."""
        kept = []
        while self._expected and self._expected[0][0] <= order:
            place, moment = heapq.heappop(self._expected)
            if place == order:
                continue
            if self._is_past(moment):
                self._overtaken.add(place)
            else:
                kept.append((place, moment))
        for each in kept:
            heapq.heappush(self._expected, each)

    def _first_due(self) -> _Delivery | None:
        due = (turn for turn in self._pending.values() if self._is_due(turn))
        return min(due, key=lambda turn: turn.moment.order, default=None)

    def _is_earlier_event_due(self, turn: _Delivery) -> bool:
        """Whether an earlier event is due and has no cause yet."""
        if not self._expected:
            return False
        order, moment = self._expected[0]
        return order < turn.moment.order and self._is_past(moment)

    async def _settle_without_cause(self, turn: _Delivery) -> bool:
        """Let the pages settle; return whether this delivery is still the first in order."""
        before = set(self._pending)
        phase = self._expected[0][1].phase
        is_timed = phase != 0 and self._stabilizer.phase != self._phase_without_cause
        expected_until = time.monotonic() + (CAUSE_TIMEOUT_S if is_timed else UNTIMED_CAUSE_TIMEOUT_S)
        calm = 0
        try:
            async with asyncio.timeout(BLOCKED_S):
                while calm < CAUSE_CHECKS or time.monotonic() < expected_until:
                    seen = await self._query_activity(before)
                    if seen is None:
                        return False
                    rests = seen.pending <= self.unanswered_fetches() and not self._stabilizer.has_pending_work
                    calm = calm + 1 if rests else 0
                    if calm >= CAUSE_CHECKS:
                        await self._pause(before)
        except TimeoutError:
            # The page is blocked on a response, as by a synchronous request, or the machine is very slow.
            self._stabilizer.notes.append(
                f"a response was delivered to a page that was unresponsive for {BLOCKED_S:.0f} s"
            )
        if turn is not self._first_due():
            return False
        self._phase_without_cause = self._stabilizer.phase
        return True

    async def _pause(self, before: set[int]) -> None:
        """Wait briefly, or until a delivery is requested that is not in `before`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CAUSE_POLL_S):
                while not self._is_overtaken(before):
                    await self.wait_until_woken()

    def _is_overtaken(self, before: set[int]) -> bool:
        """Whether a delivery was requested that is not in `before`, or a document blocks."""
        return bool(self._pending.keys() - before) or self._blocking_delivery() is not None

    async def _query_activity(self, before: set[int]) -> PageActivity | None:
        """Check the pages; None once a delivery is requested that is not in `before`: pages may wait for it."""
        looking = asyncio.ensure_future(query_activity(self._tracker, PENDING_RESPONSES, skip_leaving=True))
        try:
            while not looking.done() and not self._is_overtaken(before):
                woken = asyncio.ensure_future(self.wait_until_woken())
                await asyncio.wait({looking, woken}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
            return None if self._is_overtaken(before) else await looking
        finally:
            looking.cancel()
