"""Reasons why a branch is not faithful to its recording, whatever its steps show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline import EvaluationEntry, SkippedStepEntry


def describe_doubts(evaluations: Sequence[EvaluationEntry], left_out: Sequence[SkippedStepEntry]) -> tuple[str, ...]:
    """Return the reasons as short phrases: manual JavaScript and skipped steps."""
    doubts: list[str] = []
    if evaluations:
        places = ", ".join(str(place) for place in dict.fromkeys(each.iteration for each in evaluations))
        doubts.append(f"JavaScript was run manually at {places}")
    if left_out:
        doubts.append(f"{pluralize(len(left_out), 'step')} skipped without replacement")
    return tuple(doubts)
