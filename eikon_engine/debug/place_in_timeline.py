"""Which places of a timeline words such as a label, an id or a number mean; and what going there would discard."""

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
"""Checkpoints that an error names."""


@dataclass(frozen=True, slots=True)
class Place:
    """A moment of a branch."""

    iteration: int
    checkpoint: CheckpointEntry | None = None
    """None for a moment that has no name."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What a branch loses by going back."""

    since: int
    """How many steps stay."""
    steps: int
    evaluations: int
    """How many times JavaScript was run by hand after that moment."""
    checkpoints: tuple[CheckpointEntry, ...]

    @property
    def is_anything(self) -> bool:
        """Say whether somebody has to agree to it."""
        return self.steps > 0 or self.evaluations > 0

    def __str__(self) -> str:
        """Read as what is lost."""
        counts = {
            "step": self.steps,
            "evaluation": self.evaluations,
            "checkpoint": len(self.checkpoints),
        }
        parts = [counted(count, what) for what, count in counts.items() if count]
        return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def find_checkpoint(timeline: Timeline, name: str, what: str) -> tuple[Branch, CheckpointEntry]:
    """Return a checkpoint by id, or by a label that only one has, and its branch.

    Raises:
        CheckpointMissingError: there is none.
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
            message = f"{what}: wanted a checkpoint of the session, found {name!r}; {_known(every)}"
            raise CheckpointMissingError(message)
        case _:
            ids = " and ".join(entry.id for _, entry in labelled)
            raise UsageError(f"{what}: wanted one checkpoint, found {ids} with the label {name!r}; name one by its id")


def _known(every: Sequence[tuple[Branch, CheckpointEntry]]) -> str:
    """Name the last checkpoints, for who looked for another one."""
    if not every:
        return "there is none"
    named = ", ".join(repr(entry.label) if entry.label else entry.id for _, entry in every[-_NAMED:])
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return f"there {'is' if len(every) == 1 else 'are'} {named}{more}; eikon debug checkpoint list shows all"


def demand_branch(timeline: Timeline, name: str, what: str) -> Branch:
    """Return a branch by name.

    Raises:
        BranchError: there is none.
    """
    found = timeline.branch(name)
    if found is None:
        known = ", ".join(each.name for each in timeline.branches)
        raise BranchError(f"{what}: wanted a branch of the session, found {name!r}; there are {known}")
    return found


def place_of(
    timeline: Timeline, checkpoint: str | None, iteration: int | None, way: Way | None = None, what: str = "rewind"
) -> Place:
    """Return the moment of the active branch that a checkpoint or a number of steps names.

    Without the way of that branch, its steps are not compared with those of the checkpoint.

    Raises:
        CheckpointMissingError: there is no such checkpoint.
        BranchError: the checkpoint is of a branch whose steps the active one does not have.
        UsageError: neither is named, or both are; the branch has not come so far.
    """
    active = timeline.active
    if (checkpoint is None) == (iteration is None):
        found = "neither" if checkpoint is None else "both"
        raise UsageError(f"{what}: wanted a checkpoint or --iteration, found {found}; give one of the two")
    if checkpoint is not None:
        branch, entry = find_checkpoint(timeline, checkpoint, what)
        if entry not in tuple(each for _, each in reachable(timeline, active, way)):
            message = f"{what}: {entry.id} is a checkpoint of branch {branch.name}, and not on the way of {active.name}"
            if entry.parted_after is not None:
                message = f"{message}, whose steps were changed since"
            raise BranchError(f"{message}; switch to {holder(timeline, branch, entry).name} first")
        return Place(entry.iteration, entry)
    assert iteration is not None  # noqa: S101 - one of the two is there
    at = next((each for _, each in on_the_way(timeline, active, way) if each.iteration == iteration), None)
    if at is None and not 0 <= iteration <= active.iteration:
        message = f"{what}: wanted an iteration from 0 to {active.iteration}, which {active.name} has done"
        raise UsageError(f"{message}, found {iteration}; eikon debug timeline shows them")
    return Place(iteration, at)


def lost_by(timeline: Timeline, place: Place) -> Lost:
    """Return what the active branch loses by going to a place; a checkpoint that another branch begins at stays.

    What was done since the two ways parted is lost, also where the place has another number of steps.
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
