"""`eikon events`: print the events of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eikon_engine.cli.command import command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.read_events import ParsedLine

_CHUNK = 1 << 16


@command("events")
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE|FOLDER|-")
@click.option(
    "--filter", "filters", multiple=True, metavar="FIELD=VALUE", help="Print only events that match all filters."
)
@click.option("--follow", is_flag=True, help="Wait for more events until the run ends; the file need not exist yet.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines unchanged.")
def events_command(*, source: Path, filters: tuple[str, ...], follow: bool, as_json: bool) -> None:
    """Print the events of a run: an events.jsonl, the folder that contains it, or standard input.

    Exit status: 0 read to its end, 2 usage, 65 unreadable, 130 stopped by Ctrl-C.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.outcome.event_filter import parse_filters
    from eikon_engine.outcome.event_log import EVENTS_FILE
    from eikon_engine.outcome.read_events import follow_events
    from eikon_engine.report.event_text import format_event_line

    expected = parse_filters(filters)
    is_stream = str(source) == "-"
    if follow and is_stream:
        message = "--follow: expected a file, got standard input, which is always read to its end"
        raise UsageError(message)
    path = source / EVENTS_FILE if source.is_dir() or (follow and source.suffix != ".jsonl") else source
    for read in follow_events(path) if follow else _read_all(None if is_stream else path):
        shown = [line for line in read.lines if all(each.matches(line.event) for each in expected)]
        if as_json and shown:
            click.echo(read.text)
        elif not as_json:
            for line in shown:
                click.echo(format_event_line(line))


def _read_all(path: Path | None) -> Iterator[ParsedLine]:
    """Yield all lines; report on standard error if the file does not end with the run."""
    from eikon_engine.errors import EventsError
    from eikon_engine.outcome.read_events import EventsParser, open_events

    name = "standard input" if path is None else str(path)
    reader = EventsParser(name)
    try:
        with open(0, "rb", buffering=0, closefd=False) if path is None else open_events(path) as file:
            while data := file.read(_CHUNK):
                yield from reader.feed(data)
    except OSError as error:
        raise EventsError(f"{name}: cannot read the events ({error.strerror}); check the path") from error
    last, truncated_line = reader.finish()
    if last is not None:
        yield last
    if truncated_line is not None:
        click.echo(f"note: {truncated_line}", err=True)
    if not reader.has_ended:
        click.echo(f"note: {name}: no run_end: the run is still going on, or was killed", err=True)
    sys.stderr.flush()
