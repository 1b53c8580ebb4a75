"""Save a branch of a session permanently."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.certify.render import render_certification
from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.branches.save import save_patch, save_trace
from eikon_engine.debug.place_in_timeline import demand_branch
from eikon_engine.debug.results import Saved
from eikon_engine.debug.session_folder import bundle_path
from eikon_engine.errors import BranchError
from eikon_engine.outcome.debug_events import MAIN_BRANCH

if TYPE_CHECKING:
    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.debug.commands import BranchSave
    from eikon_engine.debug.journey import Journey


async def save(journey: Journey, command: BranchSave) -> Saved:
    """Save a branch as a certified bundle of its own, or as a patch on the original.

    Raises:
        BranchError: no such branch, it is `main`, or it has live responses that a patch cannot contain.
        OutputError: the output exists, or cannot be written.
        EikonError: a certifying replay could not be completed.
    """
    named = demand_branch(journey.timeline, command.name, "branch save")
    if named.name == MAIN_BRANCH:
        raise BranchError(f"branch save: {MAIN_BRANCH} is the recording itself; choose another branch")
    journey.settle()
    branch, output = open_branch(bundle_path(journey.folder, named)), Path(command.output)
    if command.form == "patch":
        patch = save_patch(branch, output)
        lines = (f"{output}: {len(patch.operations)} changes; next: eikon trace apply … {output} -o …",)
        return Saved(path=str(output), lines=lines)
    replay = journey.lines.replay
    options = CertifyOptions(browser_path=replay.browser_path, secrets=replay.secrets, variables=replay.variables)
    report = await save_trace(branch, output, options)
    return Saved(path=str(output), lines=told_of_trace(output, report))


def told_of_trace(output: Path, report: CertificationReport) -> tuple[str, ...]:
    """Describe the result of saving a branch as a bundle, for the user."""
    first = f"{output}: saved as a bundle, {report.status}"
    if report.status == "certified":
        return (first, *report.notes)
    return (f"{first}, without a certificate:", *render_certification(report).splitlines()[1:])
