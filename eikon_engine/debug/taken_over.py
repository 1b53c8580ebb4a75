"""Start a session with the verified checkpoints and branches of an earlier session on the same trace."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.checkpoint import checkpoint_file, delete_checkpoint, read_checkpoint
from eikon_engine.debug.doubts import doubts_of
from eikon_engine.debug.session_folder import bundle_path
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
    """Copy the intact checkpoints and branches of an earlier session, and start at the beginning of `main`.

    Damaged ones are skipped and reported.

    Raises:
        SessionError: the earlier timeline cannot be read.
        CheckpointError: a checkpoint changed in the meantime.
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
        journey.tell(Note(text=f"not imported: {each}"))
    counts = f"{counted(len(taken), 'checkpoint')}, {len(whole.timeline.branches)} branches"
    journey.tell(Note(text=f"imported from {before.name}: {counts}"))


def verify(before: SessionFolder, bundle: Bundle) -> None:
    """Check that an earlier session ran the mission of `bundle`.

    Raises:
        SessionError: its timeline cannot be read, or belongs to another mission.
    """
    timeline, mission = before.read_timeline(), bundle.trace.mission_id
    if timeline.mission_id != mission:
        message = f"{before.timeline}: expected a session on mission {mission}"
        raise SessionError(f"{message}, got {timeline.mission_id}; restore the file")


def _take_branch(journey: Journey, timeline: Timeline, branch: Branch) -> None:
    """Import one branch, positioned at its last checkpoint; `main` is positioned at its start."""
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
    """Return what a branch reports about manual JavaScript, up to its position."""
    evaluations = tuple(each.entry for each in begun.evaluations)
    gone = tuple(each for each in branch.left_out if each.iteration <= begun.iteration)
    return {"evaluations": evaluations, "doubts": doubts_of(evaluations, gone)}


def _copy(source: Path, target: Path) -> None:
    try:
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise OutputError(
            f"{source}: cannot be copied to {target} ({error}); free disk space or check permissions"
        ) from error
