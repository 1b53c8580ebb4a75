"""`eikon schema`: the JSON Schema of traces."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("schema")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the schema to this file instead of standard output.",
)
def schema_command(output: Path | None) -> None:
    """Print the JSON Schema of trace.json."""
    from eikon_engine.trace.schema import schema_text
    from eikon_engine.trace.whole_file import write_whole

    text = schema_text()
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text.encode())
