"""When recorded responses are delivered in a sealed replay, if that differs from the recording."""

from __future__ import annotations

from pydantic import Field

from eikon_engine.trace.record import FileModel


class MovedDelivery(FileModel):
    """A moment of the recorded network and its replacement.

    An agent that does not wait acts while responses are pending. Replays wait for idle pages after each action, as any
    comparison requires; `eikon certify` determines what is delivered when.
    """

    was: int = Field(ge=0)
    """Position in the order of everything delivered in the recording."""
    order: int = Field(ge=0)
    """Position in the order of everything delivered in a replay."""
    at_ms: int = Field(ge=0)
    """Page time since the start of the mission."""
    phase: int = Field(ge=0)
    """Phase of the mission in which it is delivered, as in the recorded network."""
