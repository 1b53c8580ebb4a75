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

    from eikon_engine.debug.line import ReplayContext
    from eikon_engine.debug.way import History

PARK_DELAY_S: Final = 0.2
"""Wall time a session must be paused before contexts are parked, so that fast stepping is not slowed down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSlot:
    """A position at which to park a context."""

    history: History
    iteration: int

    @property
    def key(self) -> tuple[object, ...]:
        """Return what identifies the slot: its position, the history to it and the state there."""
        asked = tuple(each.identity for each in self.history.evaluations if each.iteration <= self.iteration)
        return self.iteration, self.history.key(self.iteration), asked, self.history.digests.get(self.iteration)

    @property
    def has_overdue_evaluation(self) -> bool:
        """Return whether JavaScript that timed out must be repeated to get there."""
        return any(each.overdue for each in self.history.evaluations if each.iteration <= self.iteration)


class ParkedContexts:
    """Parked contexts, created while the session is paused."""

    def __init__(self, restore: Callable[[PoolSlot], Awaitable[ReplayContext]], capacity: int) -> None:
        """Park at most `places` contexts; `make` brings a new context to a slot."""
        self._restore = restore
        self._capacity = capacity
        self._contexts: list[ReplayContext] = []
        """Least recently used first."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when the set of parked contexts may have changed."""
        self._fill_task: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._wanted: tuple[PoolSlot, ...] = ()
        self._failed_slots: set[tuple[object, ...]] = set()
        self._errors: list[EikonError] = []
        self._close_errors: list[BaseException] = []
        """Errors from closing contexts in the background; raised at the end."""

    @property
    def contexts(self) -> tuple[ReplayContext, ...]:
        """Return the parked contexts, least recently used first."""
        return tuple(self._contexts)

    def take_errors(self) -> tuple[EikonError, ...]:
        """Return, once, why contexts could not be parked; their slots are not tried again."""
        faults, self._errors = tuple(self._errors), []
        return faults

    def has_context_at(self, history: History, iteration: int) -> bool:
        """Return whether a context is parked at a position."""
        return any(line.iteration == iteration and is_on_history(line, history, iteration) for line in self._contexts)

    def start(self, slots: Sequence[PoolSlot]) -> None:
        """Park contexts at the first of these slots in the background, up to the capacity.

        Slots behind JavaScript that timed out are skipped; repeating it would block the browser.
        """
        self._discard_unusable()
        self._wanted = tuple(each for each in slots if not each.has_overdue_evaluation)[: self._capacity]
        if self._fill_task is not None and self._fill_task.done():
            self._fill_task.result()
            self._fill_task = None
        if self._fill_task is None and self._wanted:
            self._fill_task = asyncio.ensure_future(self._fill())

    async def wait(self) -> None:
        """Wait until no context is being created."""
        if self._fill_task is not None:
            await asyncio.wait({self._fill_task})

    async def stop(self) -> None:
        """Stop creating contexts; an unfinished one is closed."""
        making, self._fill_task = self._fill_task, None
        if making is not None:
            making.cancel()
            await asyncio.wait({making})
            if not making.cancelled():
                making.result()

    def take(self, history: History, iteration: int) -> ReplayContext | None:
        """Remove and return the parked context nearest before a position; None if there is none."""
        self._discard_unusable()
        fitting = [line for line in self._contexts if is_on_history(line, history, iteration)]
        nearest = max(fitting, key=lambda line: line.iteration, default=None)
        if nearest is not None:
            self._contexts.remove(nearest)
            self.on_change()
        return nearest

    def add(self, context: ReplayContext) -> None:
        """Park a context; close the least recently used one if there are too many.

        A context that left its recording is closed: its next steps may be known by the time it is needed.
        """
        if context.on_request_serving is not None:
            self.discard(context)
            return
        self._contexts.append(context)
        while len(self._contexts) > self._capacity:
            self.discard(self._contexts.pop(0))
        self.on_change()

    def discard(self, context: ReplayContext) -> None:
        """Close a context in the background."""
        self._close_in_background(context.close())

    def discard_when_open(self, opening: asyncio.Task[ReplayContext]) -> None:
        """Close a context in the background as soon as it is open."""
        self._close_in_background(_close_when_open(opening))

    def _close_in_background(self, closing: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(closing)
        self._closing.add(task)
        task.add_done_callback(self._on_closed)

    async def close(self) -> None:
        """Close all parked contexts."""
        await self.stop()
        while self._contexts:
            self.discard(self._contexts.pop())
        self.on_change()
        await asyncio.gather(*self._closing, return_exceptions=True)
        faults, self._close_errors = self._close_errors, []
        if faults:
            raise faults[0]

    def _on_closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            self._close_errors.append(fault)

    async def _fill(self) -> None:
        """Create the missing contexts in order of priority."""
        await asyncio.sleep(PARK_DELAY_S)
        tried: set[tuple[object, ...]] = set()
        while (slot := self._next_slot(tried)) is not None:
            tried.add(slot.key)
            try:
                self.add(await self._restore(slot))
            except EikonError as error:
                self._failed_slots.add(slot.key)
                self._errors.append(error)
        self.on_change()

    def _next_slot(self, tried: set[tuple[object, ...]]) -> PoolSlot | None:
        """Return the first slot without a context; contexts at wanted slots count as used."""
        given_up = self._failed_slots | tried
        missing = [slot for slot in self._wanted if not self._mark_used(slot) and slot.key not in given_up]
        return missing[0] if missing else None

    def _mark_used(self, slot: PoolSlot) -> bool:
        """Mark a context parked at a slot as recently used; return whether there is one."""
        here = next(
            (
                each
                for each in self._contexts
                if each.iteration == slot.iteration and is_on_history(each, slot.history, slot.iteration)
            ),
            None,
        )
        if here is not None:
            self._contexts.remove(here)
            self._contexts.append(here)
        return here is not None

    def _discard_unusable(self) -> None:
        dead = [each for each in self._contexts if not each.is_usable]
        for line in dead:
            self._contexts.remove(line)
            self.discard(line)
        if dead:
            self.on_change()


async def _close_when_open(opening: asyncio.Task[ReplayContext]) -> None:
    try:
        line = await opening
    except EikonError:
        return  # nothing to close
    await line.close()


def is_on_history(context: ReplayContext, history: History, iteration: int) -> bool:
    """Return whether a context is on a history, not past an iteration, with all its manual JavaScript done."""
    here = context.iteration
    if here > iteration or not context.is_usable or context.history_key != history.key(here):
        return False
    done = [each.identity for each in context.evaluations]
    wanted = [each.identity for each in history.evaluations if each.iteration <= iteration]
    return wanted[: len(done)] == done and all(each[0] >= here for each in wanted[len(done) :])
