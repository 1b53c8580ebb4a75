"""`eikon debug sessions` and `eikon debug replay`: read sessions and recordings from disk."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.debug_options import json_option, sessions_dir_option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.debug.session_events import ReplayedLine


@command("sessions")
@sessions_dir_option
@json_option
def sessions_command(*, parent: Path, as_json: bool) -> None:
    """List all sessions, oldest first, including ended and crashed ones.

    Exit status: 0 listed, 65 the folder cannot be read.
    """
    from eikon_engine.debug.session_folder import list_sessions, render_sessions, render_sessions_json
    from eikon_engine.outcome.terminal import escape_control_characters

    sessions = list_sessions(parent)
    click.echo(
        render_sessions_json(sessions) if as_json else escape_control_characters(render_sessions(parent, sessions)),
        nl=False,
    )


@command("replay")
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
    from eikon_engine.debug.session_events import (
        COMPLETE,
        EventReplayOptions,
        find_recording,
        parse_speed,
        parse_types,
        read_recording,
    )

    replay = EventReplayOptions(
        is_timed=timed or speed is not None,
        speed=parse_speed("1x" if speed is None else speed),
        types=parse_types(types),
        from_iteration=from_iteration,
        from_sequence=from_sequence,
    )
    notes: list[str] = []
    path = find_recording(parent, source)
    replayed = replay.replay(read_recording(path, notes.append), _sleep)
    count = _print_lines(replayed, as_json=as_json, is_live=replay.is_timed)
    if not as_json:
        click.echo(f"\n{COMPLETE}")
    if not count:
        notes.append(f"{path}: no events of these types")
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


def _print_lines(lines: Iterable[ReplayedLine], *, as_json: bool, is_live: bool) -> int:
    """Print lines as they arrive if delays are kept; return their number."""
    from eikon_engine.report.event_text import format_event_line

    count = 0
    for read in lines:
        for text in (read.text,) if as_json else map(format_event_line, read.lines, read.iterations):
            sys.stdout.write(f"{text}\n")
            count += 1
        if is_live:
            sys.stdout.flush()
    return count
