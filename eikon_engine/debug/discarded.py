"""Steps and checkpoints discarded by a rewind; kept in the session folder until it quits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import AwareDatetime

from eikon_engine.debug.timeline import CheckpointEntry, EvaluationEntry, StepEntry
from eikon_engine.errors import OutputError
from eikon_engine.trace.record import FileModel
from eikon_engine.trace.whole_file import write_atomically, write_error_message

if TYPE_CHECKING:
    from eikon_engine.debug.journey import DebugSession
    from eikon_engine.debug.place_in_timeline import RewindLoss


class DiscardedFile(FileModel):
    """What one rewind discarded."""

    at: AwareDatetime
    branch: str
    iteration: int
    """Where the branch was rewound to."""
    steps: tuple[StepEntry, ...]
    evaluations: tuple[EvaluationEntry, ...]
    checkpoints: tuple[CheckpointEntry, ...]
    """Their files lie beside this one."""


def discard(session: DebugSession, loss: RewindLoss, iteration: int) -> None:
    """Move discarded steps and checkpoints of the active branch aside.

    Raises:
        OutputError: the files cannot be written.
    """
    if not loss.needs_confirmation:
        return
    active = session.active_branch
    number = 1
    while (aside := session.folder.discarded / f"{number:03d}").exists():
        number += 1
    kept = DiscardedFile(
        at=session.now(),
        branch=active.name,
        iteration=iteration,
        steps=tuple(step for step in active.steps if step.iteration > loss.since),
        evaluations=active.evaluations[len(active.evaluations) - loss.evaluations :],
        checkpoints=loss.checkpoints,
    )
    write_atomically(aside / "discarded.json", kept.model_dump_json(indent=1).encode() + b"\n")
    for entry in loss.checkpoints:
        for path in session.folder.checkpoints.glob(f"{entry.id}.*"):
            try:
                path.rename(aside / path.name)
            except OSError as error:
                raise OutputError(write_error_message(aside / path.name, error)) from error
    left = tuple(entry for entry in active.checkpoints if entry not in loss.checkpoints)
    session.save_timeline(session.timeline.with_branch(active.model_copy(update={"checkpoints": left})))
