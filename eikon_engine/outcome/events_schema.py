"""The JSON Schema of a line of `events.jsonl`, generated from the models."""

from __future__ import annotations

from typing import Final

from eikon_engine.outcome.events import EVENTS_VERSION, EventLine
from eikon_engine.trace.schema import build_schema

EVENTS_SCHEMA_ID: Final = f"urn:eikon-engine:events:{EVENTS_VERSION}"


def events_schema() -> dict[str, object]:
    """Return the schema of version 2 of a line, in JSON Schema 2020-12."""
    return build_schema(
        EventLine,
        schema_id=EVENTS_SCHEMA_ID,
        title="Eikon event",
        description="One line of events.jsonl: an event of a run, in the order of occurrence. See docs/events.md.",
    )
