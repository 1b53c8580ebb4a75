"""Lines that stand at checkpoints and wait: going back there takes no steps.

A page at rest whose clock stands does nothing, so that a parked line costs memory, and no time of the machine.
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
"""Wall time for which a session stands still before lines are made: whoever steps on and on is not disturbed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Berth:
    """A place at which a line is wanted."""

    way: Way
    iteration: int

    @property
    def name(self) -> tuple[object, ...]:
        """Return what makes two of them the same place, reached in the same way and found the same there."""
        asked = tuple(each.asked for each in self.way.evaluations if each.iteration <= self.iteration)
        return self.iteration, self.way.key(self.iteration), asked, self.way.seen.get(self.iteration)

    @property
    def is_behind_a_wait(self) -> bool:
        """Say whether JavaScript has to be run on the way there that was not over in time."""
        return any(each.overdue for each in self.way.evaluations if each.iteration <= self.iteration)


class Parking:
    """Keep lines at places, and make them while nothing else goes on; mutable, because it is a running thing."""

    def __init__(self, make: Callable[[Berth], Awaitable[Line]], places: int) -> None:
        """Keep at most as many lines as there are `places`; `make` brings one to a place in a fresh context."""
        self._make = make
        self._places = places
        self._lines: list[Line] = []
        """The least recently used first."""
        self.changed: Callable[[], None] = lambda: None
        """Told where lines wait now, if that may be elsewhere than before."""
        self._making: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._wanted: tuple[Berth, ...] = ()
        self._hopeless: set[tuple[object, ...]] = set()
        self._faults: list[EikonError] = []
        self._close_faults: list[BaseException] = []
        """What went wrong while lines were closed; nobody waits for that before the end."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the lines that wait, the least recently used first."""
        return tuple(self._lines)

    def take_faults(self) -> tuple[EikonError, ...]:
        """Return, once, why lines could not be made; their places are not tried again."""
        faults, self._faults = tuple(self._faults), []
        return faults

    def holds(self, way: Way, iteration: int) -> bool:
        """Say whether a line waits at a place."""
        return any(line.iteration == iteration and leads_to(line, way, iteration) for line in self._lines)

    def begin(self, berths: Sequence[Berth]) -> None:
        """Make lines for the first of these places in the background, as many as there is room for.

        None is brought past JavaScript that was not over in time: it would keep the browser from whoever needs it.
        """
        self._forget_dead()
        self._wanted = tuple(each for each in berths if not each.is_behind_a_wait)[: self._places]
        if self._making is not None and self._making.done():
            self._making.result()
            self._making = None
        if self._making is None and self._wanted:
            self._making = asyncio.ensure_future(self._fill())

    async def made(self) -> None:
        """Wait until nothing is being made any more."""
        if self._making is not None:
            await asyncio.wait({self._making})

    async def end(self) -> None:
        """Make nothing more; a line that was being made is given up."""
        making, self._making = self._making, None
        if making is not None:
            making.cancel()
            await asyncio.wait({making})
            if not making.cancelled():
                making.result()

    def take(self, way: Way, iteration: int) -> Line | None:
        """Give away the line that is nearest before a place of a way; None if there is none."""
        self._forget_dead()
        fitting = [line for line in self._lines if leads_to(line, way, iteration)]
        nearest = max(fitting, key=lambda line: line.iteration, default=None)
        if nearest is not None:
            self._lines.remove(nearest)
            self.changed()
        return nearest

    def add(self, line: Line) -> None:
        """Let a line wait; the least recently used one goes where there are too many.

        One that has left its recording does not: the steps that come next may be known by the time it is needed.
        """
        if line.given is not None:
            self.leave(line)
            return
        self._lines.append(line)
        while len(self._lines) > self._places:
            self.leave(self._lines.pop(0))
        self.changed()

    def leave(self, line: Line) -> None:
        """Close a line in the background."""
        self._end_with(line.close())

    def leave_opened(self, opening: asyncio.Task[Line]) -> None:
        """Close a line in the background as soon as it is open."""
        self._end_with(_closed_late(opening))

    def _end_with(self, closing: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(closing)
        self._leaving.add(task)
        task.add_done_callback(self._left)

    async def close(self) -> None:
        """Close everything that waits."""
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
        """Make the lines that are missing, the first place first."""
        await asyncio.sleep(PARK_AFTER_S)
        tried: set[tuple[object, ...]] = set()
        while (berth := self._missing(tried)) is not None:
            tried.add(berth.name)
            try:
                self.add(await self._make(berth))
            except EikonError as error:
                self._hopeless.add(berth.name)
                self._faults.append(error)
        self.changed()

    def _missing(self, tried: set[tuple[object, ...]]) -> Berth | None:
        """Return the first place at which no line waits; those that do count as used."""
        given_up = self._hopeless | tried
        missing = [berth for berth in self._wanted if not self._touch(berth) and berth.name not in given_up]
        return missing[0] if missing else None

    def _touch(self, berth: Berth) -> bool:
        """Count a line as used, if one waits at a place already; say whether it does."""
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
        return  # there is nothing to close
    await line.close()


def leads_to(line: Line, way: Way, iteration: int) -> bool:
    """Say whether a line stands on a way, not after an iteration, with everything done that was run by hand there."""
    here = line.iteration
    if here > iteration or not line.is_whole or line.key != way.key(here):
        return False
    done = [each.asked for each in line.evaluations]
    wanted = [each.asked for each in way.evaluations if each.iteration <= iteration]
    return wanted[: len(done)] == done and all(each[0] >= here for each in wanted[len(done) :])
