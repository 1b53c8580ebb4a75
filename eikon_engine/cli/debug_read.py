"""`eikon debug sessions` and `eikon debug replay`: what lies on the disk."""

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
    """List the sessions in the order in which they began; those that ended or crashed are kept.

    Exit status: 0 listed, 65 the folder cannot be read.
    """
    from eikon_engine.debug.session_list import list_sessions, render_sessions, sessions_json
    from eikon_engine.outcome.printable import printable

    sessions = list_sessions(parent)
    click.echo(sessions_json(sessions) if as_json else printable(render_sessions(parent, sessions)), nl=False)


@click.command("replay", context_settings=HELP)
@click.argument("source", type=click.Path(path_type=Path), metavar="SESSION|FOLDER|BUNDLE")
@click.option("--timed", is_flag=True, help="Wait between events as long as it took; gaps are cut to 5 s.")
@click.option("--speed", metavar="FACTOR", help="As --timed, so many times as fast: 2x, 0.5x.")
@click.option(
    "-f", "--filter", "types", multiple=True, metavar="TYPES", help="Events of these types alone, separated by commas."
)
@click.option("--from-iteration", type=click.IntRange(0), default=0, metavar="N", help="Begin with step N.")
@click.option("--from-sequence", type=click.IntRange(0), default=0, metavar="N", help="Begin with event N.")
@sessions_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print the events as they are written, a line each.")
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
    """Tell a session, a run or a bundle once more, event by event; no browser is started.

    Exit status: 0 told to its end, 2 usage, 65 it cannot be read, 78 there is none, 130 stopped by Ctrl-C.
    """
    from eikon_engine.debug import event_replay

    replay = event_replay.EventReplay(
        is_timed=timed or speed is not None,
        speed=event_replay.parse_speed("1x" if speed is None else speed),
        types=event_replay.parse_types(types),
        from_iteration=from_iteration,
        from_sequence=from_sequence,
    )
    notes: list[str] = []
    path = event_replay.find_recording(parent, source)
    told = replay.told(event_replay.recorded_lines(path, notes.append), _wait)
    count = _show(told, as_json=as_json, is_live=replay.is_timed)
    if not as_json:
        click.echo(f"\n{event_replay.COMPLETE}")
    if not count:
        notes.append(f"{path}: no event is of these types")
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _wait(seconds: float) -> None:
    threading.Event().wait(seconds)


def _show(told: Iterable[ToldLine], *, as_json: bool, is_live: bool) -> int:
    """Print events, each as it comes where time passes between them; return how many there were."""
    from eikon_engine.outcome.event_text import line_text

    count = 0
    for read in told:
        for text in (read.text,) if as_json else map(line_text, read.lines, read.iterations):
            sys.stdout.write(f"{text}\n")
            count += 1
        if is_live:
            sys.stdout.flush()
    return count
