"""Which checkpoints are dropped, so that a long session does not fill a disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from eikon_engine.debug.timeline import CheckpointEntry

KEPT_AUTOMATIC: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePolicy:
    """What is kept beside the checkpoints that somebody made, and those that branches began at."""

    automatic: int = KEPT_AUTOMATIC
    """How many of the checkpoints that the session made by itself; the newest ones."""


def prune(
    entries: Sequence[CheckpointEntry], forked: Collection[str], policy: PrunePolicy | None = None
) -> tuple[CheckpointEntry, ...]:
    """Return what is dropped of checkpoints of all branches; `forked` are the ids that branches began at."""
    kept = (policy or PrunePolicy()).automatic
    own = sorted(
        (each for each in entries if each.reason != "manual"), key=lambda each: (each.timestamp, each.id), reverse=True
    )
    dropped = {each.id for each in own[kept:]} - set(forked)
    return tuple(each for each in entries if each.id in dropped)
