"""Start a session with the intact checkpoints and branches of an earlier session on the same trace."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.checkpoint_files import checkpoint_path, delete_checkpoint, read_checkpoint
from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.debug.timeline import describe_doubts
from eikon_engine.debug.timeline_queries import find_branch_with_steps, has_passed
from eikon_engine.errors import BundlePathError, CheckpointError, EikonError, OutputError, SessionError
from eikon_engine.files.paths import require_inside
from eikon_engine.files.text import pluralize
from eikon_engine.files.writing import copy_folder
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.outcome.events import Note

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.checkpoint_files import CheckpointFile
    from eikon_engine.debug.session import DebugSession
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch, CheckpointEntry, Timeline
    from eikon_engine.trace.bundle import Bundle


@dataclass(frozen=True, slots=True)
class IntactTimeline:
    """The intact part of a timeline."""

    timeline: Timeline
    problems: tuple[str, ...]
    """One line per damaged item, with the reason."""


def find_intact(earlier: SessionFolder, bundle: Bundle) -> IntactTimeline:
    """Verify every checkpoint and branch of a session on the recording `bundle`, and omit damaged ones.

    A branch without an intact checkpoint to continue from is omitted.

    Raises:
        SessionError: the timeline cannot be read.
    """
    timeline = earlier.read_timeline()
    bundles: dict[str, Bundle] = {}
    problems: list[str] = []
    for branch in timeline.branches:
        try:
            bundles[branch.name] = _open_bundle(earlier, branch, bundle)
        except EikonError as error:
            problems.append(f"branch {branch.name}: {error.message}")
    damaged: set[str] = set()
    for owner, entry in timeline.checkpoints():
        problem = _checkpoint_problem(earlier, entry, bundles.get(find_branch_with_steps(timeline, owner, entry).name))
        if problem is not None:
            damaged.add(entry.id)
            problems.append(f"{entry.id} of {owner.name}: {problem}")
    return _intact_timeline(_without_checkpoints(timeline, damaged), set(bundles), problems)


def resume_checkpoint(timeline: Timeline, branch: Branch) -> str:
    """Return the id of the checkpoint where a branch continues: the last one it passed, or its fork."""
    own = (entry for entry in branch.checkpoints if entry.parted_after is None)
    passed = [entry for entry in own if entry.iteration <= branch.iteration and has_passed(branch.evaluations, entry)]
    last = max(passed, key=lambda each: (each.iteration, len(each.evaluations)), default=None)
    begun = next((entry for _, entry in timeline.checkpoints() if entry.id == branch.fork_point), None)
    if last is not None and (begun is None or last.iteration >= min(begun.iteration, branch.iteration)):
        return last.id
    return branch.fork_point or ""


def _open_bundle(before: SessionFolder, branch: Branch, bundle: Bundle) -> Bundle:
    return bundle if branch.name == MAIN_BRANCH else open_branch(branch_bundle_path(before, branch)).bundle


def _checkpoint_problem(before: SessionFolder, entry: CheckpointEntry, bundle: Bundle | None) -> str | None:
    if bundle is None:
        return "its branch cannot be read"
    try:
        read_checkpoint(checkpoint_path(before.checkpoints, entry.id), bundle.trace)
    except CheckpointError as error:
        return error.message
    return None


def _without_checkpoints(timeline: Timeline, damaged: set[str]) -> Timeline:
    for branch in timeline.branches:
        remaining = tuple(entry for entry in branch.checkpoints if entry.id not in damaged)
        timeline = timeline.with_branch(branch.model_copy(update={"checkpoints": remaining}))
    return timeline


def _intact_timeline(timeline: Timeline, readable: set[str], problems: list[str]) -> IntactTimeline:
    """Omit branches that cannot be read or continued, and those forked from them."""
    intact_ids = {entry.id for _, entry in timeline.checkpoints()}
    intact: dict[str, Branch] = {}
    for branch in timeline.branches:  # parents come first
        if branch.name not in readable:
            continue
        if branch.parent_branch is not None and branch.parent_branch not in intact:
            problems.append(f"branch {branch.name}: its parent {branch.parent_branch} is damaged")
        elif branch.name != MAIN_BRANCH and resume_checkpoint(timeline, branch) not in intact_ids:
            problems.append(f"branch {branch.name}: no intact checkpoint to continue from")
        else:
            intact[branch.name] = branch
    active = timeline.active_branch if timeline.active_branch in intact else MAIN_BRANCH
    remaining = timeline.model_copy(update={"branches": tuple(intact.values()), "active_branch": active})
    return IntactTimeline(remaining, tuple(problems))


def import_session(session: DebugSession, earlier: SessionFolder) -> None:
    """Copy the intact checkpoints and branches of an earlier session, and start at the beginning of `main`.

    Damaged ones are skipped and reported.

    Raises:
        SessionError: the earlier timeline cannot be read.
        CheckpointError: a checkpoint changed in the meantime.
        OutputError: the files cannot be copied.
    """
    intact = find_intact(earlier, session.context.bundle)
    for branch in intact.timeline.branches:
        if branch.name != MAIN_BRANCH:
            _copy_folder(branch_bundle_path(earlier, branch), branch_bundle_path(session.folder, branch))
    _copy_folder(earlier.checkpoints, session.folder.checkpoints)
    taken = {entry.id for _, entry in intact.timeline.checkpoints()}
    for _, entry in earlier.read_timeline().checkpoints():
        if entry.id not in taken:
            delete_checkpoint(session.folder.checkpoints, entry.id)
    for branch in intact.timeline.branches:
        _import_branch(session, intact.timeline, branch)
    for each in intact.problems:
        session.record(Note(text=f"not imported: {each}"))
    counts = f"{pluralize(len(taken), 'checkpoint')}, {len(intact.timeline.branches)} branches"
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
        imported = session.active_branch.model_copy(update={"checkpoints": branch.checkpoints})
    else:
        last = resume_checkpoint(timeline, branch)
        begun = read_checkpoint(checkpoint_path(session.folder.checkpoints, last))
        session.histories[branch.name] = begun.history(open_branch(branch_bundle_path(session.folder, branch)).bundle)
        imported = branch.model_copy(
            update={
                "iteration": begun.iteration,
                "steps": tuple(step for step in branch.steps if step.iteration <= begun.iteration),
                "verdict": None,
                **_evaluation_fields(begun, branch),
            }
        )
    session.save_timeline(session.timeline.with_branch(imported))


def _evaluation_fields(begun: CheckpointFile, branch: Branch) -> dict[str, object]:
    """Return what a branch reports about manual JavaScript, up to its position."""
    evaluations = tuple(each.timeline_entry for each in begun.evaluations)
    skipped = tuple(each for each in branch.left_out if each.iteration <= begun.iteration)
    return {"evaluations": evaluations, "doubts": describe_doubts(evaluations, skipped)}


def _copy_folder(source: Path, target: Path) -> None:
    try:
        for each in source.rglob("*"):
            require_inside(source, each)
        if source.is_dir():
            copy_folder(source, target)
    except BundlePathError as error:
        raise OutputError(f"{source}: cannot be copied to {target}: {error.message}") from error
    except (OSError, shutil.Error) as error:
        raise OutputError(
            f"{source}: cannot be copied to {target} ({error}); free disk space or check permissions"
        ) from error
