"""The recorded events that are still to be delivered, and what is due at this moment of the timeline."""

from __future__ import annotations

import asyncio
import heapq
import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.network.exchange import FETCH_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from playwright.async_api import Request

    from eikon_engine.browser.page_timeline import PageTimeline
    from eikon_engine.browser.page_tracker import PageTracker
    from eikon_engine.network.exchange import Moment

OVERDUE_MS: Final = 1000.0
"""Page time after which an event recorded for a later action is delivered to an action that waits. Only a replay that
departed from its recording gets there."""


@dataclass(slots=True, eq=False)
class Delivery:
    """An event whose cause exists, and that waits for its moment."""

    moment: Moment
    request: Request | None
    is_immediate: bool
    """Whether it is due at once: no clock can advance while a page waits for its document."""
    has_cause: Callable[[], bool]
    """Whether the requests that it depends on were sent; used when responses are served on request."""
    is_background: bool = False
    """Whether its page does not load with it: a timer sent the request, or its server deferred the response."""
    ends_body_of: Request | None = None
    """The request whose body it completes, in pieces after the response."""
    is_early: bool = False
    """Whether it is due before its moment, because nothing else can continue without it."""
    allowed: asyncio.Event = field(default_factory=asyncio.Event)
    completed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def fetch_request(self) -> Request | None:
        """The fetch whose response or body it delivers; None for any other delivery."""
        request = self.request or self.ends_body_of
        return request if request is not None and request.resource_type == "fetch" else None

    @property
    def is_fetch(self) -> bool:
        """Whether a script requested the response."""
        return self.request is not None and self.request.resource_type in FETCH_TYPES


class Continuation(Protocol):
    """What a server keeps sending as page time passes, beyond what was recorded, such as heartbeats."""

    @property
    def due_ms(self) -> float:
        """Page time at which it sends next; infinity if it sends nothing more."""

    def deliver(self) -> None:
        """Send what is due."""


