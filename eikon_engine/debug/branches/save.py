"""Keep a branch for good: as a bundle of its own, or as a patch on the recording that it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.certify.certify import accept, certify
from eikon_engine.debug.branches.branch import BRANCH_FILE, ORIGIN_FILE
from eikon_engine.edit.changed_copy import write_changed_copy
from eikon_engine.edit.saved_patch import write_patch
from eikon_engine.errors import BranchError, OutputError
from eikon_engine.network.store import read_network
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.patch import SetObservation, TracePatch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.debug.branches.branch import Branch
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.observation import Observation

OF_BRANCHES: Final = frozenset({BRANCH_FILE, ORIGIN_FILE})
"""Files of a branch that no bundle of its own has."""


async def save_trace(branch: Branch, output: Path, options: CertifyOptions) -> CertificationReport:
    """Write a branch to `output` as a bundle of its own, and certify it by replays.

    The bundle gets its certificate where all replays agree with what the branch showed. Else it is there all the same,
    without one: the report says why, and `eikon certify` proposes what would mend it.

    Raises:
        UsageError: the folder lies inside the branch.
        OutputError: something is at `output` already, or it cannot be written.
        EikonError: a replay could not come to its end.
    """
    write_changed_copy(branch.bundle.root, branch.trace, output, leave_out=OF_BRANCHES)
    bundle = open_bundle(output)
    certification = await certify(bundle, options)
    agreed = certification.report.status == "certified"
    return accept(bundle, certification) if agreed else certification.report


def save_patch(branch: Branch, path: Path) -> TracePatch:
    """Write what makes the branch of the recording to `path`; snapshots are left out, the digests of pages are not.

    Raises:
        BranchError: the branch has answers that the recording does not have, and no patch can bring.
        OutputError: something is at `path` already, or it cannot be written.
    """
    if path.exists():
        message = f"{path}: wanted a new file for the patch, found that something is there already; name another one"
        raise OutputError(message)
    added = answer_count(branch.bundle) - branch.file.recorded_answers
    if added > 0:
        message = (
            f"branch {branch.file.name}: wanted one that the recorded network answers, found {added} answers of the "
            "live site, which no patch can bring; save it as a trace"
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


def answer_count(bundle: Bundle) -> int:
    """Count the exchanges of a bundle.

    Raises:
        TraceError: its network part cannot be read.
    """
    network = bundle.trace.network
    return 0 if network is None else len(read_network(inside(bundle.root, network.folder, "network.folder")).exchanges)


def _without_snapshots(observation: Observation) -> Observation:
    pages = tuple(page.model_copy(update={"snapshot": None}) for page in observation.pages)
    return observation.model_copy(update={"pages": pages})
