"""Which checkpoints are in the history of a branch.

The iteration of a checkpoint does not identify its steps: after a rewind, a branch may have continued with other steps
or other JavaScript, while a checkpoint at which another branch was forked remains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.way import steps_sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.debug.timeline import Branch, CheckpointEntry, EvaluationEntry, Timeline
    from eikon_engine.debug.way import History


def reachable_checkpoints(
    timeline: Timeline, branch: Branch, history: History | None = None
) -> Iterator[tuple[Branch, CheckpointEntry]]:
    """Yield the checkpoints that the steps of a branch lead to, with their owners: its own and inherited ones.

    Manual JavaScript may differ before its own checkpoints. Without the history of the branch, steps are not compared.
    """
    for owner, entry, is_certain in _own_and_inherited(timeline, branch):
        if (
            history is not None
            and not is_certain
            and entry.steps_sha256 != steps_sha256(history.bundle.trace, entry.iteration)
        ):
            continue
        if owner.name == branch.name or has_passed(branch.evaluations, entry):
            yield owner, entry


def checkpoints_in_history(
    timeline: Timeline, branch: Branch, history: History | None = None
) -> Iterator[tuple[Branch, CheckpointEntry]]:
    """Yield the checkpoints that the branch passes now, with the same manual JavaScript."""
    for owner, entry in reachable_checkpoints(timeline, branch, history):
        if entry.evaluations == evaluations_until(branch.evaluations, entry.iteration):
            yield owner, entry


def has_passed(evaluations: Sequence[EvaluationEntry], entry: CheckpointEntry) -> bool:
    """Return whether these evaluations passed a checkpoint; some may have run there after its creation."""
    here = evaluations_until(evaluations, entry.iteration)
    common = count_shared(here, entry.evaluations)
    return common == len(entry.evaluations) and all(each.iteration == entry.iteration for each in here[common:])


def left_history_after(branch: Branch, entry: CheckpointEntry) -> int | None:
    """Return after how many steps a branch left the history of its checkpoint; None if it is still on it."""
    mine, its = branch.evaluations, entry.evaluations
    common = count_shared(mine, its)
    own, other = mine[common : common + 1], its[common : common + 1]
    places = [] if entry.parted_after is None else [entry.parted_after]
    if own and (other or own[0].iteration < entry.iteration):
        places.append(own[0].iteration)
    if other and (own or other[0].iteration < branch.iteration):
        places.append(other[0].iteration)
    return min(places, default=None)


def find_branch_with_steps(
    timeline: Timeline, owner: Branch, entry: CheckpointEntry, *, has_diverged: bool | None = None
) -> Branch:
    """Return a branch whose bundle has the steps of a checkpoint: its owner, or one that was forked there.

    `is_parted` tells whether the owner has other steps now, if the entry does not know it yet.
    """
    if not (entry.parted_after is not None if has_diverged is None else has_diverged):
        return owner
    return next((each for each in timeline.branches if each.fork_point == entry.id), owner)


def evaluations_until(evaluations: Sequence[EvaluationEntry], iteration: int) -> tuple[EvaluationEntry, ...]:
    """Return the evaluations up to an iteration."""
    return tuple(each for each in evaluations if each.iteration <= iteration)


def count_shared(one: Sequence[EvaluationEntry], other: Sequence[EvaluationEntry]) -> int:
    """Return how many leading evaluations are equal."""
    differing = (place for place, (mine, its) in enumerate(zip(one, other, strict=False)) if mine != its)
    return next(differing, min(len(one), len(other)))


def _own_and_inherited(
    timeline: Timeline, branch: Branch, *, is_certain: bool = True
) -> Iterator[tuple[Branch, CheckpointEntry, bool]]:
    """Yield checkpoints by iteration, and whether their steps are certainly those of the branch."""
    yield from ((branch, entry, is_certain and entry.parted_after is None) for entry in branch.checkpoints)
    parent = None if branch.parent_branch is None else timeline.find_branch(branch.parent_branch)
    if parent is None:
        return
    begun = next((entry for entry in parent.checkpoints if entry.id == branch.fork_point), None)
    is_still = is_certain and begun is not None and begun.parted_after is None
    for owner, entry, is_same in _own_and_inherited(timeline, parent, is_certain=is_still):
        if entry.iteration <= branch.fork_iteration:
            yield owner, entry, is_same
