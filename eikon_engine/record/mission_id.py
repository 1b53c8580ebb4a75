"""Ids of missions that nobody named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from eikon_engine.trace.execution import ExecutionTrace

_WORDS: Final = 6
_LONGEST: Final = 80


def new_mission_id(text: str, started_at: datetime) -> str:
    """Build an id that says when and what."""
    words = "".join(each if each.isalnum() else " " for each in text.lower()).split()
    return f"{_stamp(started_at)}{'_'.join(words[:_WORDS]) or 'mission'}"[:_LONGEST]


def clean_mission_id(trace: ExecutionTrace, clean: Callable[[str], str]) -> str:
    """Return the id without what `clean` takes out of the text of its mission, of whose words it was built.

    The words of a secret look otherwise in an id, so that they are not found there. An id that was given stays.
    """
    if not trace.mission_id.startswith(_stamp(trace.started_at)):
        return trace.mission_id
    return new_mission_id(clean(trace.mission_text), trace.started_at)


def _stamp(started_at: datetime) -> str:
    return f"{started_at:%Y%m%dT%H%M%SZ}_"
