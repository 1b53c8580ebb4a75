"""Save a branch permanently: as a bundle of its own, or as a patch on its recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.certify.certify import accept, certify
from eikon_engine.debug.branches.branch import BRANCH_FILE, ORIGIN_FILE
from eikon_engine.edit.changed_copy import copy_bundle
from eikon_engine.edit.saved_patch import write_patch
from eikon_engine.errors import BranchError, OutputError
from eikon_engine.network.store import read_network
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.patch import SetObservation, TracePatch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.trace.bundle import Bundle
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
    certification = await certify(bundle, options)
    agreed = certification.report.status == "certified"
    return accept(bundle, certification) if agreed else certification.report


def save_as_patch(branch: BranchBundle, path: Path) -> TracePatch:
    """Write the changes from the recording to `path`, with the digests of pages but without snapshots.

    Raises:
        BranchError: the branch has live responses, which a patch cannot contain.
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
        raise BranchError(message)
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
