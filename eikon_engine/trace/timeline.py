"""When recorded answers come in a sealed replay, where that is not when they came to the recording."""

from __future__ import annotations

from pydantic import Field

from eikon_engine.trace.record import Record


class Moved(Record):
    """A moment of the recorded network, and the one that takes its place.

    An agent that does not wait acts while answers are on their way. Replays let pages come to rest after each action,
    as whoever compares them has to; certifying finds out what comes then.
    """

    was: int = Field(ge=0)
    """Place in the order of everything that came to the recording."""
    order: int = Field(ge=0)
    """Place in the order of everything that comes to a replay."""
    at_ms: int = Field(ge=0)
    """Page time since the mission began."""
    phase: int = Field(ge=0)
    """Which part of the mission it comes in, as in the recorded network."""
