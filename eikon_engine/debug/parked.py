"""The checkpoints at which contexts are parked: rewinding there runs no steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.parking import leads_to
from eikon_engine.debug.passing import on_the_way
from eikon_engine.errors import CheckpointError

if TYPE_CHECKING:
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.timeline import Branch, CheckpointEntry


def parked_checkpoints(journey: Journey) -> frozenset[str]:
    """Return the ids of the checkpoints at which a context is parked."""
    timeline = journey.timeline
    passed = {entry.id for _, entry in on_the_way(timeline, timeline.active, journey.way)}
    return frozenset(
        entry.id
        for owner, entry in timeline.checkpoints()
        if _waits(journey, timeline.active if entry.id in passed else owner, entry)
    )


def _waits(journey: Journey, goes: Branch, entry: CheckpointEntry) -> bool:
    """Return whether a context is parked at a checkpoint, on the history of a branch."""
    here = [line for line in journey.lines.parking.lines if line.iteration == entry.iteration]
    if not here:
        return False
    try:
        history = journey.saved_checkpoint(goes, entry).way(journey.ways[goes.name].bundle)
    except CheckpointError:
        return False  # reported when the user rewinds there
    return any(leads_to(line, history, entry.iteration) for line in here)
