"""Resolve a label, id or iteration to a position of the timeline, and determine what a rewind would discard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.passing import holder, on_the_way, reachable, shared, until
from eikon_engine.errors import BranchError, CheckpointMissingError, UsageError
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline import Branch, CheckpointEntry, Timeline
    from eikon_engine.debug.way import Way

_NAMED: Final = 2
"""Checkpoints that an error lists."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position on a branch."""

    iteration: int
    checkpoint: CheckpointEntry | None = None
    """None if the position has no checkpoint."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What a branch loses by a rewind."""

    since: int
    """Number of steps that remain."""
    steps: int
    evaluations: int
    """How often JavaScript was run manually after that position."""
    checkpoints: tuple[CheckpointEntry, ...]

    @property
    def is_anything(self) -> bool:
        """Return whether the user must agree to the loss."""
        return self.steps > 0 or self.evaluations > 0

    def __str__(self) -> str:
        """Format the loss for messages."""
        counts = {
            "step": self.steps,
            "evaluation": self.evaluations,
            "checkpoint": len(self.checkpoints),
        }
        parts = [counted(count, what) for what, count in counts.items() if count]
        return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def find_checkpoint(timeline: Timeline, name: str, what: str) -> tuple[Branch, CheckpointEntry]:
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
            message = f"{what}: no checkpoint {name!r} in this session; {_known(every)}"
            raise CheckpointMissingError(message)
        case _:
            ids = " and ".join(entry.id for _, entry in labelled)
            raise UsageError(f"{what}: label {name!r} is ambiguous: {ids}; use an id")


def _known(every: Sequence[tuple[Branch, CheckpointEntry]]) -> str:
    """List the most recent checkpoints."""
    if not every:
        return "there are no checkpoints"
    named = ", ".join(repr(entry.label) if entry.label else entry.id for _, entry in every[-_NAMED:])
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return f"available: {named}{more}; eikon debug checkpoint list shows all"


def demand_no_fork(timeline: Timeline, entry: CheckpointEntry) -> None:
    """Check that no branch was forked from a checkpoint.

    Raises:
        BranchError: a branch was forked from it.
    """
    begun = next((each.name for each in timeline.branches if each.fork_point == entry.id), None)
    if begun is not None:
        message = f"checkpoint delete: branch {begun} was forked from {entry.id}"
        raise BranchError(f"{message}; delete the branch first")


def demand_branch(timeline: Timeline, name: str, what: str) -> Branch:
    """Return a branch by name.

    Raises:
        BranchError: no such branch.
    """
    found = timeline.branch(name)
    if found is None:
        known = ", ".join(each.name for each in timeline.branches)
        raise BranchError(f"{what}: no branch {name!r} in this session; available: {known}")
    return found


def place_of(
    timeline: Timeline, checkpoint: str | None, iteration: int | None, way: Way | None = None, what: str = "rewind"
) -> Place:
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
        raise UsageError(f"{what}: expected either a checkpoint or --iteration, got {found}")
    if checkpoint is not None:
        branch, entry = find_checkpoint(timeline, checkpoint, what)
        if entry not in tuple(each for _, each in reachable(timeline, active, way)):
            message = f"{what}: {entry.id} is a checkpoint of branch {branch.name}, not in the history of {active.name}"
            if entry.parted_after is not None:
                message = f"{message}, whose steps were changed since"
            raise BranchError(f"{message}; switch to {holder(timeline, branch, entry).name} first")
        return Place(entry.iteration, entry)
    assert iteration is not None  # noqa: S101 - one of the two is given
    at = next((each for _, each in on_the_way(timeline, active, way) if each.iteration == iteration), None)
    if at is None and not 0 <= iteration <= active.iteration:
        message = f"{what}: expected an iteration from 0 to {active.iteration} (done on {active.name})"
        raise UsageError(f"{message}, got {iteration}; eikon debug timeline shows them")
    return Place(iteration, at)


def lost_by(timeline: Timeline, place: Place) -> Lost:
    """Return what the active branch loses by a rewind; checkpoints at which branches were forked remain.

    Everything since the two histories diverged is lost, even if the target has another number of steps.
    """
    active, target = timeline.active, place.checkpoint
    mine = active.evaluations
    its = until(mine, place.iteration) if target is None else target.evaluations
    common = shared(mine, its)
    parted = (*mine[common : common + 1], *its[common : common + 1])
    since = min((place.iteration, *(each.iteration for each in parted)))
    steps, evaluations = max(active.iteration - since, 0), len(mine) - common
    forks = {each.fork_point for each in timeline.branches}
    later = tuple(
        each
        for each in active.checkpoints
        if each.id not in forks
        and each != target
        and (each.iteration > since or (each.iteration == since and len(each.evaluations) > common))
    )
    return Lost(since=since, steps=steps, evaluations=evaluations, checkpoints=later if steps or evaluations else ())
