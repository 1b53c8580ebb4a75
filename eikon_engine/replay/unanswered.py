"""Requests that nothing answered when a step was recorded: a debug session blocked them, and a replay does so too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.divergence.masked_requests import compared_keys
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.outcome.outcomes import NetworkOutcome, SubgoalOutcome
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.mask import Mask


def unanswered_notes(recorded: ActionTrace, masks: Sequence[Mask]) -> tuple[str, ...]:
    """Say why a step that shows what was recorded is not verified by that."""
    return tuple(
        f"{key} was blocked when the step was recorded, as no recording knew it: what it leads to is not known"
        for key in compared_keys(_unanswered(recorded), masks)
    )


def misses_told(plan: Plan, subgoals: Iterable[SubgoalOutcome]) -> Counter[str]:
    """Count the requests without a recorded answer that the steps of a run tell of, by their keys."""
    planned = {(each.subgoal.id, each.step.sequence): each.step for subgoal in plan.subgoals for each in subgoal.steps}
    told: Counter[str] = Counter()
    for subgoal in subgoals:
        for step in subgoal.steps:
            told.update(each.observed for each in step.divergences if each.code == "request-not-recorded")
            recorded = planned.get((subgoal.id, step.sequence))
            told.update(_unanswered(recorded) if isinstance(recorded, ActionTrace) else ())
    return told


def late_misses(network: NetworkOutcome, told: Counter[str]) -> tuple[str, ...]:
    """Name what was asked for after the last action was compared, so that no step tells of it."""
    left, late = Counter(told), []
    for miss in network.misses:
        if left[miss.key] > 0:
            left[miss.key] -= 1
        else:
            late.append(f"{miss.key}: {miss.reason}; it was blocked after the last action was compared")
    return tuple(late)


def _unanswered(recorded: ActionTrace) -> tuple[str, ...]:
    return () if recorded.baseline is None else recorded.baseline.unanswered
