"""A timeline as a tree: the steps and checkpoints of each branch in order, with child branches at their forks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from eikon_engine.debug.timeline_queries import left_history_after
from eikon_engine.files.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eikon_engine.debug.timeline import (
        Branch,
        CheckpointEntry,
        EvaluationEntry,
        SkippedStepEntry,
        StepEntry,
        Timeline,
    )
    from eikon_engine.outcome.outcomes import Verdict

_Entry = TypeVar("_Entry", "StepEntry", "EvaluationEntry", "SkippedStepEntry")

VERDICT_SYMBOLS: Final[dict[Verdict, str]] = {"faithful": "✓", "diverged": "✗", "unverifiable": "?"}
"""Symbol of each verdict."""


@dataclass(frozen=True, slots=True)
class StepItem:
    """A done step."""

    step: StepEntry


@dataclass(frozen=True, slots=True)
class CheckpointItem:
    """A checkpoint, with the branches forked there."""

    checkpoint: CheckpointEntry
    forks: tuple[BranchTree, ...]
    is_off_branch: bool = False
    """Whether its branch diverged from it; it is listed where that happened."""

    def __str__(self) -> str:
        """Return its label or reason, and its id."""
        made = self.checkpoint
        parked = ", parked" if made.is_parked else ""
        changed = "steps that were changed since" if made.parted_after is not None else "another history"
        left = f", at {made.iteration}, on {changed}" if self.is_off_branch else ""
        return f"{made.label or made.reason} [{made.id}]{parked}{left}"


@dataclass(frozen=True, slots=True)
class OrphanForkItem:
    """A branch whose checkpoint no longer exists."""

    tree: BranchTree


@dataclass(frozen=True, slots=True)
class EvaluationItem:
    """JavaScript that the user ran."""

    evaluation: EvaluationEntry

    def __str__(self) -> str:
        """Return the expression."""
        return f"run manually: {self.evaluation.expression}"


@dataclass(frozen=True, slots=True)
class SkippedStepItem:
    """A skipped step of the recording."""

    skipped: SkippedStepEntry

    def __str__(self) -> str:
        """Return the skipped step."""
        return f"skipped: {self.skipped.label}"


@dataclass(frozen=True, slots=True)
class PositionItem:
    """The session's position."""

    iteration: int
    step_count: int

    def __str__(self) -> str:
        """Return the position."""
        return f"here: {self.iteration} of {pluralize(self.step_count, 'step')} done"


@dataclass(frozen=True, slots=True)
class RemainingStepsItem:
    """Steps that were not run."""

    count: int

    def __str__(self) -> str:
        """Return the number of remaining steps."""
        return f"{pluralize(self.count, 'step')} left"


Item: TypeAlias = (
    StepItem | CheckpointItem | OrphanForkItem | EvaluationItem | SkippedStepItem | PositionItem | RemainingStepsItem
)


@dataclass(frozen=True, slots=True)
class BranchTree:
    """One branch and its items."""

    branch: Branch
    is_active: bool
    items: tuple[Item, ...]

    @property
    def details(self) -> str:
        """Return details of the branch besides its name."""
        branch = self.branch
        origin = "" if branch.fork_point is None else f"from {branch.parent_branch} at [{branch.fork_point}]"
        live = "live" if branch.is_live else ""
        return ", ".join(part for part in (origin, live, "active" if self.is_active else "", *branch.doubts) if part)


def build_trees(timeline: Timeline) -> tuple[BranchTree, ...]:
    """Return the trees of a timeline: that of `main`, and those of branches without a parent."""
    return _TreeBuilder(timeline).trees()


class _TreeBuilder:
    """Adds each branch once, whatever its file says about parents."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._remaining = list(timeline.branches)

    def trees(self) -> tuple[BranchTree, ...]:
        roots = [each for each in self._remaining if each.parent_branch is None]
        trees = [self._tree(each) for each in roots if each in self._remaining]
        while self._remaining:
            trees.append(self._tree(self._remaining[0]))
        return tuple(trees)

    def _tree(self, branch: Branch) -> BranchTree:
        self._remaining.remove(branch)
        is_active = branch.name == self._timeline.active_branch
        return BranchTree(branch=branch, is_active=is_active, items=tuple(self._items(branch, is_active=is_active)))

    def _items(self, branch: Branch, *, is_active: bool) -> Iterator[Item]:
        steps, checkpoints = _by_iteration(branch.steps), _by_listing_iteration(branch)
        forks = [each for each in self._remaining if each.parent_branch == branch.name]
        named = {each.id for each in branch.checkpoints}
        lost = [each for each in forks if each.fork_point not in named]
        evaluations, left_out = _since_fork(branch, branch.evaluations), _since_fork(branch, branch.left_out)
        moments = {branch.iteration, *steps, *checkpoints, *(each.fork_iteration for each in lost)}
        moments |= {*evaluations, *left_out}
        for iteration in sorted(moments):
            yield from map(StepItem, steps.get(iteration, ()))
            yield from self._checkpoint_items(
                branch, checkpoints.get(iteration, ()), evaluations.get(iteration, ()), forks
            )
            for fork in lost:
                if fork.fork_iteration == iteration and fork in self._remaining:
                    yield OrphanForkItem(self._tree(fork))
            yield from map(SkippedStepItem, left_out.get(iteration, ()))
            if is_active and iteration == branch.iteration:
                yield PositionItem(branch.iteration, branch.step_count)
        if branch.step_count > branch.iteration:
            yield RemainingStepsItem(branch.step_count - branch.iteration)

    def _checkpoint_items(
        self,
        branch: Branch,
        checkpoints: Sequence[CheckpointEntry],
        evaluations: Sequence[EvaluationEntry],
        forks: list[Branch],
    ) -> Iterator[Item]:
        """Yield the items between two steps: checkpoints before and after manual JavaScript."""
        behind = [each for each in checkpoints if set(each.evaluations) & set(evaluations)]
        before = [each for each in checkpoints if each not in behind]
        for entries, run in ((before, evaluations), (behind, ())):
            for checkpoint in entries:
                is_left = left_history_after(branch, checkpoint) is not None
                yield CheckpointItem(checkpoint, self._forks_at(forks, checkpoint.id), is_off_branch=is_left)
            yield from map(EvaluationItem, run)

    def _forks_at(self, forks: list[Branch], checkpoint: str) -> tuple[BranchTree, ...]:
        return tuple(self._tree(each) for each in forks if each.fork_point == checkpoint and each in self._remaining)


def _since_fork(branch: Branch, entries: Iterable[_Entry]) -> dict[int, list[_Entry]]:
    return _by_iteration(each for each in entries if each.iteration >= branch.fork_iteration)


def _by_iteration(entries: Iterable[_Entry]) -> dict[int, list[_Entry]]:
    found: dict[int, list[_Entry]] = {}
    for each in entries:
        found.setdefault(each.iteration, []).append(each)
    return found


def _by_listing_iteration(branch: Branch) -> dict[int, list[CheckpointEntry]]:
    """Group checkpoints by where they are listed: those that their branch left, where it left them."""
    found: dict[int, list[CheckpointEntry]] = {}
    for each in branch.checkpoints:
        left = left_history_after(branch, each)
        found.setdefault(each.iteration if left is None else left, []).append(each)
    return found
