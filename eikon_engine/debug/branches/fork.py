"""Create and delete branches."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import (
    BRANCH_FILE,
    ORIGIN_FILE,
    BranchFile,
    demand_name,
    is_branch,
    new_folder,
    open_branch,
    read_branch_file,
    trace_sha256,
    write_branch_file,
)
from eikon_engine.debug.branches.save import OF_BRANCHES, answer_count
from eikon_engine.edit.changed_copy import write_changed_copy
from eikon_engine.errors import BranchError, OutputError
from eikon_engine.trace.patch import TracePatch, apply_patch, variables_patch
from eikon_engine.trace.serializer import read_trace, write_trace
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from eikon_engine.debug.branches.branch import Branch
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A branch to create."""

    name: str
    parent: str
    """Name of its parent."""
    fork_point: str
    """Id of the checkpoint."""
    iteration: int
    """Number of steps done there."""
    created: datetime
    is_live: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    """The session's variable values; they become those of the branch."""


def fork(parent: Bundle, folder: Path, wanted: Fork) -> Branch:
    """Create a branch of a bundle, which may be a branch itself, in a folder below `folder`, all or nothing.

    Raises:
        BranchError: the name is taken or invalid, or the bundle has fewer steps.
        OutputError: the folder cannot be written.
        TraceError: the bundle cannot be read.
    """
    root = new_folder(folder, demand_name(wanted.name))
    steps = sum(len(attempt.steps) for attempt in parent.trace.subgoal_traces)
    if wanted.iteration > steps:
        message = f"cannot fork after {wanted.iteration} steps, {parent.root} has only {steps}; fork earlier"
        raise BranchError(message)
    origin, known, answers = _origin(parent)
    before = apply_patch(origin, known)
    new = variables_patch(before, wanted.variables)
    patch = TracePatch(operations=(*known.operations, *new.operations))
    file = BranchFile(
        name=wanted.name,
        parent=wanted.parent,
        parent_sha256=trace_sha256(parent.trace),
        fork_point=wanted.fork_point,
        fork_iteration=wanted.iteration,
        created=wanted.created,
        is_live=wanted.is_live,
        recorded_answers=answers,
        patch=patch,
    )
    _write(parent, root, file, origin)
    return open_branch(root)


def _origin(parent: Bundle) -> tuple[ExecutionTrace, TracePatch, int]:
    """Return the recording behind a bundle, the changes since, and its number of exchanges."""
    if not is_branch(parent.root):
        return parent.trace, TracePatch(), answer_count(parent)
    file = read_branch_file(parent.root)
    return read_trace(parent.root / ORIGIN_FILE), file.patch, file.recorded_answers


def _write(parent: Bundle, root: Path, file: BranchFile, origin: ExecutionTrace) -> None:
    """Write a branch to a temporary folder, then rename it; an interrupted write leaves no branch."""
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{root.name}.", dir=root.parent) as scratch:
            fresh = Path(scratch) / root.name
            write_changed_copy(parent.root, apply_patch(origin, file.patch), fresh, leave_out=OF_BRANCHES)
            write_trace(origin, fresh / ORIGIN_FILE)
            write_branch_file(fresh, file)
            os.rename(fresh, root)  # noqa: PTH104 - never replaces an existing folder
    except OSError as error:
        raise OutputError(cannot_write(root, error)) from error


def delete_branch(branch: Branch) -> None:
    """Delete a branch with all its files.

    Raises:
        OutputError: it cannot be deleted.
    """
    root = branch.bundle.root
    try:
        (root / BRANCH_FILE).unlink(missing_ok=True)
        shutil.rmtree(root)
    except OSError as error:
        raise OutputError(cannot_write(root, error)) from error
