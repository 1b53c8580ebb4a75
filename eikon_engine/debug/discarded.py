"""Steps and checkpoints discarded by a rewind; kept in the session folder until it quits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import AwareDatetime

from eikon_engine.debug.timeline import CheckpointEntry, EvaluationEntry, StepEntry
from eikon_engine.errors import OutputError
from eikon_engine.trace.record import Record
from eikon_engine.trace.whole_file import cannot_write, write_whole

if TYPE_CHECKING:
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.place_in_timeline import Lost


class Discarded(Record):
    """What one rewind discarded."""

    at: AwareDatetime
    branch: str
    iteration: int
    """Where the branch was rewound to."""
    steps: tuple[StepEntry, ...]
    evaluations: tuple[EvaluationEntry, ...]
    checkpoints: tuple[CheckpointEntry, ...]
    """Their files lie beside this one."""


def discard(journey: Journey, lost: Lost, iteration: int) -> None:
    """Move discarded steps and checkpoints of the active branch aside.

    Raises:
        OutputError: the files cannot be written.
    """
    if not lost.is_anything:
        return
    active = journey.active
    number = 1
    while (aside := journey.folder.discarded / f"{number:03d}").exists():
        number += 1
    kept = Discarded(
        at=journey.now(),
        branch=active.name,
        iteration=iteration,
        steps=tuple(step for step in active.steps if step.iteration > lost.since),
        evaluations=active.evaluations[len(active.evaluations) - lost.evaluations :],
        checkpoints=lost.checkpoints,
    )
    write_whole(aside / "discarded.json", kept.model_dump_json(indent=1).encode() + b"\n")
    for entry in lost.checkpoints:
        for path in journey.folder.checkpoints.glob(f"{entry.id}.*"):
            try:
                path.rename(aside / path.name)
            except OSError as error:
                raise OutputError(cannot_write(aside / path.name, error)) from error
    left = tuple(entry for entry in active.checkpoints if entry not in lost.checkpoints)
    journey.keep(journey.timeline.with_branch(active.model_copy(update={"checkpoints": left})))
