"""A debug session in the test process: the one that `eikon debug start` runs, without its mailbox and its prompt."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from eikon_engine.debug.branch_commands import abort_interactive
from eikon_engine.debug.breakpoints import BreakpointTargets
from eikon_engine.debug.checkpointing import CheckpointPolicy
from eikon_engine.debug.commands import Command
from eikon_engine.debug.context_pool import ContextOptions, open_context_pool
from eikon_engine.debug.earlier_session import import_session, require_same_mission
from eikon_engine.debug.executor import CommandExecutor
from eikon_engine.debug.session import DebugSession
from eikon_engine.debug.session_folder import create_session_folder
from eikon_engine.debug.timeline_text import render_timeline_text
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal
    from playwright.async_api import Page

    from eikon_engine.debug.context_pool import ContextPool
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch, CheckpointEntry, Timeline
    from eikon_engine.outcome.events import Event

_COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)


@dataclass(frozen=True, slots=True)
class Driven:
    """A session that stands in this process, so that its pages can be acted in without a window."""

    debugger: CommandExecutor
    told: list[Event]
    """Everything that happened."""

    @property
    def journey(self) -> DebugSession:
        """Return what the session has in hand."""
        return self.debugger.session

    @property
    def page(self) -> Page:
        """Return its first page."""
        page = self.journey.context.session.page(0)
        assert page is not None
        return page

    async def do(self, command: Command) -> Any:  # noqa: ANN401 - JSON, as tests take it apart
        """Give it a command."""
        return await self.debugger.execute(command)

    def events(self, kind: str) -> list[Any]:
        """Return what has happened, of one type."""
        return [event for event in self.told if event.type == kind]


@dataclass(frozen=True, slots=True)
class Outside:
    """A session, driven from a thread that has no loop."""

    portal: BlockingPortal
    inside: Driven

    def __call__(self, kind: str, **fields: object) -> Any:  # noqa: ANN401 - JSON, as tests take it apart
        """Carry out one command, and return its answer."""
        return self.portal.call(self.inside.do, _COMMANDS.validate_python({"type": kind, **fields}))

    def says(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page says
        """Ask the first page behind the back of the session."""
        return self.portal.call(self.inside.page.evaluate, expression)

    @property
    def timeline(self) -> Timeline:
        """Return branches and checkpoints."""
        return self.inside.journey.timeline

    @property
    def drawn(self) -> str:
        """Return the timeline as text."""
        return render_timeline_text(self.timeline, width=None, colour=False)

    def branch(self, name: str) -> Branch:
        """Return one branch."""
        found = self.timeline.find_branch(name)
        assert found is not None
        return found

    def checkpoint(self, label: str) -> CheckpointEntry:
        """Return one checkpoint by its label."""
        return next(entry for _, entry in self.timeline.checkpoints() if entry.label == label)


@asynccontextmanager
async def browser_for_lines(trace: Path, parked: int = 0) -> AsyncIterator[ContextPool]:
    """Run a browser for sessions on one bundle."""
    async with open_context_pool(open_bundle(trace), ContextOptions(parked=parked)) as lines:
        yield lines


@asynccontextmanager
async def driven(
    parent: Path,
    trace: Path,
    *,
    parked: int = 0,
    interval: int = 0,
    lines: ContextPool | None = None,
    before: SessionFolder | None = None,
) -> AsyncIterator[Driven]:
    """Run a session `s1` on a bundle, which stands before its first step.

    It has a browser of its own unless `lines` are given, and begins with what there is of `before`.
    """
    bundle = open_bundle(trace)
    async with AsyncExitStack() as ending:
        if lines is None:
            lines = await ending.enter_async_context(open_context_pool(bundle, ContextOptions(parked=parked)))
        else:
            ending.push_async_callback(lines.close)
        line = await lines.open(bundle)
        journey = DebugSession(create_session_folder(parent, "s1"), lines, line, utc_now)
        debugger = CommandExecutor(
            journey, BreakpointTargets.from_plan(line.plan, []), CheckpointPolicy(interval=interval)
        )
        told: list[Event] = []
        with EventLog(journey.folder.root, utc_now, readers=(lambda each: told.append(each.event),)) as log:
            journey.begin(log)
            if before is not None:
                require_same_mission(before, bundle)
                import_session(journey, before)
            await debugger.begin(run=False)
            yield Driven(debugger, told)
            await debugger.quit()
            await abort_interactive(journey)
            journey.finish_branch_step()
