"""Drive lines from synchronous tests."""

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
"""The name that the mission types, which is a secret."""


@dataclass(slots=True)
class Desk:
    """A browser with lines, and the loop that it runs in."""

    portal: BlockingPortal
    lines: ContextPool
    bundle: Bundle

    def open(self, bundle: Bundle | None = None) -> ReplayContext:
        """Open a line before its first step."""
        return self.portal.call(self.lines.open, bundle or self.bundle)

    def step(self, line: ReplayContext, until: int | None = None) -> list[Event]:
        """Do the next step, or all until so many are done; return what was told."""
        told: list[Event] = []

        async def go() -> None:
            wanted = line.iteration + 1 if until is None else until
            while line.iteration < wanted:
                async for event in line.advance():
                    told.append(event)  # noqa: PERF401 - a coroutine may be cut off

        self.portal.call(go)
        return told

    def at(self, way: History, iteration: int) -> RestoredContext:
        """Bring a line to a place."""
        return self.portal.call(self.lines.restore, way, iteration)

    def evaluate(self, line: ReplayContext, expression: str, page: int = 0, frame: str = "") -> Evaluation:
        """Run JavaScript by hand."""
        return self.portal.call(line.evaluate, expression, page, frame)

    def park(self, *berths: PoolSlot) -> None:
        """Stand still until lines wait at these places."""

        async def stand() -> None:
            self.lines.start_parking(berths)
            await self.lines.wait_until_parked()

        self.portal.call(stand)

    def asked(self, line: ReplayContext) -> Any:  # noqa: ANN401 - whatever the page says
        """Ask the page for the state of its closure, behind the back of the line."""
        page = line.session.page(0)
        assert page is not None
        return self.portal.call(page.evaluate, ASKED)
