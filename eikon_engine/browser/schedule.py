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

from eikon_engine.browser.background import Background
from eikon_engine.browser.look import PENDING, Seen, look_at
from eikon_engine.browser.rest import BLOCKED_S
from eikon_engine.network.kinds import FETCHES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from playwright.async_api import Request

    from eikon_engine.browser.ledger import PageLedger
    from eikon_engine.browser.rest import Rest
    from eikon_engine.network.moment import Moment

OVERDUE_MS: Final = 1000.0
"""Page time after which an event recorded for a later action is delivered to an action that waits. Only a replay that
departed from its recording gets there."""


PATIENCE_S: Final = 0.05
"""Wall time between two checks of what keeps a delivery from completing."""
CALM: Final = 2
"""Round trips without events after which a page counts as idle, as in the stabilizer."""
EXPECTED_S: Final = 0.5
"""Wall time within which the cause of the next event must appear: a busy browser reports a request after the page that
sent it has answered. It passes only if the cause is missing or comes in a different order."""
UNTIMED_S: Final = 0.1
"""As above, for events without a moment, as in imported HAR files: they are ordered by completion, which replays often
do not reproduce. Also for any other missing cause in a phase in which one was missing already."""
LOOK_EVERY_S: Final = 0.02


def _always() -> bool:
    return True


@dataclass(slots=True, eq=False)
class _Turn:
    """An event whose cause exists, and that waits for its moment."""

    moment: Moment
    request: Request | None
    at_once: bool
    """Whether it is due at once: no clock can advance while a page waits for its document."""
    has_cause: Callable[[], bool]
    """Whether the requests that it depends on were sent; used when responses are served on request."""
    hurried: bool = False
    """Whether it is due before its moment, because nothing else can continue without it."""
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_fetch(self) -> bool:
        return self.request is not None and self.request.resource_type in FETCHES


