"""Generate mission ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from eikon_engine.trace.execution import ExecutionTrace

_WORDS: Final = 6
_MAX_LENGTH: Final = 80


def new_mission_id(text: str, started_at: datetime) -> str:
    """Return an id built from the start time and the first words of the mission text."""
    words = "".join(each if each.isalnum() else " " for each in text.lower()).split()
    return f"{_timestamp_prefix(started_at)}{'_'.join(words[:_WORDS]) or 'mission'}"[:_MAX_LENGTH]


def redact_mission_id(trace: ExecutionTrace, redact: Callable[[str], str]) -> str:
    """Rebuild a generated id from the redacted mission text; an explicit id is unchanged.

    Redaction cannot find a secret inside an id, because its words are normalized there.
    """
    if not trace.mission_id.startswith(_timestamp_prefix(trace.started_at)):
        return trace.mission_id
    return new_mission_id(redact(trace.mission_text), trace.started_at)


def _timestamp_prefix(started_at: datetime) -> str:
    return f"{started_at:%Y%m%dT%H%M%SZ}_"
