"""Sessions in the process of the test: commands are given to the debugger itself, in a real browser."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from eikon_engine.debug.asked_breakpoint import Places
from eikon_engine.debug.commands import Command
from eikon_engine.debug.debugger import Debugger
from eikon_engine.debug.journey import Journey
from eikon_engine.debug.lines import LineOptions, open_lines
from eikon_engine.debug.marking import Marking
from eikon_engine.debug.session_folder import create_session_folder
from eikon_engine.debug.taken_over import take_over, verify
from eikon_engine.debug.timeline_text import render_timeline
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.wall_clock import utc_now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

    from eikon_engine.debug.lines import Lines
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch, CheckpointEntry, Timeline

_COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)


@dataclass(slots=True)
class Driven:
    """A session, and the loop that it runs in."""

    portal: BlockingPortal
    debugger: Debugger

    def __call__(self, kind: str, **fields: object) -> Any:  # noqa: ANN401 - JSON, as tests take it apart
        """Carry out one command, and return its answer."""
        return self.portal.call(self.debugger.do, _COMMANDS.validate_python({"type": kind, **fields}))

    def says(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page says
        """Ask the first page behind the back of the session."""
        page = self.debugger.journey.line.session.page(0)
        assert page is not None
        return self.portal.call(page.evaluate, expression)

    @property
    def timeline(self) -> Timeline:
        """Return branches and checkpoints."""
        return self.debugger.journey.timeline

    @property
    def drawn(self) -> str:
        """Return the timeline as text."""
        return render_timeline(self.timeline, width=None, colour=False)

    def branch(self, name: str) -> Branch:
        """Return one branch."""
        found = self.timeline.branch(name)
        assert found is not None
        return found

    def checkpoint(self, label: str) -> CheckpointEntry:
        """Return one checkpoint by its label."""
        return next(entry for _, entry in self.timeline.checkpoints() if entry.label == label)


@asynccontextmanager
async def driven(
    lines: Lines, trace: Path, parent: Path, marking: Marking | None = None, before: SessionFolder | None = None
) -> AsyncIterator[Debugger]:
    """Begin a session on a bundle."""
    bundle = open_bundle(trace)
    line = await lines.open(bundle)
    folder = create_session_folder(parent, "driven")
    journey = Journey(folder, lines, line, utc_now)
    with EventLog(folder.root, utc_now) as log:
        journey.begin(log)
        if before is not None:
            verify(before, bundle)
            take_over(journey, before)
        yield Debugger(journey, Places.of(line.plan, []), marking or Marking(interval=0))
        await journey.lines.close()


@asynccontextmanager
async def browser_for_lines(trace: Path, parked: int = 0) -> AsyncIterator[Lines]:
    """Run a browser for sessions on one bundle."""
    async with open_lines(open_bundle(trace), LineOptions(parked=parked)) as lines:
        yield lines
