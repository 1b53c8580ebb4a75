"""The JSON Schema of a scenario, generated from the models."""

from __future__ import annotations

from typing import Final

from eikon_engine.scenario.model import FORMAT_VERSION, Scenario
from eikon_engine.trace.schema import build_schema

SCHEMA_ID: Final = f"urn:eikon-engine:scenario:{FORMAT_VERSION}"


def scenario_schema() -> dict[str, object]:
    """Describe version 1 of a scenario, in JSON Schema 2020-12."""
    return build_schema(
        Scenario,
        schema_id=SCHEMA_ID,
        title="Eikon scenario",
        description="A mission with its tools, models and limits, as YAML or JSON. See docs/scenarios.md.",
    )
