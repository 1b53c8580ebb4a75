"""Begin a session with what an earlier one on the same trace has left: checkpoints and branches, verified."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.checkpoint import checkpoint_file, read_checkpoint
from eikon_engine.debug.doubts import doubts_of
from eikon_engine.debug.passing import holder, is_passed
from eikon_engine.debug.step_fields import bundle_path
from eikon_engine.errors import OutputError, SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.outcome.events import Note

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.checkpoint import SavedCheckpoint
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch, Timeline
    from eikon_engine.trace.bundle import Bundle


def take_over(journey: Journey, before: SessionFolder) -> None:
    """Copy the checkpoints and branches of an earlier session; the session stands at the start of `main`.

    They were verified before, see `verify`.

    Raises:
        SessionError: the timeline of the earlier session cannot be read.
        CheckpointError: a checkpoint was changed meanwhile.
        OutputError: the files cannot be copied.
    """
    timeline = before.read_timeline()
    _copy(before.checkpoints, journey.folder.checkpoints)
    _copy(before.branches, journey.folder.branches)
    for branch in timeline.branches:
        _take_branch(journey, timeline, branch)
    count = sum(1 for _ in timeline.checkpoints())
    journey.tell(Note(text=f"taken over from {before.name}: {count} checkpoints, {len(timeline.branches)} branches"))


def verify(before: SessionFolder, bundle: Bundle) -> None:
    """Prove that everything that an earlier session has left is whole, and belongs to the recording `bundle`.

    Raises:
        SessionError: its timeline cannot be read, or is one of another mission.
        CheckpointError: a checkpoint was changed, or is one of another trace.
    """
    timeline, mission = before.read_timeline(), bundle.trace.mission_id
    if timeline.mission_id != mission:
        message = f"{before.timeline}: wanted a session on {mission}"
        raise SessionError(f"{message}, found one on {timeline.mission_id}; restore the file")
    bundles = {
        each.name: bundle if each.name == MAIN_BRANCH else open_branch(bundle_path(before, each)).bundle
        for each in timeline.branches
    }
    for owner, entry in timeline.checkpoints():
        trace = bundles[holder(timeline, owner, entry).name].trace
        read_checkpoint(checkpoint_file(before.checkpoints, entry.id), trace)


def _take_branch(journey: Journey, timeline: Timeline, branch: Branch) -> None:
    """Take over one branch, which has come as far as its last checkpoint; `main` stands at its start."""
    if branch.name == MAIN_BRANCH:
        here = journey.active.model_copy(update={"checkpoints": branch.checkpoints})
    else:
        last = _last(timeline, branch)
        begun = read_checkpoint(checkpoint_file(journey.folder.checkpoints, last))
        journey.ways[branch.name] = begun.way(open_branch(bundle_path(journey.folder, branch)).bundle)
        here = branch.model_copy(
            update={
                "iteration": begun.iteration,
                "steps": tuple(step for step in branch.steps if step.iteration <= begun.iteration),
                "verdict": None,
                **_evaluated(begun, branch),
            }
        )
    journey.keep(journey.timeline.with_branch(here))


def _last(timeline: Timeline, branch: Branch) -> str:
    """Return the id of the checkpoint at which a branch goes on: the last one that it has come to, or its first."""
    own = (entry for entry in branch.checkpoints if entry.parted_after is None)
    passed = [entry for entry in own if entry.iteration <= branch.iteration and is_passed(branch.evaluations, entry)]
    last = max(passed, key=lambda each: (each.iteration, len(each.evaluations)), default=None)
    begun = next((entry for _, entry in timeline.checkpoints() if entry.id == branch.fork_point), None)
    if last is not None and (begun is None or last.iteration >= min(begun.iteration, branch.iteration)):
        return last.id
    return branch.fork_point or ""


def _evaluated(begun: SavedCheckpoint, branch: Branch) -> dict[str, object]:
    """Return what a branch tells of JavaScript that was run by hand, as far as it has come."""
    evaluations = tuple(each.entry for each in begun.evaluations)
    gone = tuple(each for each in branch.left_out if each.iteration <= begun.iteration)
    return {"evaluations": evaluations, "doubts": doubts_of(evaluations, gone)}


def _copy(source: Path, target: Path) -> None:
    try:
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise OutputError(
            f"{source}: cannot be copied to {target} ({error}); make room, or check permissions"
        ) from error
