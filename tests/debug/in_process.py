"""A debug session in the test process: that of `eikon debug start`, without its socket and prompt."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from eikon_engine.debug.branch_commands import abort_interactive
from eikon_engine.debug.breakpoints import BreakpointTargets
from eikon_engine.debug.checkpoint_policy import CheckpointPolicy
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
class InProcessSession:
    """A session in this process, whose pages are accessible without a window."""

    executor: CommandExecutor
    recorded_events: list[Event]
    """All events."""

    @property
    def debug_session(self) -> DebugSession:
        """Return the session."""
        return self.executor.session

    @property
    def page(self) -> Page:
        """Return its first page."""
        page = self.debug_session.context.session.page(0)
        assert page is not None
        return page

    async def do(self, command: Command) -> Any:  # noqa: ANN401 - JSON
        """Execute a command."""
        return await self.executor.execute(command)

    def events(self, kind: str) -> list[Any]:
        """Return the recorded events of one type."""
        return [event for event in self.recorded_events if event.type == kind]


@dataclass(frozen=True, slots=True)
class SyncSession:
    """A session, driven from a thread without an event loop."""

    portal: BlockingPortal
    inner: InProcessSession

    def __call__(self, kind: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
        """Execute one command, and return its result."""
        return self.portal.call(self.inner.do, _COMMANDS.validate_python({"type": kind, **fields}))

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page returns
        """Evaluate JavaScript in the first page without the session noticing."""
        return self.portal.call(self.inner.page.evaluate, expression)

    @property
    def timeline(self) -> Timeline:
        """Return its timeline."""
        return self.inner.debug_session.timeline

    @property
    def timeline_text(self) -> str:
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
async def shared_context_pool(trace: Path, parked: int = 0) -> AsyncIterator[ContextPool]:
    """Open a context pool for several sessions on one bundle."""
    async with open_context_pool(open_bundle(trace), ContextOptions(parked=parked)) as pool:
        yield pool


@asynccontextmanager
async def in_process_session(
    parent: Path,
    trace: Path,
    *,
    parked: int = 0,
    interval: int = 0,
    pool: ContextPool | None = None,
    before: SessionFolder | None = None,
) -> AsyncIterator[InProcessSession]:
    """Run a session `s1` on a bundle, paused before its first step.

    It has a browser of its own unless `lines` are given, and begins with what there is of `before`.
    """
    bundle = open_bundle(trace)
    async with AsyncExitStack() as stack:
        if pool is None:
            pool = await stack.enter_async_context(open_context_pool(bundle, ContextOptions(parked=parked)))
        else:
            stack.push_async_callback(pool.close)
        context = await pool.open(bundle)
        debug_session = DebugSession(create_session_folder(parent, "s1"), pool, context, utc_now)
        executor = CommandExecutor(
            debug_session, BreakpointTargets.from_plan(context.plan, []), CheckpointPolicy(interval=interval)
        )
        recorded_events: list[Event] = []
        with EventLog(
            debug_session.folder.root, utc_now, readers=(lambda each: recorded_events.append(each.event),)
        ) as log:
            debug_session.begin(log)
            if before is not None:
                require_same_mission(before, bundle)
                import_session(debug_session, before)
            await executor.begin(run=False)
            yield InProcessSession(executor, recorded_events)
            await executor.quit()
            await abort_interactive(debug_session)
            debug_session.finish_branch_step()
