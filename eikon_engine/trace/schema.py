"""The JSON Schema of `trace.json`, and what the schemas of all our formats have in common."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.trace.execution import TRACE_VERSION, ExecutionTrace

if TYPE_CHECKING:
    from eikon_engine.trace.record import Record

SCHEMA_ID: Final = f"urn:eikon-engine:trace:{TRACE_VERSION}"

TAGS: Final = ("kind", "type", "trace_version", "events_version")


def trace_schema() -> dict[str, object]:
    """Describe version 4 of a trace, in JSON Schema 2020-12."""
    return published_schema(
        ExecutionTrace,
        schema_id=SCHEMA_ID,
        title="Eikon execution trace",
        description="The recording of one browser mission: trace.json of a bundle. See docs/trace-format.md.",
    )


def published_schema(model: type[Record], *, schema_id: str, title: str, description: str) -> dict[str, object]:
    """Describe a format by its model, in JSON Schema 2020-12."""
    schema = model.model_json_schema()
    for definition in (schema, *schema["$defs"].values()):
        _demand_tags(definition)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id,
        **schema,
        "title": title,
        "description": description,
    }


def _demand_tags(definition: dict[str, Any]) -> None:
    """Demand versions, and what tells the members of a union apart; parsers do, though the models have defaults."""
    for name, field in definition.get("properties", {}).items():
        if name in TAGS and "const" in field:
            definition["required"] = [name, *definition.get("required", [])]


def schema_text(schema: dict[str, object] | None = None) -> str:
    """Write a schema as it is published; that of a trace unless told otherwise."""
    return json.dumps(schema or trace_schema(), indent=2, ensure_ascii=False) + "\n"
