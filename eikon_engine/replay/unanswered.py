"""Requests without a response in the recording: a debug session blocked them, and replays do too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.divergence.masked_requests import unmasked_keys
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.outcome.outcomes import NetworkOutcome, SubgoalOutcome
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.mask import Mask


def unanswered_notes(recorded: ActionTrace, masks: Sequence[Mask]) -> tuple[str, ...]:
    """Return why a step that matches its recording is still unverifiable."""
    return tuple(
        f"{key} was blocked in the recording because it had no recorded response, so its effect is unknown"
        for key in unmasked_keys(_unanswered_keys(recorded), masks)
    )


def reported_misses(plan: Plan, subgoals: Iterable[SubgoalOutcome]) -> Counter[str]:
    """Count, by key, the requests without a recorded response that the steps of a run report."""
    planned = {(each.subgoal.id, each.step.sequence): each.step for subgoal in plan.subgoals for each in subgoal.steps}
    reported: Counter[str] = Counter()
    for subgoal in subgoals:
        for step in subgoal.steps:
            reported.update(each.observed for each in step.divergences if each.code == "request-not-recorded")
            recorded = planned.get((subgoal.id, step.sequence))
            reported.update(_unanswered_keys(recorded) if isinstance(recorded, ActionTrace) else ())
    return reported


def late_misses(network: NetworkOutcome, reported: Counter[str]) -> tuple[str, ...]:
    """Describe the misses that occurred after the last comparison, so that no step reports them."""
    left, late = Counter(reported), []
    for miss in network.misses:
        if left[miss.key] > 0:
            left[miss.key] -= 1
        else:
            late.append(f"{miss.key}: {miss.reason}. It was blocked after the last action was compared")
    return tuple(late)


def _unanswered_keys(recorded: ActionTrace) -> tuple[str, ...]:
    return () if recorded.baseline is None else recorded.baseline.unanswered
