"""At which checkpoints pages wait: those to which a session comes back without doing a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.parking import leads_to
from eikon_engine.debug.passing import on_the_way
from eikon_engine.errors import CheckpointError

if TYPE_CHECKING:
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.timeline import Branch, CheckpointEntry


def parked_checkpoints(journey: Journey) -> frozenset[str]:
    """Return the ids of the checkpoints at which a page waits."""
    timeline = journey.timeline
    passed = {entry.id for _, entry in on_the_way(timeline, timeline.active)}
    return frozenset(
        entry.id
        for owner, entry in timeline.checkpoints()
        if _waits(journey, timeline.active if entry.id in passed else owner, owner, entry)
    )


def _waits(journey: Journey, goes: Branch, owner: Branch, entry: CheckpointEntry) -> bool:
    """Say whether a page waits at a checkpoint of `owner` for a session that goes the way of a branch."""
    here = [line for line in journey.lines.parking.lines if line.iteration == entry.iteration]
    if not here:
        return False
    try:
        way = journey.saved_checkpoint(owner, entry).way(journey.ways[goes.name].bundle)
    except CheckpointError:
        return False  # whoever wants to go there is told
    return any(leads_to(line, way, entry.iteration) for line in here)
