"""`eikon debug sessions` and `eikon debug replay`: read sessions and recordings from disk."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eikon_engine.cli.debug_options import HELP, json_option, sessions_dir_option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.debug.event_replay import ToldLine


@click.command("sessions", context_settings=HELP)
@sessions_dir_option
@json_option
def sessions_command(*, parent: Path, as_json: bool) -> None:
    """List all sessions, oldest first, including ended and crashed ones.

    Exit status: 0 listed, 65 the folder cannot be read.
    """
    from eikon_engine.debug.session_list import list_sessions, render_sessions, sessions_json
    from eikon_engine.outcome.printable import printable

    sessions = list_sessions(parent)
    click.echo(sessions_json(sessions) if as_json else printable(render_sessions(parent, sessions)), nl=False)


@click.command("replay", context_settings=HELP)
@click.argument("source", type=click.Path(path_type=Path), metavar="SESSION|FOLDER|BUNDLE")
@click.option("--timed", is_flag=True, help="Keep the original delays between events, at most 5 s each.")
@click.option("--speed", metavar="FACTOR", help="Like --timed, at another speed: 2x, 0.5x.")
@click.option(
    "-f", "--filter", "types", multiple=True, metavar="TYPES", help="Only events of these comma-separated types."
)
@click.option("--from-iteration", type=click.IntRange(0), default=0, metavar="N", help="Begin with step N.")
@click.option("--from-sequence", type=click.IntRange(0), default=0, metavar="N", help="Begin with event N.")
@sessions_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines.")
def replay_command(  # noqa: PLR0913 - a parameter an option
    *,
    source: Path,
    timed: bool,
    speed: str | None,
    types: tuple[str, ...],
    from_iteration: int,
    from_sequence: int,
    parent: Path,
    as_json: bool,
) -> None:
    """Print a session, run or bundle again, event by event; no browser is started.

    Exit status: 0 printed to the end, 2 usage, 65 cannot be read, 78 no such recording, 130 stopped by Ctrl-C.
    """
    from eikon_engine.debug.event_replay import (
        COMPLETE,
        EventReplay,
        find_recording,
        parse_speed,
        parse_types,
        recorded_lines,
    )

    replay = EventReplay(
        is_timed=timed or speed is not None,
        speed=parse_speed("1x" if speed is None else speed),
        types=parse_types(types),
        from_iteration=from_iteration,
        from_sequence=from_sequence,
    )
    notes: list[str] = []
    path = find_recording(parent, source)
    told = replay.told(recorded_lines(path, notes.append), _wait)
    count = _show(told, as_json=as_json, is_live=replay.is_timed)
    if not as_json:
        click.echo(f"\n{COMPLETE}")
    if not count:
        notes.append(f"{path}: no events of these types")
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _wait(seconds: float) -> None:
    threading.Event().wait(seconds)


def _show(told: Iterable[ToldLine], *, as_json: bool, is_live: bool) -> int:
    """Print lines as they arrive if delays are kept; return their number."""
    from eikon_engine.outcome.event_text import line_text

    count = 0
    for read in told:
        for text in (read.text,) if as_json else map(line_text, read.lines, read.iterations):
            sys.stdout.write(f"{text}\n")
            count += 1
        if is_live:
            sys.stdout.flush()
    return count
