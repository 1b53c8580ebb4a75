"""Drive a context pool from synchronous tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.missions.counter import ASKED

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from eikon_engine.debug.context_pool import ContextPool, PoolSlot, RestoredContext
    from eikon_engine.debug.history import Evaluation, History
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.outcome.events import Event
    from eikon_engine.trace.bundle import Bundle

WHO = "Ada King, née Byron"
"""The secret name that the mission types."""


@dataclass(slots=True)
class PoolDriver:
    """A context pool, and the event loop that runs it."""

    portal: BlockingPortal
    pool: ContextPool
    bundle: Bundle

    def open(self, bundle: Bundle | None = None) -> ReplayContext:
        """Open a context before its first step."""
        return self.portal.call(self.pool.open, bundle or self.bundle)

    def step(self, context: ReplayContext, until: int | None = None) -> list[Event]:
        """Run the next step, or all up to an iteration; return their events."""
        events: list[Event] = []

        async def go() -> None:
            wanted = context.iteration + 1 if until is None else until
            while context.iteration < wanted:
                async for event in context.advance():
                    events.append(event)  # noqa: PERF401 - a coroutine may be cut off

        self.portal.call(go)
        return events

    def restore(self, history: History, iteration: int) -> RestoredContext:
        """Restore a position."""
        return self.portal.call(self.pool.restore, history, iteration)

    def evaluate(self, context: ReplayContext, expression: str, page: int = 0, frame: str = "") -> Evaluation:
        """Run manual JavaScript."""
        return self.portal.call(context.evaluate, expression, page, frame)

    def park(self, *slots: PoolSlot) -> None:
        """Wait until contexts are parked at these slots."""

        async def park_and_wait() -> None:
            self.pool.parking.start(slots)
            await self.pool.parking.wait()

        self.portal.call(park_and_wait)

    def page_state(self, context: ReplayContext) -> Any:  # noqa: ANN401 - whatever the page returns
        """Return the state of the page's closure without the context noticing."""
        page = context.session.page(0)
        assert page is not None
        return self.portal.call(page.evaluate, ASKED)
