"""Advance the page clock and wait until pages are idle; nothing else advances page time."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

from eikon_engine.browser.look import ARRIVED, LOOK, STEP_WORKERS, WAIVE, WENT_AWAY, look_at
from eikon_engine.errors import BrowserDiedError
from eikon_engine.network.moment import ACTING_APART_PHASES, ACTION_PHASES, Moment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from playwright.async_api import Request

    from eikon_engine.browser.agenda import Agenda
    from eikon_engine.browser.ledger import PageLedger
    from eikon_engine.browser.page_clock import PageClock
    from eikon_engine.browser.stride import InVain

_Loaded = TypeVar("_Loaded")

STALL_S: Final = 15.0
"""Wall time after which a request that neither ends nor fails is no longer waited for; reported as a note."""
NATURAL_STALL_S: Final = 3.0
"""As above, while page time is wall time: a polling page is observed as it is."""
ROUND_TRIP_S: Final = 30.0
"""Wall time after which an unresponsive page counts as dead."""
BLOCKED_S: Final = 4.0
"""Wall time after which an unresponsive page counts as waiting for the network."""
UNFINISHED_S: Final = 2.0
"""Wall time after which a document that requests nothing more counts as loaded, though it never fires `load`."""
RESTLESS_S: Final = 0.5
"""Wall time left for each further wait of an action whose pages did not become idle in time."""
CHANGE_S: Final = 0.05
"""Wall time between two checks of what keeps the pages busy, if no event arrives."""
LOOKS: Final = 2
"""Consecutive idle checks required: the second one sees what the first one triggered."""
SAME_MS: Final = 0.5
"""Page time that counts as zero: the clock moves by whole milliseconds."""
REPAINTS: Final = 20
"""How often pages are given a frame, while they settle, to update what lies under the pointer."""


class Rest:
    """Step the clock of a context tick by tick, and wait until its pages are idle after each tick."""

    def __init__(self, clock: PageClock, ledger: PageLedger, tick_ms: float) -> None:
        """Control `clock` in steps of at most `tick_ms`."""
        self._clock = clock
        self._ledger = ledger
        self._tick_ms = tick_ms
        self.agenda: Agenda | None = None
        self.gate = asyncio.Event()
        """Set while responses may be delivered: cleared while an action runs and while the clock moves."""
        self.gate.set()
        self.pending: list[Callable[[], int]] = []
        """Counters of work that is not a request: captures to read, navigations to repeat."""
        self.lines: list[Callable[[], int]] = []
        """Counters of open connections over which a live server can push."""
        self.catch_up: list[Callable[[], Awaitable[None]]] = []
        """Called to collect events that arrive late."""
        self.settles_after: int | None = None
        """After how many of the agent's actions pages are allowed to settle; None if recorded times always apply."""
        self.behind_ms = 0.0
        """Page time by which a replay lags behind its recording because its actions took longer."""
        self.phase = 0
        self.notes: list[str] = []
        self._mark_ms = 0.0
        self._is_over = True
        """Whether the phases of the last action have ended."""
        self._forced = False
        """Whether the barrier was opened by a timeout."""
        self.acts_apart = False
        """Whether locating a target is a phase of its own, as in recordings with the natural clock."""
        self.acted_ms: float | None = None
        """Page time at which the action acted on its target, if that is a phase of its own and was reached."""
        self._patience_s = NATURAL_STALL_S if clock.natural else STALL_S
        """Wall time within which pages must become idle."""
        self.order = 0
        """How many moments were issued."""
        self.in_vain: InVain | None = None
        """Set while the action waits for something that is known not to happen."""
        self._workers = False
        """Whether a page had workers at the last check."""

    @property
    def now_ms(self) -> float:
        """Return the page time since the session began."""
        return self._clock.now_ms

    @property
    def begun_ms(self) -> float:
        """Return the page time at which the action began."""
        return self._mark_ms

    @property
    def used_ms(self) -> float:
        """Return the page time since the action began."""
        return self._clock.now_ms - self._mark_ms

    @property
    def at_work(self) -> bool:
        """Whether work other than a request is pending."""
        return any(count() for count in self.pending)

    @property
    def natural(self) -> bool:
        """Whether page time passes by itself."""
        return self._clock.natural

    def moment(self) -> Moment:
        """Issue the next position in the timeline of a recording."""
        self.order += 1
        return Moment(order=self.order - 1, at_ms=round(self._clock.now_ms), phase=self.phase)

    @property
    def settles(self) -> bool:
        """Whether pages may settle after an action that the agent did not wait for."""
        return self.settles_after is not None and self.phase > self.phases(self.settles_after)

    def phases(self, actions: int) -> int:
        """Return the phase after which this many actions are over."""
        return (ACTING_APART_PHASES if self.acts_apart else ACTION_PHASES) * actions

    def stand_after(self, actions: int) -> None:
        """Move to the phase after this many recorded actions, where a replay omits or inserts some."""
        if self.phase != self.phases(actions):
            self.phase = self.phases(actions) - 1
            self._turn_phase()

    async def begin(self, at_ms: float | None, acts_at_ms: float | None = None) -> None:
        """Begin an action, at the recorded page time if given, after every delivery due before it.

        If the recorded action acted on its target later, at `acts_at_ms`, page time advances to that as well.
        """
        self._patience_s = NATURAL_STALL_S if self._clock.natural else STALL_S
        if at_ms is not None:
            if at_ms + self.behind_ms > self.now_ms or (self.agenda is not None and self.agenda.due()):
                await self._pass(max(0.0, at_ms + self.behind_ms - self.now_ms))
                await self.quiesce()
            self.behind_ms = max(0.0, self.now_ms - at_ms)
        self.mark()
        if acts_at_ms is not None and self.acts_apart:
            await self._pass(max(0.0, acts_at_ms + self.behind_ms - self.now_ms))
            await self.quiesce()

    def mark(self) -> None:
        """Mark the beginning of an action."""
        self._turn_phase()
        self._is_over = False
        self._mark_ms = self._clock.now_ms
        self.acted_ms = None

    def act(self) -> None:
        """Mark that the action acts on its target now; deliveries while locating the target came before it."""
        if self.acts_apart and self.acted_ms is None:
            self.acted_ms = self._clock.now_ms
            self._turn_phase()

    def seen(self) -> None:
        """Mark that the pages were observed: whatever a live server sends from now on belongs after the action."""
        if self.agenda is None:
            self._end_phase()

    def end(self) -> None:
        """End the action; an action that did not act has the same number of phases."""
        self._end_phase()

    def _end_phase(self) -> None:
        if self._is_over:
            return
        self.act()
        self._turn_phase()
        self._is_over = True

    async def settle(self, duration_ms: float) -> None:
        """Let page time pass, and leave the pages idle except for one last check; see `is_calm`."""
        await self.quiesce(looks=LOOKS if duration_ms > SAME_MS else 1)
        await self._pass(duration_ms, looks=1)

    async def is_calm(self) -> bool:
        """Check once more whether pages that seemed idle are idle.

        Anything else evaluated in a page at the same time is answered after this.
        """
        news = self._ledger.news
        seen = await look_at(self._ledger, main_only=True)
        await self.hear()
        complete = self._complete(seen.loading, seen.pending) and not seen.moving
        return complete and not self._busy() and news == self._ledger.news

    async def tick(self, duration_ms: float) -> None:
        """Let a little page time pass for an action that waits, and wait until the pages are idle.

        Takes as much wall time while a live server may push: otherwise page time would end before the server responds.
        """
        end_s = time.monotonic() + duration_ms / 1000
        await self._pass(duration_ms)
        if self.agenda is None and self._is_spoken_to() and (left_s := end_s - time.monotonic()) > 0:
            await asyncio.sleep(left_s)
            await self.quiesce()

    @contextmanager
    def held(self, *, acting: bool = False) -> Iterator[None]:
        """Hold back responses, so that none arrives between the events of an action or of a clock step.

        While page time passes by itself, only `acting` holds anything back. After a timeout, responses are let through
        in case the page waits for one, and a note reports it.
        """
        if self._clock.natural and not acting:
            yield
            return
        self.gate.clear()
        give_up = asyncio.get_running_loop().call_later(BLOCKED_S, self._let_go)
        try:
            yield
        finally:
            give_up.cancel()
            self._forced = False
            self.gate.set()

    def _let_go(self) -> None:
        self._forced = True
        self.gate.set()

    def note_given(self) -> None:
        """Note that something is delivered to a page, and report it if a timeout opened the barrier."""
        if self._forced:
            self._forced = False
            self.notes.append(f"a response arrived during an action or clock step of more than {BLOCKED_S:.0f} s")

    async def may_pass(self, request: Request) -> None:
        """Wait until responses may be delivered, or a document is blocked on this request."""
        standstills = self._ledger.standstills
        while not self.gate.is_set() and request not in standstills:
            waits = {asyncio.ensure_future(self.gate.wait()), asyncio.ensure_future(standstills.wait())}
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
        if request not in standstills:
            self.note_given()

    async def drive(self, task: asyncio.Future[_Loaded]) -> None:
        """Wait for a task that may need recorded responses, such as a page load; the caller handles its result.

        A document does not wait for its scripts' fetches, such as long polls; where one seems to, it gets the response
        in the end.
        """
        blocked_at = time.monotonic() + BLOCKED_S
        while not task.done():
            await asyncio.wait({task}, timeout=None if self.agenda is None else 0.02)
            self._demand_life()
            if task.done() or self.agenda is None:
                continue
            if not self.agenda.held():
                continue
            await self.quiesce()
            if task.done() or not self.agenda.held():
                continue
            if self.agenda.next_ms() is None:
                self.agenda.hurry(fetches=time.monotonic() > blocked_at)
            else:
                await self._tick_once(self._tick_ms)
                await self.quiesce()

    async def quiesce(self, looks: int = LOOKS) -> None:
        """Return when nothing is pending and the pages have nothing left to do at this page time.

        They must be idle this many checks in a row.

        Raises:
            BrowserDiedError: the browser went away.
        """
        calm = repaints = 0
        busy_at = time.monotonic()
        deadline = busy_at + self._patience_s
        while calm < looks:
            self._demand_life()
            if self._busy():
                calm, busy_at = 0, time.monotonic()
                if not await self._change(deadline):
                    self._give_up()
                    return
                continue
            arrived = self._ledger.take_arrival()
            news = self._ledger.news
            seen = await look_at(self._ledger, ARRIVED if arrived else LOOK, main_only=bool(calm) and not arrived)
            self._workers = bool(seen.workers) or (bool(calm) and self._workers)
            if seen.moving and repaints < REPAINTS:
                repaints += 1
                await seen.paint(self._ledger)
            complete = self._complete(seen.loading, seen.pending) and not (seen.moving and repaints < REPAINTS)
            if calm:
                await self.hear()
            calm = calm + 1 if complete and not self._busy() and news == self._ledger.news else 0
            if not complete and time.monotonic() > busy_at + UNFINISHED_S:
                self._ledger.uncommitted.clear()
                await look_at(self._ledger, WAIVE)
            if time.monotonic() > deadline:
                self._note_unrest("the page was still loading, moving or asking for more")
                return

    async def hear(self) -> None:
        """Collect every event that has reached the pages so far."""
        await asyncio.gather(*(each() for each in self.catch_up))

    def _complete(self, loading: bool, pending: int) -> bool:  # noqa: FBT001 - two halves of one check
        """Whether pages wait for nothing but deliveries that are due later."""
        if self._ledger.uncommitted:
            return False
        if self.agenda is None:
            return not loading and not pending
        return (not loading or bool(self.agenda.held())) and pending <= self.agenda.unanswered_fetches()

    async def _pass(self, duration_ms: float, looks: int = LOOKS) -> None:
        """Let page time pass, stopping at each delivery; `looks` is the number of idle checks at the end."""
        end = self._clock.now_ms + duration_ms
        while (left := end - self._clock.now_ms) > SAME_MS:
            await self._tick_once(left)
            await self.quiesce(looks if end - self._clock.now_ms <= SAME_MS else LOOKS)

    async def _tick_once(self, left: float) -> None:
        """Move the clock once; responses wait until it stops."""
        from playwright.async_api import Error

        duration = min(left, self._tick_ms)
        coming = self.agenda.next_ms() if self.agenda is not None else None
        if coming is not None:
            duration = max(1.0, min(duration, coming - self._clock.now_ms))
        try:
            with self.held():
                async with asyncio.timeout(ROUND_TRIP_S):
                    await self._clock.run(duration)
                if self._workers and not self._clock.natural:
                    await look_at(self._ledger, STEP_WORKERS)
        except Error as error:
            if re.search(WENT_AWAY, error.message) is None:
                message = f"could not advance the page clock: {error.message.splitlines()[0]}"
                raise BrowserDiedError(message) from error
        except TimeoutError as error:
            message = f"{duration:.0f} ms of page time took more than {ROUND_TRIP_S:.0f} s; a page may be in a loop"
            raise BrowserDiedError(message) from error
        if self.agenda is not None:
            self.agenda.wake()

    def _turn_phase(self) -> None:
        self.phase += 1
        if self.agenda is not None:
            self.agenda.wake()

    def _busy(self) -> bool:
        if self.at_work or (self.agenda is not None and self.agenda.due()):
            return True
        return any(map(self._waits_for, self._ledger.in_flight))

    def _waits_for(self, request: Request) -> bool:
        """Whether pages count as busy until a request ends."""
        return not (self._ledger.is_stream(request) if self.agenda is None else self.agenda.holds(request))

    def _is_spoken_to(self) -> bool:
        streams = self._ledger.event_streams or any(map(self._ledger.is_stream, self._ledger.in_flight))
        return bool(streams) or any(count() for count in self.lines)

    def _demand_life(self) -> None:
        if self._ledger.fault is not None:
            raise self._ledger.fault
        if self._ledger.crashed:
            message = "a page crashed; the browser cannot go on"
            raise BrowserDiedError(message)

    async def _change(self, deadline: float) -> bool:
        """Wait briefly for an event; return whether there is time for more."""
        self._ledger.changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(CHANGE_S):
                await self._ledger.changed.wait()
        return time.monotonic() < deadline

    def _give_up(self) -> None:
        awaited = tuple(filter(self._waits_for, self._ledger.in_flight))
        if not awaited:
            self._note_unrest("recording or serving network traffic was not finished")
        patience_s, self._patience_s = self._patience_s, RESTLESS_S
        if self._clock.natural:
            return  # what is pending arrives later, as it would for a user who looks now
        for request in awaited:
            self.notes.append(f"no response within {patience_s:g} s: {request.method} {request.url}")
            self._ledger.forget(request)

    def _note_unrest(self, what: str) -> None:
        """Note once per action that pages did not become idle, and wait less from now on."""
        if self._patience_s == STALL_S:
            self.notes.append(f"{what} after {STALL_S:.0f} s")
        self._patience_s = RESTLESS_S
