"""The database of all runs, on SQLite and on PostgreSQL."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from eikon_engine.errors import HistoryError
from eikon_engine.history import HistoryPlace, Quarantine, add_pending, find_history
from eikon_engine.history.database import METADATA, open_history
from tests.history.runs import START, make_run, make_runs

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 2
RUNS = 50


def test_runs_read_back_as_written(place: HistoryPlace) -> None:
    """With their times and signs, the last one first, of each mission or of one."""
    order, cart = make_runs("+-?+"), make_runs("--", mission="cart")
    with open_history(place) as history:
        history.add([*order, *cart])
        history.add(order)

        assert history.last_runs(3) == {"cart": cart[::-1], "order": order[:0:-1]}
        assert history.last_runs(10, "order") == {"order": order[::-1]}
        assert history.last_runs(10, "nothing") == {}


def test_what_came_before_a_time(place: HistoryPlace) -> None:
    """The runs that a cause stopped, and the last one that passed."""
    runs = make_runs("-+--")
    with open_history(place) as history:
        history.add(runs)

        assert history.runs_with("0123abcd", before=START + timedelta(minutes=3)) == [runs[0], runs[2]]
        assert history.last_pass("order", before=START + timedelta(minutes=3)) == START + timedelta(minutes=1)
        assert history.last_pass("order", before=START + timedelta(minutes=1)) is None


def test_a_mission_is_in_quarantine_until_that_ends(place: HistoryPlace) -> None:
    """A second one replaces the first."""
    today = START.date()
    first, second = (
        Quarantine(mission_id="order", reason=reason, since=today, until=today + timedelta(days=7))
        for reason in ("The shop moves.", "The shop has moved.")
    )
    with open_history(place) as history:
        history.set_quarantine(first)
        history.set_quarantine(second)
        assert history.quarantines() == {"order": second}
        assert second.holds_on(today + timedelta(days=7))
        assert not second.holds_on(today + timedelta(days=8))

        assert history.end_quarantine("order")
        assert not history.end_quarantine("order")


def test_migrations_lead_to_the_tables(place: HistoryPlace) -> None:
    """Those that the queries use."""
    with open_history(place):
        pass

    engine = sa.create_engine(place.url if place.file is None else sa.URL.create("sqlite", database=str(place.file)))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts={"compare_type": False}), METADATA) == []
    engine.dispose()


def _write(place: HistoryPlace, first: int, ready: object) -> None:
    ready.wait()  # type: ignore[attr-defined] # a barrier
    for number in range(first, first + RUNS):
        add_pending(place, make_run(number))
        with open_history(place) as history:
            history.store_pending()


def test_two_processes_write_at_once(place: HistoryPlace) -> None:
    """They make the tables, and store each other's runs; none is lost, and none is there twice."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(WRITERS)
    writers = [context.Process(target=_write, args=(place, number * RUNS, ready)) for number in range(WRITERS)]
    for each in writers:
        each.start()
    for each in writers:
        each.join(120)

    assert [each.exitcode for each in writers] == [0] * WRITERS
    with open_history(place) as history:
        assert history.store_pending() == ()
        stored = history.last_runs(WRITERS * RUNS + 1)["order"]
    assert sorted(run.id for run in stored) == [make_run(number).id for number in range(WRITERS * RUNS)]


def test_runs_wait_while_the_database_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are stored once it is free."""
    monkeypatch.setattr("eikon_engine.history.database.BUSY_S", 0.1)
    place = find_history(tmp_path, {})
    assert place is not None
    assert place.file is not None
    with open_history(place):
        pass
    add_pending(place, make_run(1))

    other = sqlite3.connect(place.file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with open_history(place) as history:
        with pytest.raises(HistoryError, match="database is locked"):
            history.store_pending()
        assert history.last_runs(5) == {}
        other.execute("ROLLBACK")
        assert history.store_pending() == ()
        assert history.last_runs(5) == {"order": [make_run(1)]}
    other.close()
    assert list(place.pending.iterdir()) == []


def test_what_a_killed_process_leaves_is_stored(tmp_path: Path) -> None:
    """It was killed before the database was opened; a file that it wrote in part is named, and stays."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    code = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from eikon_engine.history import add_pending, find_history\n"
        "from tests.history.runs import make_run\n"
        f"add_pending(find_history(Path('/'), {environ!r}), make_run(7))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    place = find_history(tmp_path, environ)
    assert place is not None
    (place.pending / "cut.json").write_text('{"history_run_version": 1, "id"')

    with open_history(place) as history:
        assert history.store_pending() == ("cut.json",)
        assert history.last_runs(5) == {"order": [make_run(7)]}
    assert [file.name for file in place.pending.iterdir()] == ["cut.json"]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("mysql://localhost/history", "No module named"),
        ("nonsense://localhost/history", "Can't load plugin"),
        ("postgresql+psycopg://ada:secret-word@/runs?host=/nowhere", "connection"),
        ("sqlite:////proc/history.db", "unable to open"),
        ("/proc/history.db", "unable to open"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line(tmp_path: Path, url: str, problem: str) -> None:
    """Without its password."""
    place = find_history(tmp_path, {"EIKON_HISTORY": url})
    assert place is not None

    with pytest.raises(HistoryError) as raised, open_history(place):
        pass

    assert problem in raised.value.message
    assert "secret-word" not in raised.value.message
    assert "\n" not in raised.value.message


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """Nothing in it is changed."""
    place = find_history(tmp_path, {})
    assert place is not None
    with open_history(place):
        pass
    with sqlite3.connect(str(place.file)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(HistoryError, match="newer version of Eikon"), open_history(place):
        pass


def test_a_run_of_a_newer_version_is_said(tmp_path: Path) -> None:
    """It may have a cause that this version does not know."""
    place = find_history(tmp_path, {})
    assert place is not None
    with open_history(place) as history:
        history.add([make_run(1)])
        with sqlite3.connect(str(place.file)) as connection:
            connection.execute("UPDATE runs SET cause = 'moon-phase'")
        with pytest.raises(HistoryError, match="newer version of Eikon"):
            history.last_runs(5)


def test_many_runs_are_stored_and_listed_quickly(tmp_path: Path) -> None:
    """A limit far from the figure of the benchmark, against statements that take one round trip a run."""
    place = find_history(tmp_path, {})
    assert place is not None
    runs = [make_run(number, "+-"[number % 2], mission=f"m{number % 100}") for number in range(5_000)]
    begin = time.monotonic()
    with open_history(place) as history:
        history.add(runs)
        assert len(history.last_runs(10)) == 100
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("form", ["", "{0}/new/runs.db", "sqlite:///{0}/runs.db"])
def test_a_new_database_is_for_its_user_only(tmp_path: Path, form: str) -> None:
    """With the files that SQLite writes beside it, and the folders; the runs tell about pages."""
    place = find_history(tmp_path, {"EIKON_HISTORY": form.format(tmp_path)})
    assert place is not None
    before = os.umask(0)
    try:
        add_pending(place, make_runs("+")[0])
        with open_history(place) as history:
            history.add(make_runs("+-"))
            written = list(tmp_path.rglob("*"))
            modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in written}
    finally:
        os.umask(before)

    assert modes == {(True, 0o700), (False, 0o600)}
    assert any(path.name.endswith("-wal") for path in written)
