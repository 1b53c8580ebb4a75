"""A timeline as it is drawn: each branch with its steps and checkpoints in order, its own branches where they fork."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from eikon_engine.debug.passing import left_after
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eikon_engine.debug.timeline import (
        Branch,
        CheckpointEntry,
        EvaluationEntry,
        LeftOutEntry,
        StepEntry,
        Timeline,
    )
    from eikon_engine.outcome.outcomes import Verdict

_Entry = TypeVar("_Entry", "StepEntry", "EvaluationEntry", "LeftOutEntry")

MARKS: Final[dict[Verdict, str]] = {"faithful": "✓", "diverged": "✗", "unverifiable": "?"}
"""What stands for a verdict where there is little room."""


@dataclass(frozen=True, slots=True)
class StepItem:
    """A step that was done."""

    step: StepEntry


@dataclass(frozen=True, slots=True)
class CheckpointItem:
    """A checkpoint, with the branches that begin there."""

    checkpoint: CheckpointEntry
    forks: tuple[BranchTree, ...]
    is_left: bool = False
    """Whether its branch has gone another way; it stands where that began."""

    def __str__(self) -> str:
        """Read as its label, or else why it was made, and its id."""
        made = self.checkpoint
        parked = ", parked" if made.is_parked else ""
        changed = "steps that were changed since" if made.parted_after is not None else "another way"
        left = f", at {made.iteration}, on {changed}" if self.is_left else ""
        return f"{made.label or made.reason} [{made.id}]{parked}{left}"


@dataclass(frozen=True, slots=True)
class ForkItem:
    """A branch whose checkpoint is not there any more."""

    tree: BranchTree


@dataclass(frozen=True, slots=True)
class EvaluationItem:
    """JavaScript that was run by hand."""

    evaluation: EvaluationEntry

    def __str__(self) -> str:
        """Read as what was run."""
        return f"run by hand: {self.evaluation.expression}"


@dataclass(frozen=True, slots=True)
class LeftOutItem:
    """A step of the recording that is not done."""

    left_out: LeftOutEntry

    def __str__(self) -> str:
        """Read as what is missing."""
        return f"left out: {self.left_out.label}"


@dataclass(frozen=True, slots=True)
class HereItem:
    """Where the session stands."""

    iteration: int
    step_count: int

    def __str__(self) -> str:
        """Read as a place."""
        return f"here: {self.iteration} of {counted(self.step_count, 'step')} done"


@dataclass(frozen=True, slots=True)
class ToComeItem:
    """Steps that were not done."""

    count: int

    def __str__(self) -> str:
        """Read as what is left."""
        return f"{counted(self.count, 'step')} to come"


Item: TypeAlias = StepItem | CheckpointItem | ForkItem | EvaluationItem | LeftOutItem | HereItem | ToComeItem


@dataclass(frozen=True, slots=True)
class BranchTree:
    """One branch, and what is drawn below its name."""

    branch: Branch
    is_active: bool
    items: tuple[Item, ...]

    @property
    def about(self) -> str:
        """Say in a few words what there is to know of the branch beside its name."""
        branch = self.branch
        origin = "" if branch.fork_point is None else f"from {branch.parent_branch} at [{branch.fork_point}]"
        live = "live" if branch.is_live else ""
        return ", ".join(part for part in (origin, live, "active" if self.is_active else "", *branch.doubts) if part)


def grow(timeline: Timeline) -> tuple[BranchTree, ...]:
    """Return the trees of a timeline: that of `main`, and of each branch whose parent is not there."""
    return _Growing(timeline).trees()


class _Growing:
    """Takes each branch once, whatever its file says of parents."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._left = list(timeline.branches)

    def trees(self) -> tuple[BranchTree, ...]:
        roots = [each for each in self._left if each.parent_branch is None]
        trees = [self._tree(each) for each in roots if each in self._left]
        while self._left:
            trees.append(self._tree(self._left[0]))
        return tuple(trees)

    def _tree(self, branch: Branch) -> BranchTree:
        self._left.remove(branch)
        is_active = branch.name == self._timeline.active_branch
        return BranchTree(branch=branch, is_active=is_active, items=tuple(self._items(branch, is_active=is_active)))

    def _items(self, branch: Branch, *, is_active: bool) -> Iterator[Item]:
        steps, checkpoints = _by_iteration(branch.steps), _by_place(branch)
        forks = [each for each in self._left if each.parent_branch == branch.name]
        named = {each.id for each in branch.checkpoints}
        lost = [each for each in forks if each.fork_point not in named]
        evaluations, left_out = _since_fork(branch, branch.evaluations), _since_fork(branch, branch.left_out)
        moments = {branch.iteration, *steps, *checkpoints, *(each.fork_iteration for each in lost)}
        moments |= {*evaluations, *left_out}
        for iteration in sorted(moments):
            yield from map(StepItem, steps.get(iteration, ()))
            yield from self._moments(branch, checkpoints.get(iteration, ()), evaluations.get(iteration, ()), forks)
            for fork in lost:
                if fork.fork_iteration == iteration and fork in self._left:
                    yield ForkItem(self._tree(fork))
            yield from map(LeftOutItem, left_out.get(iteration, ()))
            if is_active and iteration == branch.iteration:
                yield HereItem(branch.iteration, branch.step_count)
        if branch.step_count > branch.iteration:
            yield ToComeItem(branch.step_count - branch.iteration)

    def _moments(
        self,
        branch: Branch,
        checkpoints: Sequence[CheckpointEntry],
        evaluations: Sequence[EvaluationEntry],
        forks: list[Branch],
    ) -> Iterator[Item]:
        """Yield what there is between two steps: checkpoints before what was run by hand there, and behind it."""
        behind = [each for each in checkpoints if set(each.evaluations) & set(evaluations)]
        before = [each for each in checkpoints if each not in behind]
        for entries, run in ((before, evaluations), (behind, ())):
            for checkpoint in entries:
                is_left = left_after(branch, checkpoint) is not None
                yield CheckpointItem(checkpoint, self._forked(forks, checkpoint.id), is_left=is_left)
            yield from map(EvaluationItem, run)

    def _forked(self, forks: list[Branch], checkpoint: str) -> tuple[BranchTree, ...]:
        return tuple(self._tree(each) for each in forks if each.fork_point == checkpoint and each in self._left)


def _since_fork(branch: Branch, entries: Iterable[_Entry]) -> dict[int, list[_Entry]]:
    return _by_iteration(each for each in entries if each.iteration >= branch.fork_iteration)


def _by_iteration(entries: Iterable[_Entry]) -> dict[int, list[_Entry]]:
    found: dict[int, list[_Entry]] = {}
    for each in entries:
        found.setdefault(each.iteration, []).append(each)
    return found


def _by_place(branch: Branch) -> dict[int, list[CheckpointEntry]]:
    """Sort checkpoints by where they stand: those that their branch goes no more, where it left their way."""
    found: dict[int, list[CheckpointEntry]] = {}
    for each in branch.checkpoints:
        left = left_after(branch, each)
        found.setdefault(each.iteration if left is None else left, []).append(each)
    return found
