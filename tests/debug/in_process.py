"""A debug session in the test process: the one that `eikon debug start` runs, without its mailbox and its prompt."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eikon_engine.debug.asked_breakpoint import Places
from eikon_engine.debug.debugger import Debugger
from eikon_engine.debug.journey import Journey
from eikon_engine.debug.lines import LineOptions, open_lines
from eikon_engine.debug.marking import Marking
from eikon_engine.debug.recording import give_up_by_hand
from eikon_engine.debug.session_folder import create_session_folder
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.wall_clock import utc_now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from playwright.async_api import Page

    from eikon_engine.debug.commands import Command
    from eikon_engine.outcome.events import Event


@dataclass(frozen=True, slots=True)
class Driven:
    """A session that stands in this process, so that its pages can be acted in without a window."""

    debugger: Debugger
    told: list[Event]
    """Everything that happened."""

    @property
    def journey(self) -> Journey:
        """Return what the session has in hand."""
        return self.debugger.journey

    @property
    def page(self) -> Page:
        """Return its first page."""
        page = self.journey.line.session.page(0)
        assert page is not None
        return page

    async def do(self, command: Command) -> Any:  # noqa: ANN401 - JSON, as tests take it apart
        """Give it a command."""
        return await self.debugger.do(command)

    def events(self, kind: str) -> list[Any]:
        """Return what has happened, of one type."""
        return [event for event in self.told if event.type == kind]


@asynccontextmanager
async def driven(
    parent: Path, trace: Path, *, parked: int = 0, interval: int = 0, name: str = "s1"
) -> AsyncIterator[Driven]:
    """Run a session on a bundle, which stands before its first step."""
    bundle = open_bundle(trace)
    async with open_lines(bundle, LineOptions(parked=parked)) as lines:
        line = await lines.open(bundle)
        journey = Journey(create_session_folder(parent, name), lines, line, utc_now)
        debugger = Debugger(journey, Places.of(line.plan, []), Marking(interval=interval))
        told: list[Event] = []
        with EventLog(journey.folder.root, utc_now, readers=(lambda each: told.append(each.event),)) as log:
            journey.begin(log)
            await debugger.begin(run=False)
            yield Driven(debugger, told)
            await debugger.quit()
            await give_up_by_hand(journey)
            journey.settle()
