"""Execute the commands of a session: one at a time if they need the pages, immediately otherwise."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from eikon_engine.debug import commands
from eikon_engine.debug.branch_commands import (
    begin_interactive,
    change_branch,
    create_branch,
    delete_branch,
    end_interactive,
    save_branch,
)
from eikon_engine.debug.breakpoint_hits import hit_event, hits_after, hits_before
from eikon_engine.debug.breakpoints import parse_condition
from eikon_engine.debug.checkpoint_policy import after_step, before_step, create_checkpoint, parking_slots
from eikon_engine.debug.checkpoint_policy import delete_checkpoint_by_name as delete_checkpoint
from eikon_engine.debug.inspector import evaluate_in_session, inspect_session, locate_in_session
from eikon_engine.debug.results import BreakpointListing, Position
from eikon_engine.debug.rewind import rewind_session, switch_branch
from eikon_engine.debug.selector_watch import find_changes, read_selectors, require_selector
from eikon_engine.errors import UsageError
from eikon_engine.outcome.debug_events import Resumed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from pydantic import JsonValue

    from eikon_engine.debug.breakpoint_hits import Hit
    from eikon_engine.debug.breakpoints import BreakpointTargets
    from eikon_engine.debug.checkpoint_policy import CheckpointPolicy
    from eikon_engine.debug.commands import NextSubgoal, Resume, RunTo, Step
    from eikon_engine.debug.session import DebugSession
    from eikon_engine.files.models import FileModel
    from eikon_engine.outcome.debug_events import PauseReason
    from eikon_engine.outcome.events import Event
    from eikon_engine.replay.plan import PlannedStep


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUntil:
    """What stops a running session, besides breakpoints and the end."""

    command: Resume | Step | NextSubgoal | RunTo
    start: int
    """Number of steps done at the start."""
    subgoal: str
    """Attempt id of the first step."""

    def is_reached(self, session: DebugSession) -> bool:
        """Return whether the session reached its goal."""
        planned = session.context.next_step
        match self.command.type:
            case "resume":
                return False
            case "step":
                return session.context.iteration - self.start >= self.command.count
            case "next_subgoal":
                return planned is not None and planned.subgoal.id != self.subgoal
            case "run_to":
                return session.context.iteration >= self.command.iteration


def plan_run(session: DebugSession, command: Resume | Step | NextSubgoal | RunTo) -> RunUntil:
    """Check that steps remain, and return the stop condition of a run command.

    Raises:
        UsageError: all steps are done, or the target iteration is not ahead.
    """
    context = session.context
    planned = context.next_step
    if planned is None:
        message = f"{command.type}: no steps left, all {context.step_count} of {session.active_branch.name} are done"
        raise UsageError(f"{message}; rewind, or switch to another branch")
    if command.type == "run_to" and not context.iteration < command.iteration <= context.step_count:
        message = f"run-to: expected an iteration from {context.iteration + 1} to {context.step_count}"
        raise UsageError(f"{message}, got {command.iteration}")
    return RunUntil(command=command, start=context.iteration, subgoal=planned.subgoal.id)


async def run_until(
    session: DebugSession, goal: RunUntil, checkpoint_policy: CheckpointPolicy, is_pause_requested: Callable[[], bool]
) -> Position:
    """Run steps until the goal, a breakpoint, the end or a pause request; return the final position.

    A breakpoint on the next step stops the session once, unless the command asked for that step. It has not stopped the
    session there yet if the session started, rewound or switched there, or if the breakpoint was added since.
    """
    session.record(
        Resumed(how=goal.command.type, branch=session.active_branch.name, iteration=session.context.iteration)
    )
    hits = _hits_before(session)
    if hits and goal.command.type != "step":
        return session.pause("breakpoint", _describe_hits(hits))
    while True:
        planned = session.context.next_step
        assert planned is not None  # noqa: S101 - the loop ends at the end
        before = await before_step(session)
        events = await _run_step(session)
        hits = await _hits_after(session, planned, events)
        await after_step(session, checkpoint_policy, before, events)
        hits = (*hits, *_hits_before(session))
        reason = _reason(session, goal, hits, is_pause_requested=is_pause_requested())
        if reason is not None:
            return session.pause(reason, _describe_hits(hits))


def stop_at_start(session: DebugSession) -> Position | None:
    """Check the breakpoints before the first step of a session that starts running; None if none is hit."""
    hits = _hits_before(session)
    return session.pause("breakpoint", _describe_hits(hits)) if hits else None


async def _run_step(session: DebugSession) -> tuple[Event, ...]:
    """Run one step and record its events."""
    events: list[Event] = []
    async for event in session.advance():
        session.record(event)
        events.append(event)
    return tuple(events)


async def _hits_after(session: DebugSession, planned: PlannedStep, events: tuple[Event, ...]) -> tuple[Hit, ...]:
    before, table = session.selector_matches, session.breakpoints
    if table.selectors:
        session.selector_matches = await read_selectors(session.context.session, table.selectors)
    return _record_hits(session, hits_after(table, planned, events, find_changes(before, session.selector_matches)))


def _hits_before(session: DebugSession) -> tuple[Hit, ...]:
    planned = session.context.next_step
    if planned is None:
        return ()
    found = hits_before(session.breakpoints, planned, session.context.observed.last_observed.observation)
    hits = tuple(hit for hit in found if (planned.step.id, hit.breakpoint.id) not in session.reported_hits)
    session.reported_hits = frozenset((planned.step.id, hit.breakpoint.id) for hit in found)
    return _record_hits(session, hits)


def _record_hits(session: DebugSession, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Count the hits in the table and record them as events."""
    session.breakpoints = session.breakpoints.with_updated(hit.breakpoint for hit in hits)
    for hit in hits:
        session.record(hit_event(hit, session.context.next_step, session.context.iteration, session.active_branch.name))
    return hits


