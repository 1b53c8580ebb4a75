"""Run a session step by step until something stops it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.debug.marking import after_step, before_step
from eikon_engine.debug.selector_watch import find_changes, read_selectors
from eikon_engine.debug.stops import hit_event, hits_after, hits_before
from eikon_engine.errors import UsageError
from eikon_engine.outcome.debug_events import Resumed

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.debug.commands import NextSubgoal, Resume, RunTo, Step
    from eikon_engine.debug.journey import DebugSession
    from eikon_engine.debug.marking import CheckpointPolicy
    from eikon_engine.debug.results import Position
    from eikon_engine.debug.stops import Hit
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
    line = session.context
    planned = line.next_step
    if planned is None:
        message = f"{command.type}: no steps left, all {line.step_count} of {session.active_branch.name} are done"
        raise UsageError(f"{message}; rewind, or switch to another branch")
    if command.type == "run_to" and not line.iteration < command.iteration <= line.step_count:
        message = f"run-to: expected an iteration from {line.iteration + 1} to {line.step_count}"
        raise UsageError(f"{message}, got {command.iteration}")
    return RunUntil(command=command, start=line.iteration, subgoal=planned.subgoal.id)


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
    found = hits_before(session.breakpoints, planned, session.context.last_observed.observation)
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
