"""`eikon import`: the recording of another tool as a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from eikon_engine.importers.formats import FORMATS

if TYPE_CHECKING:
    from eikon_engine.importers.mission import ImportedMission


@click.command(
    "import",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Formats: " + "; ".join(f"{name}, {each.summary}" for name, each in FORMATS.items()) + ".",
)
@click.argument("arguments", nargs=-1, required=True, metavar="[FORMAT] FILE")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the new bundle.")
@click.option("--test", help="The test to import, where the file holds several.")
@click.option("--partial", is_flag=True, help="Leave out the steps that cannot be carried over, each named.")
def import_command(*, arguments: tuple[str, ...], output: Path, test: str | None, partial: bool) -> None:
    """Make a bundle of FILE, the recording of another tool; FORMAT is found out where it is left out.

    The bundle holds the actions. What they lead to is not known until `eikon record --trace` has done them once.
    """
    from eikon_engine.errors import OutputError
    from eikon_engine.importers.trace_of import trace_of
    from eikon_engine.outcome.printable import printable
    from eikon_engine.record.recorder import new_mission_id
    from eikon_engine.trace.serializer import write_trace
    from eikon_engine.trace.wall_clock import fresh_id, utc_now

    mission = _read(arguments, test)
    now = utc_now()
    trace = trace_of(
        mission, now=now, trace_id=fresh_id(), mission_id=new_mission_id(mission.text, now), partial=partial
    )
    place = output / "trace.json"
    if place.exists():
        message = f"{place}: a recording is there already; choose another folder or remove it"
        raise OutputError(message)
    write_trace(trace, place)
    for line in trace.warnings[1:]:
        click.echo(printable(f"warning: {line}"), err=True)
    count = sum(len(each.actions_taken) for each in trace.subgoal_traces)
    click.echo(printable(f"{output}: {count} actions of {mission.source}; next: eikon record --trace {output} -o …"))


def _read(arguments: tuple[str, ...], test: str | None) -> ImportedMission:
    from eikon_engine.errors import ForeignFormatError, UsageError
    from eikon_engine.importers.formats import read_foreign

    *named, file = arguments
    if len(named) > 1 or any(name not in FORMATS for name in named):
        message = f"wanted [FORMAT] FILE with FORMAT one of {', '.join(FORMATS)}, found {' '.join(arguments)}"
        raise UsageError(message)
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        message = f"wanted a recording at {file}, found {error.strerror}"
        raise ForeignFormatError(message) from error
    return read_foreign(content, named[0] if named else None, test)
