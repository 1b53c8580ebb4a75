"""Questions about a timeline: the checkpoints in a branch's history, rewind targets, and what a rewind discards.

The iteration of a checkpoint does not identify its steps: after a rewind, a branch may have continued with other steps
or other JavaScript, while a checkpoint at which another branch was forked remains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.history import steps_sha256
from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.files.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.debug.history import History
    from eikon_engine.debug.timeline import Branch, CheckpointEntry, EvaluationEntry, Timeline


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
    passed = evaluations_until(evaluations, entry.iteration)
    common = count_shared(passed, entry.evaluations)
    return common == len(entry.evaluations) and all(each.iteration == entry.iteration for each in passed[common:])


def left_history_after(branch: Branch, entry: CheckpointEntry) -> int | None:
    """Return after how many steps a branch left the history of its checkpoint; None if it is still on it."""
    own_evaluations, other_evaluations = branch.evaluations, entry.evaluations
    common = count_shared(own_evaluations, other_evaluations)
    own, other = own_evaluations[common : common + 1], other_evaluations[common : common + 1]
    iterations = [] if entry.parted_after is None else [entry.parted_after]
    if own and (other or own[0].iteration < entry.iteration):
        iterations.append(own[0].iteration)
    if other and (own or other[0].iteration < branch.iteration):
        iterations.append(other[0].iteration)
    return min(iterations, default=None)


def find_branch_with_steps(
    timeline: Timeline, owner: Branch, entry: CheckpointEntry, *, has_diverged: bool | None = None
) -> Branch:
    """Return a branch whose bundle has the steps of a checkpoint: its owner, or one that was forked there.

    `has_diverged` states whether the owner has other steps now, if the entry does not know it yet.
    """
    if not (entry.parted_after is not None if has_diverged is None else has_diverged):
        return owner
    return next((each for each in timeline.branches if each.fork_point == entry.id), owner)


def evaluations_until(evaluations: Sequence[EvaluationEntry], iteration: int) -> tuple[EvaluationEntry, ...]:
    """Return the evaluations up to an iteration."""
    return tuple(each for each in evaluations if each.iteration <= iteration)


def count_shared(one: Sequence[EvaluationEntry], other: Sequence[EvaluationEntry]) -> int:
    """Return how many leading evaluations are equal."""
    differing = (index for index, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
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


_MAX_SUGGESTIONS: Final = 2
"""Checkpoints that an error lists."""


@dataclass(frozen=True, slots=True)
class RewindTarget:
    """A position on a branch."""

    iteration: int
    checkpoint: CheckpointEntry | None = None
    """None if the position has no checkpoint."""


@dataclass(frozen=True, slots=True)
class RewindLoss:
    """What a branch loses by a rewind."""

    since: int
    """Number of steps that remain."""
    steps: int
    evaluations: int
    """How often JavaScript was run manually after that position."""
    checkpoints: tuple[CheckpointEntry, ...]

    @property
    def needs_confirmation(self) -> bool:
        """Return whether the user must agree to the loss."""
        return self.steps > 0 or self.evaluations > 0

    def __str__(self) -> str:
        """Format the loss for messages."""
        counts = {
            "step": self.steps,
            "evaluation": self.evaluations,
            "checkpoint": len(self.checkpoints),
        }
        parts = [pluralize(count, what) for what, count in counts.items() if count]
        return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def find_checkpoint(timeline: Timeline, name: str, command: str) -> tuple[Branch, CheckpointEntry]:
    """Return a checkpoint, by id or unique label, and its branch.

    Raises:
        RequirementError: no such checkpoint.
        UsageError: several have this label.
    """
    every = tuple(timeline.checkpoints())
    for branch, entry in every:
        if entry.id == name:
            return branch, entry
    labelled = [(branch, entry) for branch, entry in every if entry.label == name and name]
    match labelled:
        case [only]:
            return only
        case []:
            message = f"{command}: no checkpoint {name!r} in this session; {_suggest_checkpoints(every)}"
            raise RequirementError(message, code="checkpoint-missing")
        case _:
            ids = " and ".join(entry.id for _, entry in labelled)
            raise UsageError(f"{command}: label {name!r} is ambiguous: {ids}; use an id")


def _suggest_checkpoints(every: Sequence[tuple[Branch, CheckpointEntry]]) -> str:
    """List the most recent checkpoints."""
    if not every:
        return "there are no checkpoints"
    named = ", ".join(repr(entry.label) if entry.label else entry.id for _, entry in every[-_MAX_SUGGESTIONS:])
    more = f" and {len(every) - _MAX_SUGGESTIONS} more" if len(every) > _MAX_SUGGESTIONS else ""
    return f"available: {named}{more}; eikon debug checkpoint list shows all"


def require_no_fork(timeline: Timeline, entry: CheckpointEntry) -> None:
    """Check that no branch was forked from a checkpoint.

    Raises:
        UsageError: a branch was forked from it.
    """
    begun = next((each.name for each in timeline.branches if each.fork_point == entry.id), None)
    if begun is not None:
        message = f"checkpoint delete: branch {begun} was forked from {entry.id}"
        raise UsageError(f"{message}; delete the branch first", code="branch")


def require_branch(timeline: Timeline, name: str, command: str) -> Branch:
    """Return a branch by name.

    Raises:
        UsageError: no such branch.
    """
    found = timeline.find_branch(name)
    if found is None:
        known = ", ".join(each.name for each in timeline.branches)
        raise UsageError(f"{command}: no branch {name!r} in this session; available: {known}", code="branch")
    return found


def resolve_target(
    timeline: Timeline,
    checkpoint: str | None,
    iteration: int | None,
    history: History | None = None,
    command: str = "rewind",
) -> RewindTarget:
    """Return the position of the active branch that a checkpoint or an iteration refers to.

    Without the history of that branch, its steps are not compared with those of the checkpoint.

    Raises:
        RequirementError: no such checkpoint.
        UsageError: the checkpoint belongs to a branch with other steps; neither or both are given; the branch has not
            reached the iteration.
    """
    active = timeline.active
    if (checkpoint is None) == (iteration is None):
        found = "neither" if checkpoint is None else "both"
        raise UsageError(f"{command}: expected either a checkpoint or --iteration, got {found}")
    if checkpoint is not None:
        branch, entry = find_checkpoint(timeline, checkpoint, command)
        if entry not in tuple(each for _, each in reachable_checkpoints(timeline, active, history)):
            message = (
                f"{command}: {entry.id} is a checkpoint of branch {branch.name}, not in the history of {active.name}"
            )
            if entry.parted_after is not None:
                message = f"{message}, whose steps were changed since"
            raise UsageError(
                f"{message}; switch to {find_branch_with_steps(timeline, branch, entry).name} first", code="branch"
            )
        return RewindTarget(entry.iteration, entry)
    assert iteration is not None  # noqa: S101 - one of the two is given
    at = next(
        (each for _, each in checkpoints_in_history(timeline, active, history) if each.iteration == iteration), None
    )
    if at is None and not 0 <= iteration <= active.iteration:
        message = f"{command}: expected an iteration from 0 to {active.iteration} (done on {active.name})"
        raise UsageError(f"{message}, got {iteration}; eikon debug timeline shows them")
    return RewindTarget(iteration, at)


def rewind_loss(timeline: Timeline, destination: RewindTarget) -> RewindLoss:
    """Return what the active branch loses by a rewind; checkpoints at which branches were forked remain.

    Everything since the two histories diverged is lost, even if the target has another number of steps.
    """
    active, target = timeline.active, destination.checkpoint
    own_evaluations = active.evaluations
    target_evaluations = (
        evaluations_until(own_evaluations, destination.iteration) if target is None else target.evaluations
    )
    common = count_shared(own_evaluations, target_evaluations)
    differing = (*own_evaluations[common : common + 1], *target_evaluations[common : common + 1])
    since = min((destination.iteration, *(each.iteration for each in differing)))
    steps, evaluations = max(active.iteration - since, 0), len(own_evaluations) - common
    forks = {each.fork_point for each in timeline.branches}
    later = tuple(
        each
        for each in active.checkpoints
        if each.id not in forks
        and each != target
        and (each.iteration > since or (each.iteration == since and len(each.evaluations) > common))
    )
    return RewindLoss(
        since=since, steps=steps, evaluations=evaluations, checkpoints=later if steps or evaluations else ()
    )
