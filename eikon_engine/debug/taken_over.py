"""Start a session with the verified checkpoints and branches of an earlier session on the same trace."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.checkpoint import checkpoint_path, delete_checkpoint, read_checkpoint
from eikon_engine.debug.doubts import describe_doubts
from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.debug.whole_part import find_intact, resume_checkpoint
from eikon_engine.errors import OutputError, SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.outcome.events import Note
from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.checkpoint import CheckpointFile
    from eikon_engine.debug.journey import DebugSession
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch, Timeline
    from eikon_engine.trace.bundle import Bundle


def import_session(session: DebugSession, earlier: SessionFolder) -> None:
    """Copy the intact checkpoints and branches of an earlier session, and start at the beginning of `main`.

    Damaged ones are skipped and reported.

    Raises:
        SessionError: the earlier timeline cannot be read.
        CheckpointError: a checkpoint changed in the meantime.
        OutputError: the files cannot be copied.
    """
    whole = find_intact(earlier, session.context.bundle)
    for branch in whole.timeline.branches:
        if branch.name != MAIN_BRANCH:
            _copy_folder(branch_bundle_path(earlier, branch), branch_bundle_path(session.folder, branch))
    _copy_folder(earlier.checkpoints, session.folder.checkpoints)
    taken = {entry.id for _, entry in whole.timeline.checkpoints()}
    for _, entry in earlier.read_timeline().checkpoints():
        if entry.id not in taken:
            delete_checkpoint(session.folder.checkpoints, entry.id)
    for branch in whole.timeline.branches:
        _import_branch(session, whole.timeline, branch)
    for each in whole.problems:
        session.record(Note(text=f"not imported: {each}"))
    counts = f"{pluralize(len(taken), 'checkpoint')}, {len(whole.timeline.branches)} branches"
    session.record(Note(text=f"imported from {earlier.name}: {counts}"))


def require_same_mission(earlier: SessionFolder, bundle: Bundle) -> None:
    """Check that an earlier session ran the mission of `bundle`.

    Raises:
        SessionError: its timeline cannot be read, or belongs to another mission.
    """
    timeline, mission = earlier.read_timeline(), bundle.trace.mission_id
    if timeline.mission_id != mission:
        message = f"{earlier.timeline_path}: expected a session on mission {mission}"
        raise SessionError(f"{message}, got {timeline.mission_id}; restore the file")


def _import_branch(session: DebugSession, timeline: Timeline, branch: Branch) -> None:
    """Import one branch, positioned at its last checkpoint; `main` is positioned at its start."""
    if branch.name == MAIN_BRANCH:
        here = session.active_branch.model_copy(update={"checkpoints": branch.checkpoints})
    else:
        last = resume_checkpoint(timeline, branch)
        begun = read_checkpoint(checkpoint_path(session.folder.checkpoints, last))
        session.histories[branch.name] = begun.history(open_branch(branch_bundle_path(session.folder, branch)).bundle)
        here = branch.model_copy(
            update={
                "iteration": begun.iteration,
                "steps": tuple(step for step in branch.steps if step.iteration <= begun.iteration),
                "verdict": None,
                **_evaluation_fields(begun, branch),
            }
        )
    session.save_timeline(session.timeline.with_branch(here))


def _evaluation_fields(begun: CheckpointFile, branch: Branch) -> dict[str, object]:
    """Return what a branch reports about manual JavaScript, up to its position."""
    evaluations = tuple(each.timeline_entry for each in begun.evaluations)
    gone = tuple(each for each in branch.left_out if each.iteration <= begun.iteration)
    return {"evaluations": evaluations, "doubts": describe_doubts(evaluations, gone)}


def _copy_folder(source: Path, target: Path) -> None:
    try:
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise OutputError(
            f"{source}: cannot be copied to {target} ({error}); free disk space or check permissions"
        ) from error
