"""What keeps a way from being faithful to its recording, whatever its steps show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline import EvaluationEntry, LeftOutEntry


def doubts_of(evaluations: Sequence[EvaluationEntry], left_out: Sequence[LeftOutEntry]) -> tuple[str, ...]:
    """Say what was run by hand, and how much was left out, in a few words each."""
    doubts: list[str] = []
    if evaluations:
        places = ", ".join(str(place) for place in dict.fromkeys(each.iteration for each in evaluations))
        doubts.append(f"JavaScript was run by hand at {places}")
    if left_out:
        doubts.append(f"{counted(len(left_out), 'step')} left out, with nothing done instead")
    return tuple(doubts)
