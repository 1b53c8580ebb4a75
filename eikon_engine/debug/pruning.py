"""Delete surplus checkpoints, so that a long session does not fill the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline import Branch, CheckpointEntry

DEFAULT_RETAINED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """What is retained besides manual checkpoints and those at which branches were forked."""

    automatic: int = DEFAULT_RETAINED
    """How many automatic checkpoints are retained, newest first; see `select_surplus`."""


def select_surplus(branches: Sequence[Branch], policy: RetentionPolicy | None = None) -> tuple[CheckpointEntry, ...]:
    """Return the checkpoints to delete.

    A mission that went wrong diverges at step after step: checkpoints before follow-up divergences are deleted first,
    and the one before the first divergence of a branch is retained.
    """
    kept = (policy or RetentionPolicy()).automatic
    stay = {branch.fork_point for branch in branches} | {_first_divergence(branch) for branch in branches}
    follow = {entry.id for branch in branches for entry in branch.checkpoints if _is_follow_up(branch, entry)}
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


def _is_follow_up(branch: Branch, entry: CheckpointEntry) -> bool:
    """Return whether a checkpoint was created between two divergences."""
    last = next((step for step in branch.steps if step.iteration == entry.iteration), None)
    return entry.reason == "divergence" and last is not None and last.verdict == "diverged"
