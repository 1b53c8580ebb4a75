"""Which checkpoints are dropped, so that a long session does not fill a disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline import Branch, CheckpointEntry

KEPT_AUTOMATIC: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePolicy:
    """What is kept beside the checkpoints that somebody made, and those that branches began at."""

    automatic: int = KEPT_AUTOMATIC
    """How many of the checkpoints that the session made by itself, the newest ones; see `prune`."""


def prune(branches: Sequence[Branch], policy: PrunePolicy | None = None) -> tuple[CheckpointEntry, ...]:
    """Return which checkpoints of these branches are dropped.

    A mission that has gone wrong diverges at step after step: what was made before a divergence that follows upon
    another one goes before all else, and what was made before the first of a branch stays.
    """
    kept = (policy or PrunePolicy()).automatic
    stay = {branch.fork_point for branch in branches} | {_first_divergence(branch) for branch in branches}
    follow = {entry.id for branch in branches for entry in branch.checkpoints if _follows(branch, entry)}
    entries = [entry for branch in branches for entry in branch.checkpoints]
    own = sorted(
        (each for each in entries if each.reason != "manual"),
        key=lambda each: (each.id not in follow, each.timestamp, each.id),
        reverse=True,
    )
    dropped = {each.id for each in own[kept:]} - stay
    return tuple(each for each in entries if each.id in dropped)


def _first_divergence(branch: Branch) -> str | None:
    before = [entry for entry in branch.checkpoints if entry.reason == "divergence"]
    first = min(before, key=lambda each: (each.iteration, each.timestamp), default=None)
    return None if first is None else first.id


def _follows(branch: Branch, entry: CheckpointEntry) -> bool:
    """Say whether a checkpoint was made between two divergences."""
    last = next((step for step in branch.steps if step.iteration == entry.iteration), None)
    return entry.reason == "divergence" and last is not None and last.verdict == "diverged"
