"""A place in the timeline of a mission."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from eikon_engine.trace.record import Record

ACTION_PHASES: Final = 2
"""Phases that an action takes: while it goes on, and after it."""
ACTING_APART_PHASES: Final = 3
"""As above, where looking for a target is a phase of its own."""


class Moment(Record):
    """When something came: an answer, a piece of one, a WebSocket message."""

    order: int = Field(ge=0)
    """Place in the order of everything that came during the mission."""
    at_ms: int = Field(ge=0)
    """Page time since the mission began, in milliseconds."""
    phase: int = Field(ge=0)
    """Odd while an action is performed and observed (1 for the first), even between actions."""
