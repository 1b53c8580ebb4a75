"""Which checkpoints and branches of an earlier session are intact, and why others are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.checkpoint import checkpoint_path, read_checkpoint
from eikon_engine.debug.passing import find_branch_with_steps, has_passed
from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.errors import CheckpointError, EikonError
from eikon_engine.outcome.debug_events import MAIN_BRANCH

if TYPE_CHECKING:
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
    lost: list[str] = []
    for branch in timeline.branches:
        try:
            bundles[branch.name] = _open_bundle(earlier, branch, bundle)
        except EikonError as error:
            lost.append(f"branch {branch.name}: {error.message}")
    damaged: set[str] = set()
    for owner, entry in timeline.checkpoints():
        problem = _checkpoint_problem(earlier, entry, bundles.get(find_branch_with_steps(timeline, owner, entry).name))
        if problem is not None:
            damaged.add(entry.id)
            lost.append(f"{entry.id} of {owner.name}: {problem}")
    return _intact_timeline(_without_checkpoints(timeline, damaged), set(bundles), lost)


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
        left = tuple(entry for entry in branch.checkpoints if entry.id not in damaged)
        timeline = timeline.with_branch(branch.model_copy(update={"checkpoints": left}))
    return timeline


def _intact_timeline(timeline: Timeline, readable: set[str], problems: list[str]) -> IntactTimeline:
    """Omit branches that cannot be read or continued, and those forked from them."""
    whole = {entry.id for _, entry in timeline.checkpoints()}
    kept: dict[str, Branch] = {}
    for branch in timeline.branches:  # parents come first
        if branch.name not in readable:
            continue
        if branch.parent_branch is not None and branch.parent_branch not in kept:
            problems.append(f"branch {branch.name}: its parent {branch.parent_branch} is damaged")
        elif branch.name != MAIN_BRANCH and resume_checkpoint(timeline, branch) not in whole:
            problems.append(f"branch {branch.name}: no intact checkpoint to continue from")
        else:
            kept[branch.name] = branch
    active = timeline.active_branch if timeline.active_branch in kept else MAIN_BRANCH
    left = timeline.model_copy(update={"branches": tuple(kept.values()), "active_branch": active})
    return IntactTimeline(left, tuple(problems))
