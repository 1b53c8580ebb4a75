"""Execute commands on a session: one at a time if they need the pages, immediately otherwise."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from eikon_engine.debug import commands
from eikon_engine.debug.asked_breakpoint import parse_condition
from eikon_engine.debug.branching import change_branch as change_branch
from eikon_engine.debug.branching import create_branch as create_branch
from eikon_engine.debug.branching import delete_branch as delete_branch
from eikon_engine.debug.going import plan_run, run_until, stop_at_start
from eikon_engine.debug.looking import evaluate_in_session, inspect_session, locate_in_session
from eikon_engine.debug.marking import create_checkpoint as create_checkpoint
from eikon_engine.debug.marking import delete_checkpoint_by_name as delete_checkpoint
from eikon_engine.debug.marking import parking_slots
from eikon_engine.debug.recording import begin_interactive, end_interactive
from eikon_engine.debug.results import BreakpointListing, Position
from eikon_engine.debug.saving import save_branch
from eikon_engine.debug.selector_watch import require_selector
from eikon_engine.debug.travelling import rewind_session, switch_branch
from eikon_engine.errors import SessionBusyError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pydantic import JsonValue

    from eikon_engine.debug.asked_breakpoint import BreakpointTargets
    from eikon_engine.debug.journey import DebugSession
    from eikon_engine.debug.marking import CheckpointPolicy
    from eikon_engine.trace.record import FileModel


class CommandExecutor:
    """Execute the commands of one session."""

    def __init__(self, session: DebugSession, targets: BreakpointTargets, checkpoint_policy: CheckpointPolicy) -> None:
        """Start at the session's position. `places` lists what breakpoints may refer to."""
        self.session = session
        self._targets = targets
        self._checkpoint_policy = checkpoint_policy
        self._pages_lock = asyncio.Lock()
        self._running_command: str | None = None
        """Type of the command that runs steps; None while the session is paused."""
        self._is_pause_requested = False
        self._paused = asyncio.Event()
        self._paused.set()
        self.is_quit = False
        """Whether the user ended the session."""

    async def execute(self, command: commands.Command) -> JsonValue:
        """Execute a command and return its result.

        Raises:
            SessionBusyError: the session is running, and the command needs it paused.
            EikonError: the command failed; the session is unchanged.
        """
        result = await self._execute(command)
        answer: JsonValue = result.model_dump(mode="json")
        return answer

    async def begin(self, *, run: bool) -> None:
        """Pause before the first step, or run until something stops the session."""
        if run and stop_at_start(self.session) is None:
            await self.execute(commands.Resume())
            return
        if not run:
            self.session.pause("start")
        self._prepare_parked_contexts()

    async def quit(self) -> Position:
        """Stop before the next step; no command runs steps from then on."""
        self.is_quit = True
        self._is_pause_requested = True
        await self._paused.wait()
        return self.session.position

    async def _execute(self, command: commands.Command) -> FileModel:  # noqa: PLR0911 - one case a kind
        match command:
            case commands.Pause():
                self._is_pause_requested = not self._paused.is_set()
                await self._paused.wait()
                return self.session.position
            case commands.Quit():
                return await self.quit()
            case commands.Resume() | commands.Step() | commands.NextSubgoal() | commands.RunTo():
                return await self._run(command)
            case commands.BreakpointList():
                return self._breakpoint_list()
            case commands.BreakpointChange() | commands.BreakpointClear():
                return self._change_breakpoints(command)
            case commands.BreakpointAdd() if command.on != "selector":
                self.session.breakpoints = self.session.breakpoints.add(
                    parse_condition(command, self._current_targets())
                )[0]
                return self._breakpoint_list()
            case _:
                self._require_paused(command)
                async with self._exclusive_pages():
                    return await self._execute_paused(command)

    async def _execute_paused(self, command: commands.PausedCommand) -> FileModel:  # noqa: PLR0911 - as above
        session = self.session
        match command:
            case commands.BreakpointAdd():
                await require_selector(session.context.session, str(command.value or ""))
                session.breakpoints = session.breakpoints.add(parse_condition(command, self._current_targets()))[0]
                await session.update_selector_matches()
                return self._breakpoint_list()
            case commands.Inspect():
                return await inspect_session(session, command)
            case commands.Locate():
                return await locate_in_session(session, command)
            case commands.Evaluate():
                return await evaluate_in_session(session, command)
            case commands.CheckpointCreate(label=label):
                return await create_checkpoint(session, label)
            case commands.CheckpointDelete(checkpoint=name):
                return delete_checkpoint(session, name)
            case commands.Rewind():
                return await rewind_session(session, command)
            case commands.BranchSwitch():
                return await switch_branch(session, command)
            case _:
                return await self._execute_branch(command)

    async def _execute_branch(self, command: commands.BranchCommand) -> FileModel:  # noqa: PLR0911 - as above
        session = self.session
        match command:
            case commands.BranchCreate():
                return await create_branch(session, command)
            case commands.BranchDelete():
                return delete_branch(session, command)
            case commands.BranchEdit() | commands.BranchSkip():
                return await change_branch(session, command)
            case commands.BranchInsert(perform=perform):
                stand = await change_branch(session, command)
                if not perform:
                    return stand
                with self._running(command):
                    return await self._run_steps(commands.Step(count=session.last_inserted - session.context.iteration))
            case commands.BranchRecord(change="begin"):
                return await begin_interactive(session, command)
            case commands.BranchRecord(change=change):
                count = await end_interactive(session, keep_actions=change == "end")
                if not count:
                    return session.pause("branch", "restored to before the interactive recording")
                with self._running(command):
                    return await self._run_steps(commands.Step(count=count))
            case commands.BranchSave():
                return await save_branch(session, command)
            case _:
                assert_never(command)

    async def _run(self, command: commands.RunCommand) -> Position:
        self._require_paused(command)
        with self._running(command):
            async with self._exclusive_pages():
                return await self._run_steps(command)

    async def _run_steps(self, command: commands.RunCommand) -> Position:
        goal = plan_run(self.session, command)
        return await run_until(self.session, goal, self._checkpoint_policy, lambda: self._is_pause_requested)

    @asynccontextmanager
    async def _exclusive_pages(self) -> AsyncIterator[None]:
        """Hold the pages exclusively, after all earlier commands."""
        async with self._pages_lock:
            await self.session.pool.stop_parking()
            yield
            self._prepare_parked_contexts()

    @contextmanager
    def _running(self, command: commands.Command) -> Iterator[None]:
        """Reject commands that need a paused session until the block ends."""
        self._running_command, self._is_pause_requested = command.type, self.is_quit
        self._paused.clear()
        try:
            yield
        finally:
            self._running_command = None
            self._paused.set()

    def _require_paused(self, command: commands.Command) -> None:
        """Check that the session is paused.

        Raises:
            SessionBusyError: the session is running.
        """
        if self.session.interactive_recording is not None and not isinstance(command, commands.BranchRecord):
            message = f"{command.type}: expected a paused session, but an interactive recording is active"
            raise SessionBusyError(f"{message}; run branch record end or branch record discard")
        if self._running_command is not None:
            step = self.session.context.iteration + 1
            message = f"{command.type}: expected a paused session, but step {step} is running"
            raise SessionBusyError(f"{message}; pause it first")

    def _prepare_parked_contexts(self) -> None:
        """Start parking contexts at checkpoints while the session is paused."""
        if not self.is_quit and self.session.interactive_recording is None:
            self.session.pool.start_parking(parking_slots(self.session))

    def _change_breakpoints(self, command: commands.BreakpointChange | commands.BreakpointClear) -> BreakpointListing:
        table = self.session.breakpoints
        if isinstance(command, commands.BreakpointClear):
            self.session.breakpoints = table.clear()
        else:
            change = {"remove": table.remove, "enable": table.enable, "disable": table.disable}[command.change]
            self.session.breakpoints = change(command.id)
        return self._breakpoint_list()

    def _current_targets(self) -> BreakpointTargets:
        """Return what breakpoints may refer to, with the steps of the longest branch."""
        longest = max(branch.step_count for branch in self.session.timeline.branches)
        return replace(self._targets, iterations=max(self._targets.iterations, longest))

    def _breakpoint_list(self) -> BreakpointListing:
        return BreakpointListing(breakpoints=tuple(each.listing for each in self.session.breakpoints.breakpoints))
