"""Read new values for fields of a step, by what its branch has there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.edit.assignments import read_fields
from eikon_engine.errors import UsageError
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.bundle_path import inside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch
    from eikon_engine.trace.execution import ExecutionTrace


def bundle_path(folder: SessionFolder, branch: Branch) -> Path:
    """Return where the bundle of a branch lies: below the session, or, of `main`, the recording itself.

    Raises:
        BundlePathError: the path of a branch leads out of the session.
    """
    if branch.name == MAIN_BRANCH:
        return folder.root / branch.bundle  # an absolute path stays what it is
    return inside(folder.root, branch.bundle, f"{folder.timeline}: bundle of {branch.name}")


def read_step_fields(
    folder: SessionFolder, iteration: int | None, texts: Sequence[str], reason: str
) -> dict[str, JsonValue]:
    """Read `FIELD=VALUE` for a step of the active branch, the next one if no number is given.

    Raises:
        UsageError: there is no such step, or a text is something else.
        TraceFieldError: no reading of the values fits their fields.
    """
    active = folder.read_timeline().active
    trace = open_bundle(bundle_path(folder, active)).trace
    number = active.iteration + 1 if iteration is None else iteration
    edit = read_fields(trace, _step_id(trace, number, active), texts, same_element=False, reason=reason)
    return dict(edit.fields)


def _step_id(trace: ExecutionTrace, number: int, active: Branch) -> str:
    steps = [step.id for attempt in trace.subgoal_traces for step in attempt.steps]
    if active.iteration < number <= len(steps):
        return steps[number - 1]
    to_come = f"{active.iteration + 1} to {len(steps)}" if active.iteration < len(steps) else "none"
    raise UsageError(f"branch edit: wanted a step to come ({to_come}), found {number}; go back to change earlier ones")
