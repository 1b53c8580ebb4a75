"""Begin a session with what an earlier one on the same trace has left: checkpoints and branches, verified."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.checkpoint import checkpoint_file, read_checkpoint
from eikon_engine.debug.doubts import doubts_of
from eikon_engine.debug.step_fields import bundle_path
from eikon_engine.errors import OutputError, SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.outcome.events import Note

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.checkpoint import SavedCheckpoint
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch


def take_over(journey: Journey, before: SessionFolder) -> None:
    """Copy the checkpoints and branches of an earlier session; the session stands at the start of `main`.

    Raises:
        SessionError: the timeline of the earlier session cannot be read, or is one of another mission.
        CheckpointError: a checkpoint was changed, or is one of another trace.
        OutputError: the files cannot be copied.
    """
    timeline = before.read_timeline()
    if timeline.mission_id != journey.timeline.mission_id:
        message = f"{before.timeline}: wanted a session on {journey.timeline.mission_id}"
        raise SessionError(f"{message}, found one on {timeline.mission_id}; restore the file")
    _copy(before.checkpoints, journey.folder.checkpoints)
    _copy(before.branches, journey.folder.branches)
    for branch in timeline.branches:
        _take_branch(journey, branch)
    count = sum(1 for _ in timeline.checkpoints())
    journey.tell(Note(text=f"taken over from {before.name}: {count} checkpoints, {len(timeline.branches)} branches"))


def _take_branch(journey: Journey, branch: Branch) -> None:
    """Take over one branch, which has come as far as its last checkpoint; `main` stands at its start."""
    is_main = branch.name == MAIN_BRANCH
    bundle = journey.line.bundle if is_main else open_branch(bundle_path(journey.folder, branch)).bundle
    files = [checkpoint_file(journey.folder.checkpoints, entry.id) for entry in branch.checkpoints]
    saved = [read_checkpoint(path, bundle.trace) for path in files]
    if is_main:
        here = journey.active.model_copy(update={"checkpoints": branch.checkpoints})
    else:
        last = max(saved, key=lambda each: each.iteration, default=None)
        begun = last or read_checkpoint(checkpoint_file(journey.folder.checkpoints, branch.fork_point or ""))
        journey.ways[branch.name] = begun.way(bundle)
        done = tuple(step for step in branch.steps if step.iteration <= begun.iteration)
        here = branch.model_copy(
            update={"iteration": begun.iteration, "steps": done, "verdict": None, **_evaluated(begun, branch)}
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
