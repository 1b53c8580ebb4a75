"""Where the way of a branch is another one than that of its recording: steps left out, skills without a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.replay.label import step_label
from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.located import positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.located import Step


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A step of the recording that a branch does not do."""

    iteration: int
    """After how many steps of the branch it would have come."""
    id: str
    label: str


def left_out(origin: ExecutionTrace, trace: ExecutionTrace) -> tuple[LeftOut, ...]:
    """Return the steps of a recording that a branch of it leaves out, in their order."""
    places = {step.id: number for number, step in enumerate(_steps(trace), start=1)}
    gone: list[LeftOut] = []
    done = 0
    for step in _steps(origin):
        if step.id in places:
            done = places[step.id]
        else:
            gone.append(LeftOut(done, step.id, step_label(step)))
    return tuple(gone)


def skills_elsewhere(origin: ExecutionTrace, trace: ExecutionTrace) -> frozenset[str]:
    """Return the ids of the skills of a branch to which other deeds lead than in the recording.

    Their document is not known: it was dropped with the change that leads elsewhere.
    """
    recorded = {step.id for step in _steps(origin) if isinstance(step, SkillUsage) and step.source is not None}
    return frozenset(
        step.id
        for step in _steps(trace)
        if isinstance(step, SkillUsage) and step.source is None and step.id in recorded
    )


def _steps(trace: ExecutionTrace) -> Iterator[Step]:
    return (step for _, step in positions(trace))
