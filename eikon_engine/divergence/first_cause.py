"""Find and explain the first step of a replay that diverged, and list the divergences that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.divergence.because import find_related_changes
from eikon_engine.divergence.causes import DivergenceCase
from eikon_engine.divergence.explain import explain_divergence
from eikon_engine.outcome.explanation import Consequence
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.explanation import Explanation
    from eikon_engine.outcome.outcomes import NetworkMode, NetworkOutcome, StepOutcome, SubgoalOutcome
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.observation import Observation

_StepKey: TypeAlias = "tuple[str, int]"
"""Subgoal attempt and sequence."""


def explain_first_divergence(
    trace: ExecutionTrace,
    subgoals: tuple[SubgoalOutcome, ...],
    network: NetworkOutcome,
    network_mode: NetworkMode,
    possible_causes: tuple[str, ...] = (),
    *,
    is_answered_by_other: bool = False,
) -> Explanation | None:
    """Explain the first divergence; None if there is none. `network` must not contain masked requests."""
    done = [(subgoal, step) for subgoal in subgoals for step in subgoal.steps]
    place = next((place for place, (_, step) in enumerate(done) if step.divergences), None)
    if place is None:
        return None
    subgoal, step = done[place]
    so_far = {(each.id, other.sequence) for each, other in done[: place + 1]} | {("", 0)}
    before, recorded = _recorded_observations(trace, (subgoal.id, step.sequence))
    first, here = step.divergences[0], (subgoal.id, step.sequence)
    changes = tuple(each for each in network.response_changes if (each.subgoal, each.sequence) in so_far)
    case = DivergenceCase(
        first=first,
        other_divergences=step.divergences[1:],
        before=before,
        recorded=recorded,
        observed=step.observation if step.kind == "action" else None,
        changes=changes,
        related_changes=find_related_changes(first, changes, here),
        network_mode=network_mode,
        is_answered_by_other=is_answered_by_other,
        possible_cause=next(iter(possible_causes), None),
    )
    return explain_divergence(case, _label(step), step.artifacts, tuple(_consequences(step, done[place + 1 :])))


def _recorded_observations(trace: ExecutionTrace, place: _StepKey) -> tuple[Observation | None, Observation | None]:
    """Return the last recorded observation before a step, and the one after it."""
    before: Observation | None = None
    for subgoal in trace.subgoal_traces:
        for step in subgoal.steps:
            seen = step.observation if isinstance(step, ActionTrace) else None
            if (subgoal.id, step.sequence) == place:
                return before, seen
            before = seen or before
    return before, None


def _consequences(first: StepOutcome, later: list[tuple[SubgoalOutcome, StepOutcome]]) -> Iterator[Consequence]:
    """Yield the steps that depend on the first one, then all others that diverged after it."""
    expected = first.dependents if first.kind == "action" else ()
    diverged = {(subgoal.id, step.sequence): (subgoal, step) for subgoal, step in later if step.divergences}
    for each in expected:
        yield each.model_copy(update={"diverged": diverged.pop((each.subgoal, each.sequence), None) is not None})
    for subgoal, step in diverged.values():
        found = step.divergences[0]
        yield Consequence(
            subgoal=subgoal.id,
            subgoal_id=subgoal.subgoal_id,
            sequence=step.sequence,
            label=_label(step),
            why=f"it diverged later: {found.message}",
            diverged=True,
        )


def _label(step: StepOutcome) -> str:
    return step.label if step.kind == "action" else f"skill {step.skill}"
