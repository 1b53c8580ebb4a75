"""Parse new values for the fields of a step, based on its current ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.edit.assignments import parse_field_edits
from eikon_engine.errors import UsageError
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch
    from eikon_engine.trace.execution import ExecutionTrace


def parse_step_fields(
    folder: SessionFolder, iteration: int | None, texts: Sequence[str], reason: str
) -> dict[str, JsonValue]:
    """Parse `FIELD=VALUE` for a step of the active branch, by default the next one.

    Raises:
        UsageError: no such step, or an argument is malformed.
        TraceFieldError: a value does not fit its field.
    """
    active = folder.read_timeline().active
    trace = open_bundle(branch_bundle_path(folder, active)).trace
    number = active.iteration + 1 if iteration is None else iteration
    edit = parse_field_edits(trace, _step_id(trace, number, active), texts, same_element=False, reason=reason)
    return dict(edit.fields)


def _step_id(trace: ExecutionTrace, number: int, active: Branch) -> str:
    steps = [step.id for attempt in trace.subgoal_traces for step in attempt.steps]
    if active.iteration < number <= len(steps):
        return steps[number - 1]
    upcoming = f"{active.iteration + 1} to {len(steps)}" if active.iteration < len(steps) else "none"
    raise UsageError(f"branch edit: expected an upcoming step ({upcoming}), got {number}; rewind to change others")
