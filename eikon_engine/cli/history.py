"""`eikon history`, `eikon flaky` and `eikon quarantine`: what became of each replay."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from datetime import datetime  # noqa: TC003 - click
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import click

from eikon_engine.cli.command import command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.files.models import FileModel
    from eikon_engine.history.database import History
    from eikon_engine.history.pending import HistoryPlace
    from eikon_engine.history.runs import Quarantine
    from eikon_engine.history.stability import MissionHistory
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.outcome.triage import Triage

Format: TypeAlias = Literal["text", "json"]
_LIBRARIES: Final = ("sqlalchemy", "alembic")
_MAX_RUNS: Final = 10_000
SHOWN_RUNS: Final = 50
"""Runs of each mission that are looked at unless another number is given."""

_FORMAT: Final = click.option(
    "--format",
    "kind",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="text: lines; json: all of it.",
)


def _last_option(default: int, what: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option(
        "--last", type=click.IntRange(1, _MAX_RUNS), default=default, show_default=True, metavar="N", help=what
    )


@command("history")
@click.argument("mission", required=False)
@_last_option(SHOWN_RUNS, "Runs of each mission to look at, the last ones.")
@click.option(
    "--add",
    "added",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER|OUTCOME",
    help="Store outcomes first, such as those of other machines; those that are stored already count once. Repeatable.",
)
@click.option(
    "--build", help="Build of the outcomes that --add stores.  [default: EIKON_BUILD, or the commit of the CI]"
)
@_FORMAT
def history_command(*, mission: str | None, last: int, added: tuple[Path, ...], build: str | None, kind: Format) -> int:
    """List the missions that were replayed, or the runs of MISSION: verdicts, causes, durations.

    Each `eikon replay` is stored, in the database that EIKON_HISTORY names: a file, a URL, or `off`.

    Exit status: 0 listed; 2 usage, or no such mission; 65 an outcome cannot be read; 69 the database cannot be used;
    78 its library is missing.
    """
    with _opened() as history:
        if added:
            _add(history, added, build)
        _store_pending(history)
        if mission is None:
            missions = _summaries(history, last)
            click.echo(_render_missions(missions) if kind == "text" else _as_json(missions), nl=False)
            return 0
        runs = history.last_runs(last, mission).get(mission, [])
    if not runs:
        from eikon_engine.errors import UsageError

        message = f"expected a mission that was replayed, got {mission!r}; run `eikon history` to list them"
        raise UsageError(message)
    from eikon_engine.report.history_report import render_runs

    click.echo(render_runs(runs) if kind == "text" else _as_json(runs), nl=False)
    return 0


@command("flaky")
@_last_option(SHOWN_RUNS, "Runs of each mission to look at, the last ones.")
@_FORMAT
def flaky_command(*, last: int, kind: Format) -> int:
    """List the missions that are flaky, and those that are broken, with the reasons.

    Flaky: equal runs ended differently; sealed ones, and ones of an unknown build, at least twice. Broken: the last
    runs failed.

    Exit status: 0 listed; 2 usage; 69 the database cannot be used; 78 its library is missing.
    """
    from eikon_engine.report.history_report import render_unstable

    with _opened() as history:
        _store_pending(history)
        missions = _summaries(history, last)
    unstable = [each for each in missions if each.stability != "steady"]
    click.echo(render_unstable(missions) if kind == "text" else _as_json(unstable), nl=False)
    return 0


@command("quarantine")
@click.argument("mission", required=False)
@click.option("--reason", help="Why the failures of MISSION count for nothing.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="The last day, as 2026-12-31.")
@click.option("--end", is_flag=True, help="End the quarantine of MISSION.")
def quarantine_command(*, mission: str | None, reason: str | None, until: datetime | None, end: bool) -> int:
    """List the missions in quarantine, or put MISSION into it, with a reason and a last day, or end it.

    Exit status: 0 done; 2 usage; 69 the database cannot be used; 78 its library is missing.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.files.wall_clock import utc_now
    from eikon_engine.history import Quarantine
    from eikon_engine.report.history_report import render_quarantines

    today = utc_now().date()
    if mission is None and (reason or until or end):
        raise UsageError("expected MISSION, got none")
    if mission is not None and (bool(reason or until) if end else not (reason and until)):
        raise UsageError("expected --reason and --until, or --end")
    if until is not None and until.date() < today:
        raise UsageError(f"expected a day from today ({today}) on, got {until.date()}")
    with _opened() as history:
        if mission is not None and end and not history.end_quarantine(mission):
            raise UsageError(f"expected a mission in quarantine, got {mission!r}; run `eikon quarantine` to list them")
        if mission is not None and reason and until:
            history.set_quarantine(Quarantine(mission_id=mission, reason=reason, since=today, until=until.date()))
        holding = [each for each in history.quarantines().values() if each.holds_on(today)]
    click.echo(render_quarantines(holding), nl=False)
    return 0


