"""Deliver recorded traffic at its page time and in its order: a discrete-event simulation of the recording.

Every recorded event (a response, a piece of one, a WebSocket message) has a moment. It is due once the phase of the
replay and the page clock have reached that moment; due events are delivered one after the other. If the next one in
order has no cause yet, such as a request that was not sent, the pages are allowed to settle; if the cause is still
missing, the following event is delivered, and the other one as soon as its cause appears. In a live replay, the events
are the responses of the server; see `live_pace`.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from eikon_engine.browser.delivery_barrier import BLOCKED_S
from eikon_engine.browser.frames import frame_of
from eikon_engine.browser.page_activity import (
    PENDING_RESPONSES,
    count_starting_frames,
    count_unread,
    is_in_local_frame,
    query_activity,
)
from eikon_engine.browser.page_tracker import BackgroundTasks
from eikon_engine.browser.traffic.delivery_queue import Delivery, DeliveryQueue
from eikon_engine.network.exchange import FETCH_TYPES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

    from playwright.async_api import Page, Request

    from eikon_engine.browser.page_tracker import PageTracker
    from eikon_engine.browser.stabilizer import PageStabilizer
    from eikon_engine.network.exchange import Moment

READ_S: Final = 10.0
"""Wall time for scripts to read a body that they received, as in init_browser_work.js; a busy browser takes seconds."""
COMPLETION_POLL_S: Final = 0.05
"""Wall time between two checks of what keeps a delivery from completing."""
CAUSE_CHECKS: Final = 2
"""Round trips without events after which a page counts as idle, as in the stabilizer."""
CAUSE_POLLS: Final = 20
"""Polls of idle pages, each a pause and a round trip, within which the cause of the next event must appear: a browser
reports a request after the page that sent it has answered, the later, the busier the machine. They pass, in half a
second or more, only if the cause is missing or comes in a different order."""
UNTIMED_CAUSE_POLLS: Final = 4
"""As above, for events without a moment, as in imported HAR files: they are ordered by completion, which replays often
do not reproduce. Also for any other missing cause in a phase in which one was missing already."""
CAUSE_POLL_S: Final = 0.025
_AWAITED_TYPES: Final = FETCH_TYPES | {"script", "stylesheet"}
"""Types of resources that scripts wait for before they continue."""
_AnswerT = TypeVar("_AnswerT")


def _has_always_cause() -> bool:
    return True


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

        If `on_delivery` is set, it is called with each delivery, and responses are delivered as soon as they are
        requested; but none that was recorded after a failed action is delivered before that action. `failures` are the
        positions of failed actions.
        """
        self._on_delivery = on_delivery
        self._stabilizer = stabilizer
        self._tracker = tracker
        self.queue = DeliveryQueue(
            stabilizer.timeline, tracker, moments, failures, is_on_demand=on_delivery is not None
        )
        self._phase_without_cause: int | None = None
        """The last phase in which an expected cause did not appear."""
        self._unread: Request | None = None
        """The fetch that was delivered last, whose body scripts may still read."""
        self._stalled_urls: set[str] = set()
        """URLs of fetches that did not resolve within the time."""
        self._background = BackgroundTasks(tracker)
        self._background.start(self._deliver_forever())

    def deliver_on_demand(self, on_delivery: Callable[[int, Moment], None]) -> None:
        """Serve responses as soon as they are requested, from now on, and call `on_delivery` for each."""
        self._on_delivery = on_delivery
        self.queue.is_on_demand = True
        self.queue.wake()

    @asynccontextmanager
    async def in_turn(
        self,
        moment: Moment | None,
        request: Request | None = None,
        *,
        is_immediate: bool = False,
        is_background: bool = False,
        has_cause: Callable[[], bool] = _has_always_cause,
        ends_body_of: Request | None = None,
    ) -> AsyncIterator[None]:
        """Wait for a moment, and block other deliveries until the body of the `with` statement ends."""
        if moment is None:
            await self._stabilizer.barrier.wait_until_open()
            yield
            return
        delivery = Delivery(moment, request, is_immediate, has_cause, is_background, ends_body_of)
        self.queue.add(delivery)
        try:
            await delivery.allowed.wait()
        except asyncio.CancelledError:
            self.queue.discard(delivery)
            delivery.completed.set()
            raise
        try:
            yield
        finally:
            delivery.completed.set()

    async def stop(self) -> None:
        """Stop delivering."""
        await self._background.stop()

    async def _deliver_forever(self) -> None:
        while True:
            self.queue.changed.clear()
            blocking = self.queue.blocking_delivery()
            delivery = blocking or (self.queue.first_due() if self._stabilizer.barrier.is_open else None)
            if delivery is None:
                if not self._continue_beyond_recording():
                    await self._wait_for_change()
                continue
            if delivery is not blocking and self._unread is not None:
                await self._wait_until_read(self._unread)
                continue
            if delivery is not blocking and not (await self._is_next(delivery) and await self._has_turn(delivery)):
                continue
            if delivery is not blocking and not self._stabilizer.barrier.is_open:
                continue
            await self._deliver_now(delivery)

    def _continue_beyond_recording(self) -> bool:
        """Send what a server sends now beyond the recorded events; return whether it sends anything."""
        continuation = self.queue.first_continuation_due() if self._stabilizer.barrier.is_open else None
        if continuation is None:
            return False
        self._stabilizer.barrier.note_delivery()
        continuation.deliver()
        self._tracker.note_data()
        return True

    async def _wait_for_change(self) -> None:
        """Wait until something may have become due, or may be delivered again."""
        if self._stabilizer.barrier.is_open:
            await self.queue.changed.wait()
            return
        waits = {
            asyncio.ensure_future(self.queue.changed.wait()),
            asyncio.ensure_future(self._stabilizer.barrier.wait_until_open()),
        }
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _deliver_now(self, delivery: Delivery) -> None:
        was_blocking = self.queue.blocks_document(delivery)
        if not self.queue.start_delivery(delivery):
            return
        if self._on_delivery is not None:
            self._on_delivery(delivery.moment.order, self._stabilizer.timeline.moment())
        if not was_blocking:
            self._stabilizer.barrier.note_delivery()
        delivery.allowed.set()
        await self._wait_until_completed(delivery)
        self.queue.end_delivery(delivery, was_blocking=was_blocking)
        self._unread = delivery.fetch_request or self._unread
        self._tracker.note_data()

    async def _wait_until_completed(self, delivery: Delivery) -> None:
        """Wait until a delivery completes.

        A page that waits for its next document, or is blocked, accepts nothing before that.
        """
        while not (delivery.completed.is_set() or self.queue.blocking_delivery() or self.queue.has_immediate()):
            with suppress(TimeoutError):
                async with asyncio.timeout(COMPLETION_POLL_S):
                    await delivery.completed.wait()

    async def _wait_until_read(self, request: Request) -> None:
        """Wait until scripts have read the body delivered last, which the next event could overtake."""
        has_new, frame = partial(self._has_new_request, self.queue.pending_orders()), frame_of(request)
        if frame is None or request.url in self._stalled_urls:
            self._unread = None
            return
        try:
            async with asyncio.timeout(READ_S):
                while work := await self._unless(has_new, count_unread(self._tracker, frame, request)):
                    await self._pause(has_new)
        except TimeoutError:
            self._stalled_urls.add(request.url)
            self._stabilizer.notes.append(
                f"a response was delivered to a page that still read another one after {READ_S:.0f} s"
            )
        else:
            if work is None:
                return  # something else was requested, which scripts may wait for
        self._unread = None

    async def _has_turn(self, delivery: Delivery) -> bool:
        """Let the script that sent a request end, and frames begin whose documents come without a request.

        Without that, a style sheet may be loaded before or after such a frame. Returns whether nothing was requested
        meanwhile that comes first. What comes later, as the other resources of a document do, needs no new look.
        """
        request = delivery.request
        frame = None if request is None or request.resource_type not in _AWAITED_TYPES else frame_of(request)
        if frame is None:
            return True
        before = self.queue.pending_orders()
        is_preceded = partial(self._is_preceded, delivery, before)
        with suppress(TimeoutError):  # a page that is blocked for so long waits for this delivery, or for a later one
            async with asyncio.timeout(BLOCKED_S):
                while not self._has_request_of_local_frame(frame.page):
                    starting = await self._unless(is_preceded, count_starting_frames(self._tracker, frame))
                    if starting is None:
                        return False
                    if not starting:
                        break
                    await self._pause(is_preceded)
        return True

    def _has_request_of_local_frame(self, page: Page) -> bool:
        """Whether such a frame of a page waits for a response, without which it may not load."""
        frames = (frame_of(each.request) for each in self.queue.pending() if each.request is not None)
        return any(frame is not None and frame.page is page and is_in_local_frame(frame) for frame in frames)

    async def _is_next(self, delivery: Delivery) -> bool:
        """Whether a delivery is the next one; if an earlier event is due and has no cause, the pages settle first."""
        earlier = self.queue.earlier_event_due(delivery)
        return earlier is None or await self._settle_without_cause(delivery, earlier)

    async def _settle_without_cause(self, delivery: Delivery, earlier: Moment) -> bool:
        """Let the pages settle; return whether this delivery is still the first in order."""
        has_new = partial(self._has_new_request, self.queue.pending_orders())
        is_timed = earlier.phase != 0 and self._stabilizer.timeline.phase != self._phase_without_cause
        polls = CAUSE_POLLS if is_timed else UNTIMED_CAUSE_POLLS
        idle_checks, clock = 0, asyncio.get_running_loop().time
        blocked_at = clock() + BLOCKED_S
        try:
            while (idle_checks < CAUSE_CHECKS or polls) and clock() < blocked_at:
                async with asyncio.timeout_at(blocked_at):
                    seen = await self._unless(
                        has_new, query_activity(self._tracker, PENDING_RESPONSES, skip_leaving=True)
                    )
                if seen is None:
                    return False
                is_idle = seen.pending <= self.queue.unanswered_fetches() and not self._stabilizer.has_pending_work
                idle_checks = idle_checks + 1 if is_idle else 0
                if idle_checks >= CAUSE_CHECKS:
                    polls = max(0, polls - 1)
                    await self._pause(has_new)
                    blocked_at = clock() + BLOCKED_S
        except TimeoutError:
            idle_checks = 0
        if not idle_checks:
            # The page is blocked on a response, as by a synchronous request, or the machine is very slow.
            self._stabilizer.notes.append(
                f"a response was delivered to a page that was unresponsive for {BLOCKED_S:.0f} s"
            )
        if delivery is not self.queue.first_due():
            return False
        self._phase_without_cause = self._stabilizer.timeline.phase
        return True

    async def _pause(self, is_over: Callable[[], bool]) -> None:
        """Wait briefly, or until something is requested after which `is_over` returns true."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CAUSE_POLL_S):
                while not is_over():
                    await self.queue.wait_until_woken()

    def _has_new_request(self, before: frozenset[int]) -> bool:
        """Whether a delivery was requested that is not in `before`, or a document blocks."""
        return bool(self.queue.pending_orders() - before) or self.queue.blocking_delivery() is not None

    def _is_preceded(self, delivery: Delivery, before: frozenset[int]) -> bool:
        """Whether one was requested that is not in `before` and comes before `delivery`, or a document blocks."""
        new = (each for each in self.queue.pending() if each.moment.order not in before)
        comes_first = any(each.is_immediate or each.moment.order < delivery.moment.order for each in new)
        return comes_first or self.queue.blocking_delivery() is not None

    async def _unless(self, is_over: Callable[[], bool], query: Coroutine[None, None, _AnswerT]) -> _AnswerT | None:
        """Query pages; None once something is requested after which `is_over` returns true: pages may wait for it."""
        looking = asyncio.ensure_future(query)
        try:
            while not looking.done() and not is_over():
                woken = asyncio.ensure_future(self.queue.wait_until_woken())
                try:
                    await asyncio.wait({looking, woken}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    woken.cancel()
            return None if is_over() else await looking
        finally:
            if looking.done() and not looking.cancelled():
                looking.exception()  # else its loop reports one that nobody retrieved
            looking.cancel()
