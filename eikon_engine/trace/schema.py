"""The JSON Schema of `trace.json`, and helpers shared by the schemas of all formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.trace.execution import TRACE_VERSION, ExecutionTrace

if TYPE_CHECKING:
    from eikon_engine.files.models import FileModel

SCHEMA_ID: Final = f"urn:eikon-engine:trace:{TRACE_VERSION}"

REQUIRED_TAGS: Final = ("kind", "type", "trace_version", "events_version", "outcome_version", "triage_version")


def trace_schema() -> dict[str, object]:
    """Return the JSON Schema (2020-12) of version 4 of a trace."""
    return build_schema(
        ExecutionTrace,
        schema_id=SCHEMA_ID,
        title="Eikon execution trace",
        description="The recording of one browser mission: trace.json of a bundle. See docs/trace-format.md.",
    )


def build_schema(model: type[FileModel], *, schema_id: str, title: str, description: str) -> dict[str, object]:
    """Return the JSON Schema (2020-12) of a format, generated from its model."""
    schema = model.model_json_schema()
    for definition in (schema, *schema["$defs"].values()):
        _require_tags(definition)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id,
        **schema,
        "title": title,
        "description": description,
    }


def _require_tags(definition: dict[str, Any]) -> None:
    """Require versions and union tags, as parsers do although the models have defaults."""
    for name, field in definition.get("properties", {}).items():
        if name in REQUIRED_TAGS and "const" in field:
            definition["required"] = [name, *definition.get("required", [])]


def render_schema(schema: dict[str, object] | None = None) -> str:
    """Return a schema as published; that of a trace by default."""
    return json.dumps(schema or trace_schema(), indent=2, ensure_ascii=False) + "\n"
