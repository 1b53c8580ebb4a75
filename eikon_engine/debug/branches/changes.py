"""Change the steps of a branch: skip, edit, insert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import apply_operations
from eikon_engine.edit.assignments import build_edit, build_insertion
from eikon_engine.errors import BranchError
from eikon_engine.trace.edits import DeleteStep, SetFields
from eikon_engine.trace.outdated import without_identities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.located import Step


def skip_step(branch: BranchBundle, iteration: int, reason: str) -> BranchBundle:
    """Remove a step.

    Raises:
        BranchError: it belongs to the parent, or does not exist.
    """
    step = _require_own_step(branch, iteration)
    return apply_operations(branch, [build_edit(DeleteStep, step=step.id, reason=reason)])


def edit_step(branch: BranchBundle, iteration: int, fields: Mapping[str, JsonValue], reason: str) -> BranchBundle:
    """Change fields of a step; they are named as in `eikon trace set`.

    Raises:
        BranchError: the step belongs to the parent, or does not exist.
        TraceFieldError: no such field, or the value does not fit it.
    """
    step = _require_own_step(branch, iteration)
    return apply_operations(branch, [build_edit(SetFields, step=step.id, fields=dict(fields), reason=reason)])


def insert_step(branch: BranchBundle, iteration: int, action: Action, reason: str) -> BranchBundle:
    """Insert an action before a step, or after the last one if `iteration` is one more than there are.

    Raises:
        BranchError: the step belongs to the parent, or does not exist.
    """
    steps = branch.steps
    if not steps:
        message = f"branch {branch.file.name} has no steps to insert an action next to; create a new branch"
        raise BranchError(message)
    at_end = iteration == len(steps) + 1
    beside = steps[-1] if at_end else _require_own_step(branch, iteration)
    new = build_insertion(
        branch.trace, (beside.id, "after" if at_end else "before"), without_identities(action), reason=reason
    )
    return apply_operations(branch, [new])


def _require_own_step(branch: BranchBundle, iteration: int) -> Step:
    steps, file = branch.steps, branch.file
    if not 1 <= iteration <= len(steps):
        message = f"expected a step of branch {file.name} from 1 to {len(steps)}, got {iteration}"
        raise BranchError(message)
    if iteration <= file.fork_iteration:
        message = (
            f"expected a step of branch {file.name} after its fork at iteration {file.fork_iteration}, got step "
            f"{iteration}, which belongs to {file.parent}; create a branch at an earlier checkpoint"
        )
        raise BranchError(message)
    return steps[iteration - 1]