def remember_replay(outcome: ReplayOutcome, file: Path | str, print_line: Callable[[str], None]) -> None:
    """Keep a replay in the history, if there is one; whatever goes wrong is a line, as it changes no verdict.

    `file` is that of the outcome: its path, or its URL.
    """
    if not _has_libraries():
        return
    from eikon_engine.errors import EikonError
    from eikon_engine.history import add_pending, find_build, summarize_run

    try:
        place = _find_place()
        if place is None:
            return
        named = str(file.absolute()) if isinstance(file, Path) else file
        add_pending(place, summarize_run(outcome, named, find_build(os.environ)))
        if place.is_shared:
            from eikon_engine.history.database import open_history

            with open_history(place) as history:
                history.store_pending()
    except EikonError as error:
        print_line(f"history: {error.message}")


def compare_with_history(triage: Triage, print_line: Callable[[str], None]) -> Triage:
    """Add to the groups of a triage what earlier runs say about them; as they are if there is no history."""
    if not _has_libraries():
        return triage
    from eikon_engine.errors import HistoryError
    from eikon_engine.history.database import open_history
    from eikon_engine.history.recurrence import add_recurrence

    try:
        place = _find_place()
        if place is None or not _has_runs(place):
            return triage
        with open_history(place) as history:
            _store_pending(history)
            return add_recurrence(triage, history)
    except HistoryError as error:
        print_line(f"history: {error.message}")
        return triage


def read_missions() -> list[MissionHistory]:
    """Return what the history says about each mission; nothing if there is no history.

    Raises:
        HistoryError: the database cannot be read.
    """
    if not _has_history():
        return []
    with _opened() as history:
        _store_pending(history)
        return _summaries(history, SHOWN_RUNS)


def read_quarantines() -> list[Quarantine]:
    """Return the missions in quarantine today; none if there is no history.

    Raises:
        HistoryError: the database cannot be read.
    """
    from eikon_engine.files.wall_clock import utc_now

    if not _has_history():
        return []
    with _opened() as history:
        return [each for each in history.quarantines().values() if each.holds_on(utc_now().date())]


def _has_history() -> bool:
    place = _find_place()
    return place is not None and _has_libraries() and _has_runs(place)


def _has_runs(place: HistoryPlace) -> bool:
    return place.file is None or place.file.exists() or place.pending.exists()


def _find_place() -> HistoryPlace | None:
    from eikon_engine.errors import HistoryError
    from eikon_engine.history import find_history
    from eikon_engine.history.pending import HISTORY_OFF, HISTORY_VARIABLE

    if os.environ.get(HISTORY_VARIABLE) == HISTORY_OFF:
        return None
    try:
        return find_history(Path.home(), os.environ)
    except RuntimeError as error:  # a user without a home
        message = f"the history has no place: {error}; set EIKON_HISTORY to `off`, or HOME"
        raise HistoryError(message) from error


def _has_libraries() -> bool:
    return all(find_spec(name) is not None for name in _LIBRARIES)


@contextmanager
def _opened() -> Iterator[History]:
    from eikon_engine.errors import RequirementError, UsageError
    from eikon_engine.files.extras import install_command

    place = _find_place()
    if place is None:
        raise UsageError("EIKON_HISTORY is `off`, so there is no history; unset it, or name a file or a URL")
    if not _has_libraries():
        raise RequirementError(f'the history needs the extra "history"; run {install_command("history")}')
    from eikon_engine.history.database import open_history

    with open_history(place) as history:
        yield history


def _store_pending(history: History) -> None:
    """Store the runs that wait; a database that cannot be written is still read."""
    from eikon_engine.errors import HistoryError

    try:
        unreadable = history.store_pending()
    except HistoryError as error:
        click.echo(f"history: {error.message}", err=True)
        return
    for name in unreadable:
        click.echo(f"history: not stored: {name} cannot be read", err=True)


def _add(history: History, paths: Sequence[Path], build: str | None) -> None:
    from eikon_engine.cli.triage import find_outcomes
    from eikon_engine.gates.event_sources import read_outcome
    from eikon_engine.history import find_build, summarize_run

    chosen = find_build(os.environ) if build is None else build
    files = dict.fromkeys(find_outcomes(paths))
    history.add([summarize_run(read_outcome(file), str(file.absolute()), chosen) for file in files])


def _summaries(history: History, last: int) -> list[MissionHistory]:
    from eikon_engine.files.wall_clock import utc_now
    from eikon_engine.history import summarize_mission

    today = utc_now().date()
    quarantines = {name: each for name, each in history.quarantines().items() if each.holds_on(today)}
    runs = history.last_runs(last)
    return [summarize_mission(runs[name], quarantines.get(name)) for name in sorted(runs)]


def _render_missions(missions: Sequence[MissionHistory]) -> str:
    from eikon_engine.report.history_report import render_missions

    return render_missions(missions)


def _as_json(models: Sequence[FileModel]) -> str:
    return f"{json.dumps([each.model_dump(mode='json') for each in models], indent=2)}\n"
