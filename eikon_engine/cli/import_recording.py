"""`eikon import`: convert the recording of another tool to a bundle."""

from __future__ import annotations

from pathlib import Path

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import output_option
from eikon_engine.importers.formats import FORMATS


@command(
    "import",
    epilog="Formats: " + "; ".join(f"{name}, {each.summary}" for name, each in FORMATS.items()) + ".",
)
@click.argument("arguments", nargs=-1, required=True, metavar="[FORMAT] FILE")
@output_option("Folder of the new bundle.", holds="bundle", required=True)
@click.option("--test", help="Test to import, if the file contains several.")
@click.option(
    "--har",
    type=click.Path(path_type=Path),
    help="HAR file of the same run, to provide the network if the recording has none or only a part.",
)
@click.option("--partial", is_flag=True, help="Skip steps that cannot be imported, with a warning for each.")
def import_command(
    *, arguments: tuple[str, ...], output: Path, test: str | None, har: Path | None, partial: bool
) -> None:
    """Convert FILE, the recording of another tool, to a bundle. FORMAT is detected if omitted.

    The bundle contains the actions, and the network if the file has one. It has no observations until `eikon certify`
    replays it, or `eikon record --trace` records its actions.
    """
    from eikon_engine.files.wall_clock import random_id, utc_now
    from eikon_engine.importers.foreign_file import open_foreign_file
    from eikon_engine.importers.formats import import_recording
    from eikon_engine.outcome.terminal import safe_line
    from eikon_engine.record.import_bundle import with_har, write_import

    form, path = _parse_arguments(arguments)
    with open_foreign_file(path) as file:
        imported = with_har(import_recording(file, form, test), har)
        written = write_import(imported, output, now=utc_now(), fresh_id=random_id, partial=partial)
    for line in written.trace.warnings:
        if not line.startswith("imported from "):
            click.echo(safe_line(f"warning: {line}"), err=True)
    count = sum(len(each.actions_taken) for each in written.trace.subgoal_traces)
    click.echo(safe_line(f"{output}: {count} actions of {written.source}; next: {written.next_command}"))


def _parse_arguments(arguments: tuple[str, ...]) -> tuple[str | None, Path]:
    from eikon_engine.errors import UsageError

    *named, file = arguments
    if len(named) > 1 or any(name not in FORMATS for name in named):
        message = f"expected [FORMAT] FILE with FORMAT one of {', '.join(FORMATS)}, got {' '.join(arguments)}"
        raise UsageError(message)
    return named[0] if named else None, Path(file)
