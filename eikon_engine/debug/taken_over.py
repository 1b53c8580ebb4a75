"""Begin a session with what an earlier one on the same trace has left: checkpoints and branches, verified."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.checkpoint import checkpoint_file, delete_checkpoint, read_checkpoint
from eikon_engine.debug.doubts import doubts_of
from eikon_engine.debug.step_fields import bundle_path
from eikon_engine.debug.whole_part import last_checkpoint, whole_part
from eikon_engine.errors import OutputError, SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.outcome.events import Note
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.checkpoint import SavedCheckpoint
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch, Timeline
    from eikon_engine.trace.bundle import Bundle


def take_over(journey: Journey, before: SessionFolder) -> None:
    """Copy the checkpoints and branches of an earlier session that are whole, and stand at the start of `main`.

    What is damaged is left behind, and told.

    Raises:
        SessionError: the timeline of the earlier session cannot be read.
        CheckpointError: a checkpoint was changed meanwhile.
        OutputError: the files cannot be copied.
    """
    whole = whole_part(before, journey.line.bundle)
    for branch in whole.timeline.branches:
        if branch.name != MAIN_BRANCH:
            _copy(bundle_path(before, branch), bundle_path(journey.folder, branch))
    _copy(before.checkpoints, journey.folder.checkpoints)
    taken = {entry.id for _, entry in whole.timeline.checkpoints()}
    for _, entry in before.read_timeline().checkpoints():
        if entry.id not in taken:
            delete_checkpoint(journey.folder.checkpoints, entry.id)
    for branch in whole.timeline.branches:
        _take_branch(journey, whole.timeline, branch)
    for each in whole.lost:
        journey.tell(Note(text=f"not taken over: {each}"))
    counts = f"{counted(len(taken), 'checkpoint')}, {len(whole.timeline.branches)} branches"
    journey.tell(Note(text=f"taken over from {before.name}: {counts}"))


def verify(before: SessionFolder, bundle: Bundle) -> None:
    """Prove that an earlier session was one on the mission of `bundle`.

    Raises:
        SessionError: its timeline cannot be read, or is one of another mission.
    """
    timeline, mission = before.read_timeline(), bundle.trace.mission_id
    if timeline.mission_id != mission:
        message = f"{before.timeline}: wanted a session on {mission}"
        raise SessionError(f"{message}, found one on {timeline.mission_id}; restore the file")


def _take_branch(journey: Journey, timeline: Timeline, branch: Branch) -> None:
    """Take over one branch, which has come as far as its last checkpoint; `main` stands at its start."""
    if branch.name == MAIN_BRANCH:
        here = journey.active.model_copy(update={"checkpoints": branch.checkpoints})
    else:
        last = last_checkpoint(timeline, branch)
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
