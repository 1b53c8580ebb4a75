"""When something was delivered to a page: its place in the timeline of a mission."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from eikon_engine.trace.record import FileModel

PHASES_PER_ACTION: Final = 2
"""Number of phases of an action: during it, and after it."""
PHASES_PER_ACTION_WITH_LOOKUP: Final = 3
"""Number of phases of an action if resolving the target is a separate phase."""


class Moment(FileModel):
    """When a response, a chunk of one or a WebSocket event was delivered."""

    order: int = Field(ge=0)
    """Position in the order of all deliveries of the mission."""
    at_ms: int = Field(ge=0)
    """Page time since the start of the mission, in milliseconds."""
    phase: int = Field(ge=0)
    """Odd while an action is performed and observed (1 for the first), even between actions."""
