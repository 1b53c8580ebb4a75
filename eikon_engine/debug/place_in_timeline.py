"""Resolve a label, id or iteration to a position of the timeline, and determine what a rewind would discard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.passing import (
    checkpoints_in_history,
    count_shared,
    evaluations_until,
    find_branch_with_steps,
    reachable_checkpoints,
)
from eikon_engine.errors import BranchError, CheckpointMissingError, UsageError
from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline import Branch, CheckpointEntry, Timeline
    from eikon_engine.debug.way import History

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
        CheckpointMissingError: no such checkpoint.
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
            raise CheckpointMissingError(message)
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
        BranchError: a branch was forked from it.
    """
    begun = next((each.name for each in timeline.branches if each.fork_point == entry.id), None)
    if begun is not None:
        message = f"checkpoint delete: branch {begun} was forked from {entry.id}"
        raise BranchError(f"{message}; delete the branch first")


def require_branch(timeline: Timeline, name: str, command: str) -> Branch:
    """Return a branch by name.

    Raises:
        BranchError: no such branch.
    """
    found = timeline.find_branch(name)
    if found is None:
        known = ", ".join(each.name for each in timeline.branches)
        raise BranchError(f"{command}: no branch {name!r} in this session; available: {known}")
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
        CheckpointMissingError: no such checkpoint.
        BranchError: the checkpoint belongs to a branch with other steps.
        UsageError: neither or both are given; the branch has not reached the iteration.
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
            raise BranchError(f"{message}; switch to {find_branch_with_steps(timeline, branch, entry).name} first")
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
    mine = active.evaluations
    its = evaluations_until(mine, destination.iteration) if target is None else target.evaluations
    common = count_shared(mine, its)
    parted = (*mine[common : common + 1], *its[common : common + 1])
    since = min((destination.iteration, *(each.iteration for each in parted)))
    steps, evaluations = max(active.iteration - since, 0), len(mine) - common
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
