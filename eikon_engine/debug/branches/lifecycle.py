"""Create, delete and save branches."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.certify import certify, conclude
from eikon_engine.debug.branches.branch import (
    BRANCH_FILE,
    ORIGIN_FILE,
    BranchFile,
    is_branch_bundle,
    new_branch_folder,
    open_branch,
    read_branch_file,
    require_branch_name,
    trace_sha256,
    write_branch_file,
)
from eikon_engine.errors import OutputError, UsageError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.files.writing import make_folders, write_error_message
from eikon_engine.network.store import read_network
from eikon_engine.trace.bundle import copy_bundle, open_bundle
from eikon_engine.trace.patch import SetObservation, TracePatch, apply_patch, variables_patch, write_patch
from eikon_engine.trace.trace_file import read_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.observation import Observation

BRANCH_ONLY_FILES: Final = frozenset({BRANCH_FILE, ORIGIN_FILE})
"""Files of a branch that an independent bundle does not have."""


async def save_as_bundle(branch: BranchBundle, output: Path, options: CertifyOptions) -> CertificationReport:
    """Write a branch to `output` as an independent bundle, and certify it by replays.

    The bundle gets a certificate if all replays agree with the branch. Otherwise it is written without one: the report
    says why, and `eikon certify` proposes fixes.

    Raises:
        UsageError: the output lies inside the branch.
        OutputError: `output` exists, or cannot be written.
        EikonError: a replay could not be completed.
    """
    copy_bundle(branch.bundle.root, branch.trace, output, exclude=BRANCH_ONLY_FILES)
    bundle = open_bundle(output)
    return conclude(bundle, await certify(bundle, options), options, accepts=False)


def save_as_patch(branch: BranchBundle, path: Path) -> TracePatch:
    """Write the changes from the recording to `path`, with the digests of pages but without snapshots.

    Raises:
        UsageError: the branch has live responses, which a patch cannot contain.
        OutputError: `path` exists, or cannot be written.
    """
    if path.exists():
        message = f"{path}: the file for the patch already exists; choose another one"
        raise OutputError(message)
    added = count_exchanges(branch.bundle) - branch.file.recorded_answers
    if added > 0:
        message = (
            f"branch {branch.file.name}: it has {added} live responses, which a patch cannot contain; "
            "save it as a trace"
        )
        raise UsageError(message, code="branch")
    patch = TracePatch(
        operations=tuple(
            each.model_copy(update={"observation": _without_snapshots(each.observation)})
            if isinstance(each, SetObservation)
            else each
            for each in branch.file.patch.operations
        )
    )
    write_patch(path, patch)
    return patch


def count_exchanges(bundle: Bundle) -> int:
    """Count the exchanges of a bundle.

    Raises:
        TraceError: its network part cannot be read.
    """
    network = bundle.trace.network
    return (
        0
        if network is None
        else len(read_network(resolve_inside(bundle.root, network.folder, "network.folder")).exchanges)
    )


def _without_snapshots(observation: Observation) -> Observation:
    pages = tuple(page.model_copy(update={"snapshot": None}) for page in observation.pages)
    return observation.model_copy(update={"pages": pages})


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSpec:
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


def create_branch_bundle(parent: Bundle, folder: Path, spec: BranchSpec) -> BranchBundle:
    """Create a branch of a bundle, which may be a branch itself, in a folder below `folder`, all or nothing.

    Raises:
        UsageError: the name is taken or invalid, or the bundle has fewer steps.
        OutputError: the folder cannot be written.
        TraceError: the bundle cannot be read.
    """
    root = new_branch_folder(folder, require_branch_name(spec.name))
    steps = sum(len(attempt.steps) for attempt in parent.trace.subgoal_traces)
    if spec.iteration > steps:
        message = f"cannot fork after {spec.iteration} steps, {parent.root} has only {steps}; fork earlier"
        raise UsageError(message, code="branch")
    origin, known, answers = _read_origin(parent)
    before = apply_patch(origin, known)
    new = variables_patch(before, spec.variables)
    patch = TracePatch(operations=(*known.operations, *new.operations))
    file = BranchFile(
        name=spec.name,
        parent=spec.parent,
        parent_sha256=trace_sha256(parent.trace),
        fork_point=spec.fork_point,
        fork_iteration=spec.iteration,
        created=spec.created,
        is_live=spec.is_live,
        recorded_answers=answers,
        patch=patch,
    )
    _write_branch(parent, root, file, origin)
    return open_branch(root)


def _read_origin(parent: Bundle) -> tuple[ExecutionTrace, TracePatch, int]:
    """Return the recording behind a bundle, the changes since, and its number of exchanges."""
    if not is_branch_bundle(parent.root):
        return parent.trace, TracePatch(), count_exchanges(parent)
    file = read_branch_file(parent.root)
    return read_trace(parent.root / ORIGIN_FILE), file.patch, file.recorded_answers


def _write_branch(parent: Bundle, root: Path, file: BranchFile, origin: ExecutionTrace) -> None:
    """Write a branch to a temporary folder, then rename it; an interrupted write leaves no branch."""
    try:
        make_folders(root.parent)
        with temporary_folder("branch", near=root.parent) as scratch:
            fresh = scratch / root.name
            copy_bundle(parent.root, apply_patch(origin, file.patch), fresh, exclude=BRANCH_ONLY_FILES)
            write_trace(origin, fresh / ORIGIN_FILE)
            write_branch_file(fresh, file)
            os.rename(fresh, root)  # noqa: PTH104 - never replaces an existing folder
    except OSError as error:
        raise OutputError(write_error_message(root, error)) from error


def delete_branch_bundle(branch: BranchBundle) -> None:
    """Delete a branch with all its files.

    Raises:
        OutputError: it cannot be deleted.
    """
    root = branch.bundle.root
    try:
        (root / BRANCH_FILE).unlink(missing_ok=True)
        shutil.rmtree(root)
    except OSError as error:
        raise OutputError(write_error_message(root, error)) from error