def _reason(
    session: DebugSession, goal: RunUntil, hits: tuple[Hit, ...], *, is_pause_requested: bool
) -> PauseReason | None:
    if hits:
        return "breakpoint"
    if session.context.next_step is None:
        return "end"
    if goal.is_reached(session):
        return "step" if goal.command.type == "resume" else goal.command.type
    return "user" if is_pause_requested else None


def _describe_hits(hits: tuple[Hit, ...]) -> str:
    return ", ".join(f"{hit.breakpoint.id} {hit.breakpoint.type}" for hit in hits)


class CommandExecutor:
    """Execute the commands of one session."""

    def __init__(self, session: DebugSession, targets: BreakpointTargets, checkpoint_policy: CheckpointPolicy) -> None:
        """Start at the session's position. `targets` lists what breakpoints may refer to."""
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
            UsageError: the session is running, and the command needs it paused.
            EikonError: the command failed; the session is unchanged.
        """
        result = await self._execute(command)
        answer: JsonValue = result.model_dump(mode="json")
        return answer

    async def wait_for_pages(self, command: commands.Command) -> None:
        """Wait for earlier commands: from then on the pages show what a command will act on.

        Raises:
            UsageError: the session is running.
        """
        await asyncio.sleep(0)  # an earlier command of the same client may not have started yet
        self._require_paused(command)
        async with self._pages_lock:
            return

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
                position = await change_branch(session, command)
                if not perform:
                    return position
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
            await self.session.pool.parking.stop()
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
            UsageError: the session is running.
        """
        if self.session.interactive_recording is not None and not isinstance(command, commands.BranchRecord):
            message = f"{command.type}: expected a paused session, but an interactive recording is active"
            raise UsageError(f"{message}; run branch record end or branch record discard", code="session-busy")
        if self._running_command is not None:
            step = self.session.context.iteration + 1
            message = f"{command.type}: expected a paused session, but step {step} is running"
            raise UsageError(f"{message}; pause it first", code="session-busy")

    def _prepare_parked_contexts(self) -> None:
        """Start parking contexts at checkpoints while the session is paused."""
        if not self.is_quit and self.session.interactive_recording is None:
            self.session.pool.parking.start(parking_slots(self.session))

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
