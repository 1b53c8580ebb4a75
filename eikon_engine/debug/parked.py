"""The checkpoints at which contexts are parked: rewinding there runs no steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.parking import is_on_history
from eikon_engine.debug.passing import checkpoints_in_history
from eikon_engine.errors import CheckpointError

if TYPE_CHECKING:
    from eikon_engine.debug.journey import DebugSession
    from eikon_engine.debug.timeline import Branch, CheckpointEntry


def parked_checkpoints(session: DebugSession) -> frozenset[str]:
    """Return the ids of the checkpoints at which a context is parked."""
    timeline = session.timeline
    passed = {entry.id for _, entry in checkpoints_in_history(timeline, timeline.active, session.history)}
    return frozenset(
        entry.id
        for owner, entry in timeline.checkpoints()
        if _is_parked(session, timeline.active if entry.id in passed else owner, entry)
    )


def _is_parked(session: DebugSession, branch: Branch, entry: CheckpointEntry) -> bool:
    """Return whether a context is parked at a checkpoint, on the history of a branch."""
    here = [line for line in session.pool.parking.contexts if line.iteration == entry.iteration]
    if not here:
        return False
    try:
        history = session.read_checkpoint(branch, entry).history(session.histories[branch.name].bundle)
    except CheckpointError:
        return False  # reported when the user rewinds there
    return any(is_on_history(line, history, entry.iteration) for line in here)
