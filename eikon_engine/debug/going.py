"""Run a session step by step until something stops it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.debug.marking import after_step, before_step
from eikon_engine.debug.selector_watch import changes, look_for
from eikon_engine.debug.stops import check_after, check_before, hit_event
from eikon_engine.errors import UsageError
from eikon_engine.outcome.debug_events import Resumed

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.debug.commands import NextSubgoal, Resume, RunTo, Step
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.marking import Marking
    from eikon_engine.debug.results import Stand
    from eikon_engine.debug.stops import Hit
    from eikon_engine.outcome.debug_events import PauseReason
    from eikon_engine.outcome.events import Event
    from eikon_engine.replay.plan import PlannedStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What stops a running session, besides breakpoints and the end."""

    command: Resume | Step | NextSubgoal | RunTo
    begun: int
    """Number of steps done at the start."""
    subgoal: str
    """Attempt id of the first step."""

    def is_there(self, journey: Journey) -> bool:
        """Return whether the session reached its goal."""
        planned = journey.line.next
        match self.command.type:
            case "resume":
                return False
            case "step":
                return journey.line.iteration - self.begun >= self.command.count
            case "next_subgoal":
                return planned is not None and planned.subgoal.id != self.subgoal
            case "run_to":
                return journey.line.iteration >= self.command.iteration


def begin_going(journey: Journey, command: Resume | Step | NextSubgoal | RunTo) -> Going:
    """Check that steps remain, and return the stop condition of a run command.

    Raises:
        UsageError: all steps are done, or the target iteration is not ahead.
    """
    line = journey.line
    planned = line.next
    if planned is None:
        message = f"{command.type}: no steps left, all {line.step_count} of {journey.active.name} are done"
        raise UsageError(f"{message}; rewind, or switch to another branch")
    if command.type == "run_to" and not line.iteration < command.iteration <= line.step_count:
        message = f"run-to: expected an iteration from {line.iteration + 1} to {line.step_count}"
        raise UsageError(f"{message}, got {command.iteration}")
    return Going(command=command, begun=line.iteration, subgoal=planned.subgoal.id)


async def go(journey: Journey, going: Going, marking: Marking, is_stopped: Callable[[], bool]) -> Stand:
    """Run steps until the goal, a breakpoint, the end or a pause request; return the final position.

    A breakpoint on the next step stops the session once, unless the command asked for that step. It has not stopped the
    session there yet if the session started, rewound or switched there, or if the breakpoint was added since.
    """
    journey.tell(Resumed(how=going.command.type, branch=journey.active.name, iteration=journey.line.iteration))
    hits = _hits_before(journey)
    if hits and going.command.type != "step":
        return journey.pause("breakpoint", _detail(hits))
    while True:
        planned = journey.line.next
        assert planned is not None  # noqa: S101 - the loop ends at the end
        before = await before_step(journey)
        events = await _step(journey)
        hits = await _hits_after(journey, planned, events)
        await after_step(journey, marking, before, events)
        hits = (*hits, *_hits_before(journey))
        reason = _reason(journey, going, hits, is_stopped=is_stopped())
        if reason is not None:
            return journey.pause(reason, _detail(hits))


def stop_here(journey: Journey) -> Stand | None:
    """Check the breakpoints before the first step of a session that starts running; None if none is hit."""
    hits = _hits_before(journey)
    return journey.pause("breakpoint", _detail(hits)) if hits else None


async def _step(journey: Journey) -> tuple[Event, ...]:
    """Run one step and record its events."""
    events: list[Event] = []
    async for event in journey.advance():
        journey.tell(event)
        events.append(event)
    return tuple(events)


async def _hits_after(journey: Journey, planned: PlannedStep, events: tuple[Event, ...]) -> tuple[Hit, ...]:
    before, table = journey.sightings, journey.table
    if table.selectors:
        journey.sightings = await look_for(journey.line.session, table.selectors)
    return _counted(journey, check_after(table, planned, events, changes(before, journey.sightings)))


def _hits_before(journey: Journey) -> tuple[Hit, ...]:
    planned = journey.line.next
    if planned is None:
        return ()
    found = check_before(journey.table, planned, journey.line.sight.observation)
    hits = tuple(hit for hit in found if (planned.step.id, hit.breakpoint.id) not in journey.stopped_before)
    journey.stopped_before = frozenset((planned.step.id, hit.breakpoint.id) for hit in found)
    return _counted(journey, hits)


def _counted(journey: Journey, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Count the hits in the table and record them as events."""
    journey.table = journey.table.updated(hit.breakpoint for hit in hits)
    for hit in hits:
        journey.tell(hit_event(hit, journey.line.next, journey.line.iteration, journey.active.name))
    return hits


def _reason(journey: Journey, going: Going, hits: tuple[Hit, ...], *, is_stopped: bool) -> PauseReason | None:
    if hits:
        return "breakpoint"
    if journey.line.next is None:
        return "end"
    if going.is_there(journey):
        return "step" if going.command.type == "resume" else going.command.type
    return "user" if is_stopped else None


def _detail(hits: tuple[Hit, ...]) -> str:
    return ", ".join(f"{hit.breakpoint.id} {hit.breakpoint.type}" for hit in hits)
