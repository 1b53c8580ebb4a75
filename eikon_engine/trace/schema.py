"""The JSON Schema of `trace.json`, generated from the models."""

from __future__ import annotations

import json
from typing import Any, Final

from eikon_engine.trace.execution import TRACE_VERSION, ExecutionTrace

SCHEMA_ID: Final = f"urn:eikon-engine:trace:{TRACE_VERSION}"

TAGS: Final = ("kind", "type")


def trace_schema() -> dict[str, object]:
    """Describe version 4 of a trace, in JSON Schema 2020-12."""
    schema = ExecutionTrace.model_json_schema()
    for definition in schema["$defs"].values():
        _demand_tag(definition)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        **schema,
        "title": "Eikon execution trace",
        "description": "The recording of one browser mission: trace.json of a bundle. See docs/trace-format.md.",
        "required": ["trace_version", *schema["required"]],
    }


def _demand_tag(definition: dict[str, Any]) -> None:
    """Demand the field that tells the members of a union apart; the parser does, though the model has a default."""
    for name, field in definition.get("properties", {}).items():
        if name in TAGS and "const" in field:
            definition["required"] = [name, *definition.get("required", [])]


def schema_text() -> str:
    """Write the schema as it is published."""
    return json.dumps(trace_schema(), indent=2, ensure_ascii=False) + "\n"
