"""Save a branch of a session permanently."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.certify.render import render_certification
from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.branches.save import save_as_bundle, save_as_patch
from eikon_engine.debug.place_in_timeline import require_branch
from eikon_engine.debug.results import SavedBranch
from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.errors import BranchError
from eikon_engine.outcome.debug_events import MAIN_BRANCH

if TYPE_CHECKING:
    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.debug.commands import BranchSave
    from eikon_engine.debug.journey import DebugSession


async def save_branch(session: DebugSession, command: BranchSave) -> SavedBranch:
    """Save a branch as a certified bundle of its own, or as a patch on the original.

    Raises:
        BranchError: no such branch, it is `main`, or it has live responses that a patch cannot contain.
        OutputError: the output exists, or cannot be written.
        EikonError: a certifying replay could not be completed.
    """
    named = require_branch(session.timeline, command.name, "branch save")
    if named.name == MAIN_BRANCH:
        raise BranchError(f"branch save: {MAIN_BRANCH} is the recording itself; choose another branch")
    session.finish_branch_step()
    branch, output = open_branch(branch_bundle_path(session.folder, named)), Path(command.output)
    if command.form == "patch":
        patch = save_as_patch(branch, output)
        lines = (f"{output}: {len(patch.operations)} changes; next: eikon trace apply … {output} -o …",)
        return SavedBranch(path=str(output), lines=lines)
    replay = session.pool.replay_options
    options = CertifyOptions(browser_path=replay.browser_path, secrets=replay.secrets, variables=replay.variables)
    report = await save_as_bundle(branch, output, options)
    return SavedBranch(path=str(output), lines=describe_saved_trace(output, report))


def describe_saved_trace(output: Path, report: CertificationReport) -> tuple[str, ...]:
    """Describe the result of saving a branch as a bundle, for the user."""
    first = f"{output}: saved as a bundle, {report.status}"
    if report.status == "certified":
        return (first, *report.notes)
    return (f"{first}, without a certificate:", *render_certification(report).splitlines()[1:])
