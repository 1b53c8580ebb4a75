"""Contexts parked at checkpoints: rewinding there runs no steps.

An idle page with a paused clock does nothing, so a parked context costs memory but no processor time.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from eikon_engine.debug.line import Line
    from eikon_engine.debug.way import Way

PARK_AFTER_S: Final = 0.2
"""Wall time a session must be paused before contexts are parked, so that fast stepping is not slowed down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Berth:
    """A position at which to park a context."""

    way: Way
    iteration: int

    @property
    def name(self) -> tuple[object, ...]:
        """Return what identifies the slot: its position, the history to it and the state there."""
        asked = tuple(each.asked for each in self.way.evaluations if each.iteration <= self.iteration)
        return self.iteration, self.way.key(self.iteration), asked, self.way.seen.get(self.iteration)

    @property
    def is_behind_a_wait(self) -> bool:
        """Return whether JavaScript that timed out must be repeated to get there."""
        return any(each.overdue for each in self.way.evaluations if each.iteration <= self.iteration)


class Parking:
    """Parked contexts, created while the session is paused."""

    def __init__(self, make: Callable[[Berth], Awaitable[Line]], places: int) -> None:
        """Park at most `places` contexts; `make` brings a new context to a slot."""
        self._make = make
        self._places = places
        self._lines: list[Line] = []
        """Least recently used first."""
        self.changed: Callable[[], None] = lambda: None
        """Called when the set of parked contexts may have changed."""
        self._making: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._wanted: tuple[Berth, ...] = ()
        self._hopeless: set[tuple[object, ...]] = set()
        self._faults: list[EikonError] = []
        self._close_faults: list[BaseException] = []
        """Errors from closing contexts in the background; raised at the end."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the parked contexts, least recently used first."""
        return tuple(self._lines)

    def take_faults(self) -> tuple[EikonError, ...]:
        """Return, once, why contexts could not be parked; their slots are not tried again."""
        faults, self._faults = tuple(self._faults), []
        return faults

    def holds(self, way: Way, iteration: int) -> bool:
        """Return whether a context is parked at a position."""
        return any(line.iteration == iteration and leads_to(line, way, iteration) for line in self._lines)

    def begin(self, berths: Sequence[Berth]) -> None:
        """Park contexts at the first of these slots in the background, up to the capacity.

        Slots behind JavaScript that timed out are skipped; repeating it would block the browser.
        """
        self._forget_dead()
        self._wanted = tuple(each for each in berths if not each.is_behind_a_wait)[: self._places]
        if self._making is not None and self._making.done():
            self._making.result()
            self._making = None
        if self._making is None and self._wanted:
            self._making = asyncio.ensure_future(self._fill())

    async def made(self) -> None:
        """Wait until no context is being created."""
        if self._making is not None:
            await asyncio.wait({self._making})

    async def end(self) -> None:
        """Stop creating contexts; an unfinished one is closed."""
        making, self._making = self._making, None
        if making is not None:
            making.cancel()
            await asyncio.wait({making})
            if not making.cancelled():
                making.result()

    def take(self, way: Way, iteration: int) -> Line | None:
        """Remove and return the parked context nearest before a position; None if there is none."""
        self._forget_dead()
        fitting = [line for line in self._lines if leads_to(line, way, iteration)]
        nearest = max(fitting, key=lambda line: line.iteration, default=None)
        if nearest is not None:
            self._lines.remove(nearest)
            self.changed()
        return nearest

    def add(self, line: Line) -> None:
        """Park a context; close the least recently used one if there are too many.

        A context that left its recording is closed: its next steps may be known by the time it is needed.
        """
        if line.given is not None:
            self.leave(line)
            return
        self._lines.append(line)
        while len(self._lines) > self._places:
            self.leave(self._lines.pop(0))
        self.changed()

    def leave(self, line: Line) -> None:
        """Close a context in the background."""
        self._end_with(line.close())

    def leave_opened(self, opening: asyncio.Task[Line]) -> None:
        """Close a context in the background as soon as it is open."""
        self._end_with(_closed_late(opening))

    def _end_with(self, closing: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(closing)
        self._leaving.add(task)
        task.add_done_callback(self._left)

    async def close(self) -> None:
        """Close all parked contexts."""
        await self.end()
        while self._lines:
            self.leave(self._lines.pop())
        self.changed()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        faults, self._close_faults = self._close_faults, []
        if faults:
            raise faults[0]

    def _left(self, task: asyncio.Task[None]) -> None:
        self._leaving.discard(task)
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            self._close_faults.append(fault)

    async def _fill(self) -> None:
        """Create the missing contexts in order of priority."""
        await asyncio.sleep(PARK_AFTER_S)
        tried: set[tuple[object, ...]] = set()
        while (slot := self._missing(tried)) is not None:
            tried.add(slot.name)
            try:
                self.add(await self._make(slot))
            except EikonError as error:
                self._hopeless.add(slot.name)
                self._faults.append(error)
        self.changed()

    def _missing(self, tried: set[tuple[object, ...]]) -> Berth | None:
        """Return the first slot without a context; contexts at wanted slots count as used."""
        given_up = self._hopeless | tried
        missing = [slot for slot in self._wanted if not self._touch(slot) and slot.name not in given_up]
        return missing[0] if missing else None

    def _touch(self, berth: Berth) -> bool:
        """Mark a context parked at a slot as recently used; return whether there is one."""
        here = next(
            (
                each
                for each in self._lines
                if each.iteration == berth.iteration and leads_to(each, berth.way, berth.iteration)
            ),
            None,
        )
        if here is not None:
            self._lines.remove(here)
            self._lines.append(here)
        return here is not None

    def _forget_dead(self) -> None:
        dead = [each for each in self._lines if not each.is_whole]
        for line in dead:
            self._lines.remove(line)
            self.leave(line)
        if dead:
            self.changed()


async def _closed_late(opening: asyncio.Task[Line]) -> None:
    try:
        line = await opening
    except EikonError:
        return  # nothing to close
    await line.close()


def leads_to(line: Line, way: Way, iteration: int) -> bool:
    """Return whether a context is on a history, not past an iteration, with all its manual JavaScript done."""
    here = line.iteration
    if here > iteration or not line.is_whole or line.key != way.key(here):
        return False
    done = [each.asked for each in line.evaluations]
    wanted = [each.asked for each in way.evaluations if each.iteration <= iteration]
    return wanted[: len(done)] == done and all(each[0] >= here for each in wanted[len(done) :])
