"""`eikon schema`: print the JSON Schemas of the file formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import output_file_option

if TYPE_CHECKING:
    from pathlib import Path


@command("schema")
@click.argument(
    "of",
    type=click.Choice(["trace", "events", "scenario", "outcome", "triage"]),
    default="trace",
    metavar="[trace|events|scenario|outcome|triage]",
)
@output_file_option
def schema_command(of: str, output: Path | None) -> None:
    """Print the JSON Schema of trace.json, a line of events.jsonl, a scenario, outcome.json, or a triage as JSON."""
    from eikon_engine.files.writing import write_public
    from eikon_engine.outcome.events import events_schema
    from eikon_engine.outcome.outcomes import outcome_schema
    from eikon_engine.outcome.triage import triage_schema
    from eikon_engine.scenario.model import scenario_schema
    from eikon_engine.trace.schema import render_schema, trace_schema

    schemas = {
        "trace": trace_schema,
        "events": events_schema,
        "scenario": scenario_schema,
        "outcome": outcome_schema,
        "triage": triage_schema,
    }
    text = render_schema(schemas[of]())
    if output is None:
        click.echo(text, nl=False)
    else:
        write_public(output, text.encode())
