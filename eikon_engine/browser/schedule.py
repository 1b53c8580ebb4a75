"""Bring what a recording has, at its page time and in its order: a replay is a discrete-event simulation of it.

What is recorded - an answer, a piece of one, a WebSocket message - has a moment. It is due once the phase of the replay
and the page's clock have reached that moment; what is due is delivered one after the other. Where the next in order has
no cause yet, such as a request that was not made, the pages are left to come to rest; if the cause is still not there,
the next one goes, and the other is delivered as soon as its cause comes.
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
"""Page time after which what is recorded for a later action is delivered to an action that waits; that happens only
to a replay that has left its recording."""


PATIENCE_S: Final = 0.05
"""Wall time between two looks at what keeps a turn from being over."""
CALM: Final = 2
"""Round trips without news after which a page asks for nothing more, as when the session comes to rest."""
EXPECTED_S: Final = 0.5
"""Wall time within which what a recording has next is heard of: a busy browser tells of a request after the page that
made it has answered. It passes only where something does not come, or comes in another order."""
UNTIMED_S: Final = 0.1
"""As above, for what has no moment, as in foreign HAR files: its order is that of completion, and often not met. Also
for what else does not come in a phase in which something was waited for in vain."""
LOOK_EVERY_S: Final = 0.02


def _always() -> bool:
    return True


@dataclass(slots=True, eq=False)
class _Turn:
    """Something whose cause is there, and that waits for its moment."""

    moment: Moment
    request: Request | None
    at_once: bool
    """Whether its time does not matter: no clock can be moved while a page waits for its document."""
    has_cause: Callable[[], bool]
    """Says whether what it waits for has happened, where answers are given as they are asked for."""
    hurried: bool = False
    """Whether it is due before its time, as nothing else goes on without it."""
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_fetch(self) -> bool:
        return self.request is not None and self.request.resource_type in FETCHES


class Schedule:
    """Hand out turns in recorded order, none before its time."""

    def __init__(
        self,
        rest: Rest,
        ledger: PageLedger,
        moments: Iterable[Moment],
        given: Callable[[int, Moment], None] | None = None,
        failures: Iterable[int] = (),
    ) -> None:
        """Expect these moments; each one is taken once.

        Where somebody wants to hear what is `given` when, answers come as soon as they are asked for; but none that
        came after an action that failed, by their places among the actions, comes before that.
        """
        self._given_to = given
        self._failures = tuple(rest.phases(place + 1) for place in failures)
        self._rest = rest
        self._ledger = ledger
        self._coming = [(moment.order, moment) for moment in moments]
        heapq.heapify(self._coming)
        self._times = sorted((moment.phase, moment.at_ms) for _, moment in self._coming)
        self._time = 0
        """How many of them have been due, or came before an action that was put in."""
        self._phase = 0
        """The last one in which somebody asked for the next of them."""
        self._waiting: dict[int, _Turn] = {}
        self.granted: set[int] = set()
        """Places of everything that was given so far."""
        self._skipped: set[int] = set()
        self._in_vain: int | None = None
        """The last phase in which something was waited for that did not come."""
        self._never: set[Request] = set()
        self.late = 0
        """How many were given after something that they came before in the recording, or hurried."""
        self._changed = asyncio.Event()
        self._woken = asyncio.Event()
        self._delivering = 0
        ledger.standstills.heard.append(self.wake)
        self._background = Background(ledger)
        self._background.begin(self._deliver())

    def give_as_asked(self, given: Callable[[int, Moment], None]) -> None:
        """Give answers as soon as they are asked for, from now on, and tell of each."""
        self._given_to = given
        self.wake()

    def never(self, request: Request) -> None:
        """Note a request that gets no answer, as in the recording."""
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
        """Wait for a moment, and hold the turn until what belongs to it is delivered."""
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
        """Say whether a request waits for an answer whose time has not come, or that never comes."""
        if request in self._never:
            return True
        return any(turn.request is request and not self._is_due(turn) for turn in self._waiting.values())

    def held(self) -> int:
        """Count the requests that wait so."""
        return sum(turn.request is not None and not self._is_due(turn) for turn in self._waiting.values())

    def waiting(self) -> int:
        """Count everything whose cause is there, and that waits for its moment."""
        return len(self._waiting)

    def unanswered_fetches(self) -> int:
        """Count the fetches whose answer is not given yet, or never will be."""
        never = sum(each.resource_type in FETCHES for each in self._never & self._ledger.in_flight)
        return never + sum(turn.is_fetch for turn in self._waiting.values())

    def next_ms(self) -> float | None:
        """Return the page time of what comes next in this phase, and has not been due yet."""
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
        """Deliver what waits though its time has not come: nothing else goes on without it.

        What scripts asked for is delivered so only with `fetches`.
        """
        for turn in self._waiting.values():
            if not self._is_due(turn) and (fetches or not turn.is_fetch):
                turn.hurried = True
                self.late += 1
        self.wake()

    def forget(self, orders: Iterable[int]) -> None:
        """Expect these no longer: nothing that comes before its place waits for them."""
        gone = frozenset(orders)
        self._coming = [each for each in self._coming if each[0] not in gone]
        heapq.heapify(self._coming)
        self._skipped -= gone
        self.wake()

    def wake(self) -> None:
        """Look again: time passed, a phase began, or something waits."""
        self._changed.set()
        self._ledger.changed.set()
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    async def woken(self) -> None:
        """Wait until time passes, a phase begins, or something comes."""
        await self._woken.wait()

    async def stop(self) -> None:
        """Hand out no more turns."""
        await self._background.stop()

    def _is_due(self, turn: _Turn) -> bool:
        if turn.at_once or turn.hurried or self._stands_still_for(turn):
            return True
        return self._comes_early(turn) or self._is_past(turn.moment)

    def _comes_early(self, turn: _Turn) -> bool:
        """Say whether an answer is given as it is asked for."""
        if self._given_to is None or turn.request is None or not turn.has_cause():
            return False
        return not any(self._rest.phase < over <= turn.moment.phase for over in self._failures)

    def _is_past(self, moment: Moment) -> bool:
        """Say whether a moment was reached; what belongs to a later action comes all the same when it is overdue."""
        return self._is_time(moment) or moment.at_ms + OVERDUE_MS <= self._here_ms

    def _is_time(self, moment: Moment) -> bool:
        return (moment.phase, moment.at_ms) <= (self._rest.phase, self._here_ms)

    @property
    def _here_ms(self) -> float:
        """Return the page time of the recording at which the replay stands."""
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
        """Wait until something may have become due, or may be given again."""
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
        """Return the turn that a document stands still for; nothing else reaches that document before."""
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
        if blocking:  # what came before it in the recording reached no page before it either
            self._coming = [each for each in self._coming if each[0] != order]
            heapq.heapify(self._coming)
        else:
            self._drop_past(order)
        self._ledger.note_news()

    async def _given(self, turn: _Turn) -> None:
        """Wait until a turn is over.

        A page that waits for its next document, or stands still, takes nothing before what it waits for.
        """
        while not (turn.over.is_set() or self._blocking() or any(each.at_once for each in self._waiting.values())):
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    await turn.over.wait()

    def _drop_past(self, order: int) -> None:
        """Forget a moment that was taken; what should have come before it, and may still do so, is late from now on."""
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
        """Say whether something that is due, and recorded before a turn, has no cause yet."""
        if not self._coming:
            return False
        order, moment = self._coming[0]
        return order < turn.moment.order and self._is_past(moment)

    async def _comes_alone(self, turn: _Turn) -> bool:
        """Let the pages come to rest; say whether the turn is still the first one."""
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
            # The page does nothing but wait for an answer, as a synchronous request does, or the machine is very slow.
            self._rest.notes.append(f"an answer was given to a page that did not respond for {BLOCKED_S:.0f} s")
        if turn is not self._first_due():
            return False
        self._in_vain = self._rest.phase
        return True

    async def _pause(self, before: set[int]) -> None:
        """Let a moment go by, or less if something waits that did not wait `before`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY_S):
                while not self._is_overtaken(before):
                    await self.woken()

    def _is_overtaken(self, before: set[int]) -> bool:
        """Say whether something waits that did not wait `before`, or a page has come to a standstill."""
        return bool(self._waiting.keys() - before) or self._blocking() is not None

    async def _look(self, before: set[int]) -> Seen | None:
        """Look at the pages; None once something waits that did not wait `before`: they may answer only after that."""
        looking = asyncio.ensure_future(look_at(self._ledger, PENDING, skip_leaving=True))
        try:
            while not looking.done() and not self._is_overtaken(before):
                woken = asyncio.ensure_future(self.woken())
                await asyncio.wait({looking, woken}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
            return None if self._is_overtaken(before) else await looking
        finally:
            looking.cancel()