class DeliveryQueue:
    """Recorded events in their order, and the deliveries that were requested; read while pages settle."""

    def __init__(
        self,
        timeline: PageTimeline,
        tracker: PageTracker,
        moments: Iterable[Moment],
        failures: Iterable[int] = (),
        *,
        is_on_demand: bool = False,
    ) -> None:
        """Expect these moments, each once.

        With `is_on_demand`, responses are due as soon as they are requested; but none that was recorded after a failed
        action is due before that action. `failures` are the positions of failed actions.
        """
        self.is_on_demand = is_on_demand
        self._failures = tuple(timeline.phase_after(place + 1) for place in failures)
        self._timeline = timeline
        self._tracker = tracker
        self._expected = [(moment.order, moment) for moment in moments]
        heapq.heapify(self._expected)
        self._times = sorted((moment.phase, moment.at_ms) for _, moment in self._expected)
        self._passed_times = 0
        """How many of them have been due, or precede an inserted action."""
        self._last_phase = 0
        """The phase in which the next of them was last requested."""
        self._pending: dict[int, Delivery] = {}
        self.delivered: set[int] = set()
        """Orders of everything delivered so far."""
        self._skipped_orders: set[int] = set()
        self._due_ms: dict[int, float] = {}
        """Recorded page times at which orders are due before their moments."""
        self._never_answered: set[Request] = set()
        self._answered_by_site: dict[Request, Moment] = {}
        """When the requests were answered in the recording that a live server answers when it likes."""
        self.late: list[Delivery] = []
        """What was delivered after a later event of the recording, or early."""
        self._in_delivery = 0
        """How many are being delivered."""
        self.continuations: list[Continuation] = []
        """What servers send beyond the recorded events."""
        self.changed = asyncio.Event()
        """Set by `wake`; cleared by the loop that delivers."""
        self._woken = asyncio.Event()
        tracker.requests.blocking.listeners.append(self.wake)

    def add(self, delivery: Delivery) -> None:
        """Add an event whose cause exists."""
        self._pending[delivery.moment.order] = delivery
        self.wake()

    def discard(self, delivery: Delivery) -> None:
        """Remove an event that is not delivered, because its page is gone."""
        if self._pending.get(delivery.moment.order) is delivery:
            del self._pending[delivery.moment.order]

    def start_delivery(self, delivery: Delivery) -> bool:
        """Remove an event that is delivered now, and count it; return whether it was still pending.

        Another one may have its order by now: the response to a request that was let through meanwhile.
        """
        order = delivery.moment.order
        if self._pending.get(order) is not delivery:
            return False
        del self._pending[order]
        is_late = order in self._skipped_orders or not self._counts_as_on_time(delivery)
        if is_late and not delivery.is_early:
            self.late.append(delivery)
        self._skipped_orders.discard(order)
        self.delivered.add(order)
        self._in_delivery = 1
        return True

    def end_delivery(self, delivery: Delivery, *, was_blocking: bool) -> None:
        """Note that an event was delivered; one that a document was blocked on overtakes no other."""
        self._in_delivery = 0
        if was_blocking:  # earlier events did not reach a page before it in the recording either
            self._expected = [each for each in self._expected if each[0] != delivery.moment.order]
            heapq.heapify(self._expected)
        else:
            self._drop_past(delivery.moment.order)

    def pending(self) -> Collection[Delivery]:
        """Return the deliveries that are requested and wait for their moment."""
        return self._pending.values()

    def pending_orders(self) -> frozenset[int]:
        """Return the orders of the deliveries that are requested and wait for their moment."""
        return frozenset(self._pending)

    def has_immediate(self) -> bool:
        """Whether a document waits for its response."""
        return any(each.is_immediate for each in self._pending.values())

    def mark_never_answered(self, request: Request) -> None:
        """Mark a request that gets no response, as in the recording."""
        self._never_answered.add(request)

    def mark_answered_by_site(self, request: Request, recorded: Moment) -> None:
        """Mark a request that a live server answers: it is waited for from the recorded moment on."""
        self._answered_by_site[request] = recorded

    def mark_kept(self, request: Request) -> None:
        """Mark a request whose response has come, and is delivered in its turn."""
        self._answered_by_site.pop(request, None)

    def bring_forward(self, order: int, due_ms: float) -> None:
        """Make an event due at a page time of the recording that is before its moment."""
        self._due_ms[order] = due_ms

    def due_count(self) -> int:
        """Count what can be delivered now."""
        due = sum(self._is_due(delivery) for delivery in self._pending.values())
        return self._in_delivery + due + sum(map(self._is_continuation_due, self.continuations))

    def is_waiting(self, request: Request) -> bool:
        """Whether a request waits for a response that is not due yet, or never arrives."""
        if request in self._never_answered or request in self._answered_later():
            return True
        return any(delivery.request is request and not self._is_due(delivery) for delivery in self._pending.values())

    def waiting_requests(self) -> int:
        """Count the requests that wait for a response that is not due yet."""
        pending = sum(
            delivery.request is not None and not self._is_due(delivery) for delivery in self._pending.values()
        )
        return pending + len(self._answered_later())

    def loading_requests(self) -> Sequence[Request]:
        """Return the requests that wait for a response, and neither poll nor are sent by a timer."""
        waiting = (each for each in self._pending.values() if not each.is_background)
        return tuple(each.request for each in waiting if each.request is not None)

    def pending_count(self) -> int:
        """Count the deliveries that are requested and wait for their moment."""
        return len(self._pending)

    def unanswered_fetches(self) -> int:
        """Count the fetches whose response is pending, or never arrives."""
        never = sum(
            each.resource_type in FETCH_TYPES for each in self._never_answered & self._tracker.requests.in_flight
        )
        later = sum(each.resource_type in FETCH_TYPES for each in self._answered_later())
        return never + later + sum(delivery.is_fetch for delivery in self._pending.values())

    def _answered_later(self) -> Collection[Request]:
        """Return the requests in flight whose recorded response came later."""
        if not self._answered_by_site:
            return ()
        in_flight = self._tracker.requests.in_flight
        self._answered_by_site = {each: when for each, when in self._answered_by_site.items() if each in in_flight}
        return [each for each, when in self._answered_by_site.items() if not self.has_reached(when)]

    def next_ms(self) -> float | None:
        """Return the page time of the next delivery in this phase that is not due yet."""
        here = (self._timeline.phase, self._recorded_ms)
        if here[0] < self._last_phase:
            self._passed_times = bisect_right(self._times, here)
        self._last_phase = here[0]
        while self._passed_times < len(self._times) and self._times[self._passed_times] <= here:
            self._passed_times += 1
        if self._passed_times == len(self._times):
            return None
        phase, at_ms = self._times[self._passed_times]
        return at_ms + self._timeline.lag_ms if phase == self._timeline.phase else None

    def next_stop_ms(self) -> float | None:
        """Return the page time at which the clock must stop next, for a delivery or for what continues after those."""
        times = [each.due_ms for each in self.continuations if each.due_ms < math.inf]
        forward = [ms for order, ms in self._due_ms.items() if order in self._pending and ms > self._recorded_ms]
        times += [ms + self._timeline.lag_ms for ms in forward]
        coming = self.next_ms()
        return min(times if coming is None else [coming, *times], default=None)

    def deliver_early(self, *, fetches: bool) -> None:
        """Deliver pending responses before their moments, because nothing else can continue.

        Responses to fetches are included only with `fetches`.
        """
        for delivery in self._pending.values():
            if not self._is_due(delivery) and (fetches or not delivery.is_fetch):
                delivery.is_early = True
                self.late.append(delivery)
        self.wake()

    def stop_expecting(self, orders: Iterable[int]) -> None:
        """Stop expecting these orders: later events no longer wait for them."""
        removed = frozenset(orders)
        self._expected = [each for each in self._expected if each[0] not in removed]
        heapq.heapify(self._expected)
        self._skipped_orders -= removed
        self.wake()

    def wake(self) -> None:
        """Check again: time passed, a phase began, or a delivery was requested."""
        self.changed.set()
        self._tracker.changed.set()
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    async def wait_until_woken(self) -> None:
        """Wait until time passes, a phase begins, or a delivery is requested."""
        await self._woken.wait()

    def first_due(self) -> Delivery | None:
        """Return the first delivery that is due; None if there is none."""
        due = (delivery for delivery in self._pending.values() if self._is_due(delivery))
        return min(due, key=lambda delivery: delivery.moment.order, default=None)

    def first_continuation_due(self) -> Continuation | None:
        """Return what a server sends now beyond the recorded events; None if it sends nothing."""
        return next(filter(self._is_continuation_due, self.continuations), None)

    def _is_continuation_due(self, continuation: Continuation) -> bool:
        return continuation.due_ms <= self._timeline.now_ms

    def blocking_delivery(self) -> Delivery | None:
        """Return the delivery that a document is blocked on; nothing else reaches that document before it."""
        return next((delivery for delivery in self._pending.values() if self.blocks_document(delivery)), None)

    def blocks_document(self, delivery: Delivery) -> bool:
        """Whether a document is blocked on a delivery."""
        return delivery.request is not None and delivery.request in self._tracker.requests.blocking

    def earlier_event_due(self, delivery: Delivery) -> Moment | None:
        """Return the moment of an earlier event that is due and has no cause yet; None if there is none."""
        if not self._expected:
            return None
        order, moment = self._expected[0]
        return moment if order < delivery.moment.order and self._is_past(moment) else None

    def _drop_past(self, order: int) -> None:
        """Drop a delivered moment; earlier ones that may still be delivered count as late from now on."""
        kept = []
        while self._expected and self._expected[0][0] <= order:
            place, moment = heapq.heappop(self._expected)
            if place == order:
                continue
            if self._is_past(moment):
                self._skipped_orders.add(place)
            else:
                kept.append((place, moment))
        for each in kept:
            heapq.heappush(self._expected, each)

    def has_reached(self, moment: Moment) -> bool:
        """Return whether the replay has come to a moment of the recording."""
        return (moment.phase, moment.at_ms) <= (self._timeline.phase, self._recorded_ms)

    def _is_due(self, delivery: Delivery) -> bool:
        if delivery.is_immediate or delivery.is_early or self.blocks_document(delivery):
            return True
        return self._is_due_on_demand(delivery) or self._is_brought_forward(delivery) or self._is_past(delivery.moment)

    def _is_brought_forward(self, delivery: Delivery) -> bool:
        """Return whether an event is due though its moment may not have come."""
        return self._due_ms.get(delivery.moment.order, math.inf) <= self._recorded_ms

    def _is_due_on_demand(self, delivery: Delivery) -> bool:
        """Whether a response is served on request, before its moment."""
        if not self.is_on_demand or delivery.request is None or not delivery.has_cause():
            return False
        return not any(self._timeline.phase < over <= delivery.moment.phase for over in self._failures)

    def _counts_as_on_time(self, delivery: Delivery) -> bool:
        return (
            delivery.is_immediate
            or delivery.is_early
            or self.blocks_document(delivery)
            or self._is_brought_forward(delivery)
            or self.has_reached(delivery.moment)
        )

    def _is_past(self, moment: Moment) -> bool:
        """Whether a moment was reached; an event of a later action counts once it is overdue."""
        return self.has_reached(moment) or moment.at_ms + OVERDUE_MS <= self._recorded_ms

    @property
    def _recorded_ms(self) -> float:
        """Return the current page time in the timeline of the recording."""
        return self._timeline.now_ms - self._timeline.lag_ms
