"""Where a branch deviates from its recording: skipped steps, skills without a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.replay.label import step_label
from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.located import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.located import Step


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step of the recording that a branch skips."""

    iteration: int
    """Number of the branch's steps before it."""
    id: str
    label: str


def find_skipped_steps(origin: ExecutionTrace, trace: ExecutionTrace) -> tuple[SkippedStep, ...]:
    """Return the steps of a recording that a branch skips, in order."""
    places = {step.id: number for number, step in enumerate(_iter_steps(trace), start=1)}
    gone: list[SkippedStep] = []
    done = 0
    for step in _iter_steps(origin):
        if step.id in places:
            done = places[step.id]
        else:
            gone.append(SkippedStep(done, step.id, step_label(step)))
    return tuple(gone)


def skills_without_document(origin: ExecutionTrace, trace: ExecutionTrace) -> frozenset[str]:
    """Return the ids of the skills of a branch that run on another state than in the recording.

    Their document is unknown: it was dropped with the change that leads there.
    """
    recorded = {step.id for step in _iter_steps(origin) if isinstance(step, SkillUsage) and step.source is not None}
    return frozenset(
        step.id
        for step in _iter_steps(trace)
        if isinstance(step, SkillUsage) and step.source is None and step.id in recorded
    )


def _iter_steps(trace: ExecutionTrace) -> Iterator[Step]:
    return (step for _, step in iter_steps(trace))
