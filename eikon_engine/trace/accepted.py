"""Baselines of live replays that a person accepted; those of the recording stay, and sealed replays compare with them.

They are kept in `accepted.json` beside `trace.json`, with who accepted them, when and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import TraceError, TraceFieldError
from eikon_engine.files.limits import read_document
from eikon_engine.files.models import FileModel, validation_error
from eikon_engine.files.text import pluralize
from eikon_engine.files.writing import write_atomically
from eikon_engine.trace.actions import Evaluate, Read, ReadValue
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.steps import replace_step

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace

ACCEPTED_FILE: Final = "accepted.json"


class AcceptedStep(FileModel):
    """The new baseline of one action."""

    action: str
    """Id of the action."""
    observation: Observation
    """What a live replay must show after it."""
    value: ReadValue | None = None
    """What it reads; None for an action that reads nothing, or for the value of the earlier baseline."""
    differences: tuple[str, ...] = ()
    """What was accepted: each difference from the earlier baseline, in a sentence."""


class Acceptance(FileModel):
    """One decision of a person on one reviewed replay."""

    accepted_at: AwareDatetime
    by: str = Field(min_length=1)
    """Who decided."""
    reason: str = Field(min_length=1)
    run_at: AwareDatetime
    """When the replay that was reviewed began."""
    steps: tuple[AcceptedStep, ...]


class AcceptedBaselines(FileModel):
    """All accepted baselines of a bundle."""

    accepted_version: Literal[1] = 1
    history: tuple[Acceptance, ...] = ()
    """Oldest first; later ones replace earlier ones of the same action."""

    def until(self, time: datetime) -> AcceptedBaselines:
        """Return what was accepted until then."""
        return AcceptedBaselines(history=tuple(each for each in self.history if each.accepted_at <= time))

    def __str__(self) -> str:
        """Return how many baselines were accepted, and who decided last; empty if none were."""
        if not self.history:
            return ""
        last = self.history[-1]
        count = len({step.action for each in self.history for step in each.steps})
        when = last.accepted_at.date().isoformat()
        return f"live baselines of {pluralize(count, 'step')} accepted, last by {last.by} on {when} ({last.reason})"


def read_accepted(root: Path) -> AcceptedBaselines:
    """Read the accepted baselines of the bundle in a folder; empty if there are none.

    Raises:
        TraceError: the file cannot be read.
        TraceFieldError: a field is missing, unknown or invalid.
    """
    path = root / ACCEPTED_FILE
    try:
        data = read_document(path, root=root)
    except FileNotFoundError:
        return AcceptedBaselines()
    except OSError as error:
        message = f"{path}: cannot read the accepted baselines ({error.strerror}); restore the file or remove it"
        raise TraceError(message) from error
    try:
        return AcceptedBaselines.model_validate_json(data)
    except ValidationError as error:
        raise validation_error(error, data, str(path)) from error


def write_accepted(root: Path, accepted: AcceptedBaselines) -> None:
    """Write the accepted baselines atomically.

    Raises:
        OutputError: the folder cannot be written.
    """
    write_atomically(root / ACCEPTED_FILE, accepted.model_dump_json(indent=1).encode() + b"\n")


def with_accepted(trace: ExecutionTrace, accepted: AcceptedBaselines) -> ExecutionTrace:
    """Return a trace with the accepted baselines in place of the recorded ones.

    Raises:
        TraceFieldError: the trace has no such action.
    """
    for new in (step for acceptance in accepted.history for step in acceptance.steps):
        step = next(
            (each for subgoal in trace.subgoal_traces for each in subgoal.actions_taken if each.id == new.action), None
        )
        if step is None:
            message = f"{ACCEPTED_FILE}: expected an action of the trace, got the id {new.action!r}; remove the file"
            raise TraceFieldError(message)
        trace = replace_step(trace, step, _with_baseline(step, new))
    return trace


def _with_baseline(step: ActionTrace, new: AcceptedStep) -> ActionTrace:
    action = step.action
    if new.value is not None and isinstance(action, Read | Evaluate):
        action = action.model_copy(update={"value": new.value})
    return step.model_copy(update={"observation": new.observation, "action": action})
