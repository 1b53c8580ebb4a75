"""`eikon schema`: print the JSON Schemas of the file formats."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("schema", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "of",
    type=click.Choice(["trace", "events", "scenario", "outcome", "triage"]),
    default="trace",
    metavar="[trace|events|scenario|outcome|triage]",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the schema to this file instead of standard output.",
)
def schema_command(of: str, output: Path | None) -> None:
    """Print the JSON Schema of trace.json, a line of events.jsonl, a scenario, outcome.json, or a triage as JSON."""
    from eikon_engine.files.writing import write_atomically
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
        write_atomically(output, text.encode())