class Schedule:
    """Deliver events in recorded order, none before its moment."""

    def __init__(
        self,
        rest: Rest,
        ledger: PageLedger,
        moments: Iterable[Moment],
        given: Callable[[int, Moment], None] | None = None,
        failures: Iterable[int] = (),
    ) -> None:
        """Expect these moments, each once.

        If `given` is set, it is called with each delivery, and responses are delivered as soon as they are requested;
        but none that was recorded after a failed action is delivered before that action. `failures` are the positions
        of failed actions.
        """
        self._given_to = given
        self._failures = tuple(rest.phases(place + 1) for place in failures)
        self._rest = rest
        self._ledger = ledger
        self._coming = [(moment.order, moment) for moment in moments]
        heapq.heapify(self._coming)
        self._times = sorted((moment.phase, moment.at_ms) for _, moment in self._coming)
        self._time = 0
        """How many of them have been due, or precede an inserted action."""
        self._phase = 0
        """The phase in which the next of them was last requested."""
        self._waiting: dict[int, _Turn] = {}
        self.granted: set[int] = set()
        """Orders of everything delivered so far."""
        self._skipped: set[int] = set()
        self._in_vain: int | None = None
        """The last phase in which an expected cause did not appear."""
        self._never: set[Request] = set()
        self.late = 0
        """How many were delivered after a later event of the recording, or early."""
        self._changed = asyncio.Event()
        self._woken = asyncio.Event()
        self._delivering = 0
        ledger.standstills.heard.append(self.wake)
        self._background = Background(ledger)
        self._background.begin(self._deliver())

    def give_as_asked(self, given: Callable[[int, Moment], None]) -> None:
        """Serve responses as soon as they are requested, from now on, and call `given` for each."""
        self._given_to = given
        self.wake()

    def never(self, request: Request) -> None:
        """Mark a request that gets no response, as in the recording."""
        self._never.add(request)

    @asynccontextmanager
    async def turn(
        self,
        moment: Moment | None,
        request: Request | None = None,
        *,
        at_once: bool = False,
        has_cause: Callable[[], bool] = _always,
    ) -> AsyncIterator[None]:
        """Wait for a moment, and block other deliveries until the body of the `with` statement ends."""
        if moment is None:
            await self._rest.gate.wait()
            yield
            return
        turn = self._waiting[moment.order] = _Turn(moment, request, at_once, has_cause)
        self.wake()
        try:
            await turn.granted.wait()
        except asyncio.CancelledError:
            self._waiting.pop(moment.order, None)
            turn.over.set()
            raise
        try:
            yield
        finally:
            turn.over.set()

    def due(self) -> int:
        """Count what can be delivered now."""
        return self._delivering + sum(self._is_due(turn) for turn in self._waiting.values())

    def holds(self, request: Request) -> bool:
        """Whether a request waits for a response that is not due yet, or never arrives."""
        if request in self._never:
            return True
        return any(turn.request is request and not self._is_due(turn) for turn in self._waiting.values())

    def held(self) -> int:
        """Count the requests that wait for a response that is not due yet."""
        return sum(turn.request is not None and not self._is_due(turn) for turn in self._waiting.values())

    def waiting(self) -> int:
        """Count the deliveries that are requested and wait for their moment."""
        return len(self._waiting)

    def unanswered_fetches(self) -> int:
        """Count the fetches whose response is pending, or never arrives."""
        never = sum(each.resource_type in FETCHES for each in self._never & self._ledger.in_flight)
        return never + sum(turn.is_fetch for turn in self._waiting.values())

    def next_ms(self) -> float | None:
        """Return the page time of the next delivery in this phase that is not due yet."""
        here = (self._rest.phase, self._here_ms)
        if here[0] < self._phase:
            self._time = bisect_right(self._times, here)
        self._phase = here[0]
        while self._time < len(self._times) and self._times[self._time] <= here:
            self._time += 1
        if self._time == len(self._times):
            return None
        phase, at_ms = self._times[self._time]
        return at_ms + self._rest.behind_ms if phase == self._rest.phase else None

    def hurry(self, *, fetches: bool) -> None:
        """Deliver pending responses before their moments, because nothing else can continue.

        Responses to fetches are included only with `fetches`.
        """
        for turn in self._waiting.values():
            if not self._is_due(turn) and (fetches or not turn.is_fetch):
                turn.hurried = True
                self.late += 1
        self.wake()

    def forget(self, orders: Iterable[int]) -> None:
        """Stop expecting these orders: later events no longer wait for them."""
        gone = frozenset(orders)
        self._coming = [each for each in self._coming if each[0] not in gone]
        heapq.heapify(self._coming)
        self._skipped -= gone
        self.wake()

    def wake(self) -> None:
        """Check again: time passed, a phase began, or a delivery was requested."""
        self._changed.set()
        self._ledger.changed.set()
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    async def woken(self) -> None:
        """Wait until time passes, a phase begins, or a delivery is requested."""
        await self._woken.wait()

    async def stop(self) -> None:
        """Stop delivering."""
        await self._background.stop()

    def _is_due(self, turn: _Turn) -> bool:
        if turn.at_once or turn.hurried or self._stands_still_for(turn):
            return True
        return self._comes_early(turn) or self._is_past(turn.moment)

    def _comes_early(self, turn: _Turn) -> bool:
        """Whether a response is served on request, before its moment."""
        if self._given_to is None or turn.request is None or not turn.has_cause():
            return False
        return not any(self._rest.phase < over <= turn.moment.phase for over in self._failures)

    def _is_past(self, moment: Moment) -> bool:
        """Whether a moment was reached; an event of a later action counts once it is overdue."""
        return self._is_time(moment) or moment.at_ms + OVERDUE_MS <= self._here_ms

    def _is_time(self, moment: Moment) -> bool:
        return (moment.phase, moment.at_ms) <= (self._rest.phase, self._here_ms)

    @property
    def _here_ms(self) -> float:
        """Return the current page time in the timeline of the recording."""
        return self._rest.now_ms - self._rest.behind_ms

    async def _deliver(self) -> None:
        while True:
            self._changed.clear()
            blocking = self._blocking()
            turn = blocking or (self._first_due() if self._rest.gate.is_set() else None)
            if turn is None:
                await self._something()
                continue
            if turn is not blocking and self._has_to_come_first(turn) and not await self._comes_alone(turn):
                continue
            if turn is not blocking and not self._rest.gate.is_set():
                continue
            await self._grant(turn)

    async def _something(self) -> None:
        """Wait until something may have become due, or may be delivered again."""
        if self._rest.gate.is_set():
            await self._changed.wait()
            return
        waits = {asyncio.ensure_future(self._changed.wait()), asyncio.ensure_future(self._rest.gate.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    def _blocking(self) -> _Turn | None:
        """Return the delivery that a document is blocked on; nothing else reaches that document before it."""
        return next((turn for turn in self._waiting.values() if self._stands_still_for(turn)), None)

    def _stands_still_for(self, turn: _Turn) -> bool:
        return turn.request is not None and turn.request in self._ledger.standstills

    async def _grant(self, turn: _Turn) -> None:
        order = turn.moment.order
        if self._waiting.pop(order, None) is None:
            return
        blocking = self._stands_still_for(turn)
        in_time = turn.at_once or turn.hurried or blocking or self._is_time(turn.moment)
        self.late += order in self._skipped or not in_time
        self._skipped.discard(order)
        self.granted.add(order)
        self._delivering = 1
        if self._given_to is not None:
            self._given_to(order, self._rest.moment())
        if not blocking:
            self._rest.note_given()
        turn.granted.set()
        await self._given(turn)
        self._delivering = 0
        if blocking:  # earlier events did not reach a page before it in the recording either
            self._coming = [each for each in self._coming if each[0] != order]
            heapq.heapify(self._coming)
        else:
            self._drop_past(order)
        self._ledger.note_news()

    async def _given(self, turn: _Turn) -> None:
        """Wait until a delivery completes.

        A page that waits for its next document, or is blocked, accepts nothing before that.
        """
        while not (turn.over.is_set() or self._blocking() or any(each.at_once for each in self._waiting.values())):
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    await turn.over.wait()

    def _drop_past(self, order: int) -> None:
        """Drop a delivered moment; earlier ones that may still be delivered count as late from now on."""
        kept = []
        while self._coming and self._coming[0][0] <= order:
            place, moment = heapq.heappop(self._coming)
            if place == order:
                continue
            if self._is_past(moment):
                self._skipped.add(place)
            else:
                kept.append((place, moment))
        for each in kept:
            heapq.heappush(self._coming, each)

    def _first_due(self) -> _Turn | None:
        due = (turn for turn in self._waiting.values() if self._is_due(turn))
        return min(due, key=lambda turn: turn.moment.order, default=None)

    def _has_to_come_first(self, turn: _Turn) -> bool:
        """Whether an earlier event is due and has no cause yet."""
        if not self._coming:
            return False
        order, moment = self._coming[0]
        return order < turn.moment.order and self._is_past(moment)

    async def _comes_alone(self, turn: _Turn) -> bool:
        """Let the pages settle; return whether this delivery is still the first in order."""
        before = set(self._waiting)
        phase = self._coming[0][1].phase
        is_timed = phase != 0 and self._rest.phase != self._in_vain
        expected_until = time.monotonic() + (EXPECTED_S if is_timed else UNTIMED_S)
        calm = 0
        try:
            async with asyncio.timeout(BLOCKED_S):
                while calm < CALM or time.monotonic() < expected_until:
                    seen = await self._look(before)
                    if seen is None:
                        return False
                    rests = seen.pending <= self.unanswered_fetches() and not self._rest.at_work
                    calm = calm + 1 if rests else 0
                    if calm >= CALM:
                        await self._pause(before)
        except TimeoutError:
            # The page is blocked on a response, as by a synchronous request, or the machine is very slow.
            self._rest.notes.append(f"a response was delivered to a page that was unresponsive for {BLOCKED_S:.0f} s")
        if turn is not self._first_due():
            return False
        self._in_vain = self._rest.phase
        return True

    async def _pause(self, before: set[int]) -> None:
        """Wait briefly, or until a delivery is requested that is not in `before`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY_S):
                while not self._is_overtaken(before):
                    await self.woken()

    def _is_overtaken(self, before: set[int]) -> bool:
        """Whether a delivery was requested that is not in `before`, or a document blocks."""
        return bool(self._waiting.keys() - before) or self._blocking() is not None

    async def _look(self, before: set[int]) -> Seen | None:
        """Check the pages; None once a delivery is requested that is not in `before`: pages may wait for it."""
        looking = asyncio.ensure_future(look_at(self._ledger, PENDING, skip_leaving=True))
        try:
            while not looking.done() and not self._is_overtaken(before):
                woken = asyncio.ensure_future(self.woken())
                await asyncio.wait({looking, woken}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
            return None if self._is_overtaken(before) else await looking
        finally:
            looking.cancel()
