"""Subgoal events before and after a single replayed step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.replay.steps import subgoal_end, subgoal_start

if TYPE_CHECKING:
    from eikon_engine.outcome.events import Event
    from eikon_engine.replay.plan import Plan, PlannedStep, PlannedSubgoal


def subgoals_around(plan: Plan, step: PlannedStep) -> tuple[list[Event], tuple[PlannedSubgoal, ...]]:
    """Return the events that precede a step, and the subgoals that end with it (its own, and trailing empty ones).

    Empty subgoals are reported before the next subgoal that has steps.
    """
    places = [place for place, subgoal in enumerate(plan.subgoals) if subgoal.steps]
    own = next(place for place in places if step in plan.subgoals[place].steps)
    subgoal = plan.subgoals[own]
    before: list[Event] = []
    if step is subgoal.steps[0]:
        earlier = max((place + 1 for place in places if place < own), default=0)
        for empty in plan.subgoals[earlier:own]:
            before += [subgoal_start(empty), subgoal_end(empty, ())]
        before.append(subgoal_start(subgoal))
    if step is not subgoal.steps[-1]:
        return before, ()
    return before, plan.subgoals[own:] if own == places[-1] else (subgoal,)
