"""`eikon history`, `eikon flaky`, `eikon quarantine`, and what replays and triage do with the history."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.history import flaky_command, history_command, quarantine_command, remember_replay
from eikon_engine.cli.replay import replay_command
from eikon_engine.cli.shell import run_command
from eikon_engine.cli.triage import triage_command
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.history import find_history
from eikon_engine.history.database import open_history
from tests.history.runs import make_run, make_runs
from tests.missions.shop import SHOP_PASSWORD
from tests.triage.test_groups import NIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from eikon_engine.history import HistoryRun

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {"history": history_command, "flaky": flaky_command, "quarantine": quarantine_command}


@pytest.fixture(autouse=True)
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Give each test a history of its own, which replays fill."""
    given = {"EIKON_HISTORY": str(tmp_path / "runs.db"), "XDG_STATE_HOME": str(tmp_path / "state")}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for name in ("EIKON_BUILD", "GITHUB_SHA", "CI_COMMIT_SHA"):
        monkeypatch.delenv(name, raising=False)
    return given


def call(command: str, *arguments: str) -> int:
    """Run a command; return its exit status."""
    made: click.Command = COMMANDS[command]
    return run_command(made, arguments, f"eikon {command}")


def store(environ: Mapping[str, str], runs: Sequence[HistoryRun], home: Path) -> None:
    """Store runs."""
    place = find_history(home, environ)
    assert place is not None
    with open_history(place) as history:
        history.add(runs)


def test_missions_are_listed_with_what_became_of_them(
    environ: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trend, durations, and why they fail."""
    store(environ, [*make_runs("++--"), *make_runs("+++", mission="cart")], tmp_path)

    assert call("history") == 0
    head, cart, order, reason = capsys.readouterr().out.splitlines()
    assert head.split() == ["MISSION", "LAST", "RUN", "VERDICT", "PASSED", "TREND", "MEDIAN", "LAST"]
    assert cart.split()[0] == "cart"
    assert order.split()[3:] == ["diverged", "2", "of", "4", "++--", "1.5", "s", "1.5", "s"]
    assert reason.startswith("  broken: failed in the last 2 runs, since 2026-01-02 03:06; test-data: GET /api/items")

    assert call("history", "--format", "json") == 0
    assert [each["trend"] for each in json.loads(capsys.readouterr().out)] == ["+++", "++--"]


def test_the_runs_of_a_mission_are_listed(
    environ: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last one first; hostile texts are harmless."""
    store(environ, [*make_runs("+-"), make_run(5, mission="\x1b[31m\u202e\n")], tmp_path)

    assert call("history", "order", "--last", "1") == 0
    _, run = capsys.readouterr().out.splitlines()
    assert run.startswith("2026-01-02 03:05  diverged  1.5 s")
    assert run.endswith("/runs/order/1/outcome.json")

    assert call("history") == 0
    shown = capsys.readouterr().out
    assert "\\x1b[31m\\x202e" in shown
    assert "\x1b" not in shown


def test_flaky_missions_come_before_broken_ones(
    environ: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steady ones are not listed."""
    runs = [*make_runs("+-", mission="broken"), *make_runs("+-+", mission="flaky"), *make_runs("+", mission="steady")]
    store(environ, runs, tmp_path)

    assert call("flaky") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["flaky: flaky +-+", "broken: broken +-"]

    assert call("flaky", "--format", "json") == 0
    assert {each["stability"] for each in json.loads(capsys.readouterr().out)} == {"flaky", "broken"}


def test_a_quarantine_is_listed_until_it_ends(
    environ: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its last day, or by command."""
    store(environ, make_runs("--"), tmp_path)
    until = str(utc_now().date() + timedelta(days=3))

    assert call("quarantine", "order", "--reason", "The shop moves.", "--until", until) == 0
    assert f"order: until {until}" in capsys.readouterr().out
    assert call("history") == 0
    assert f"in quarantine until {until}: The shop moves." in capsys.readouterr().out
    assert call("quarantine", "order", "--end") == 0
    assert capsys.readouterr().out == "no mission is in quarantine\n"


@pytest.mark.parametrize(
    ("command", "arguments", "problem"),
    [
        ("history", ["nothing"], "expected a mission that was replayed, got 'nothing'"),
        ("history", ["--add", "missing"], "missing"),
        ("quarantine", ["--end"], "expected MISSION"),
        ("quarantine", ["order"], "expected --reason and --until, or --end"),
        ("quarantine", ["order", "--end"], "expected a mission in quarantine"),
        ("quarantine", ["order", "--end", "--reason", "x"], "expected --reason and --until, or --end"),
        ("quarantine", ["order", "--reason", "x", "--until", "2020-01-01"], "expected a day from today"),
    ],
)
def test_a_wrong_call_is_one_line(
    capsys: pytest.CaptureFixture[str], command: str, arguments: list[str], problem: str
) -> None:
    """With the exit status of usage, or of a file that cannot be read."""
    assert call(command, *arguments) == (65 if "--add" in arguments else 2)
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_history_may_be_off_or_its_library_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Both are said in a line."""
    monkeypatch.setattr("eikon_engine.cli.history._LIBRARIES", ("no_such_library",))
    assert call(command) == 78
    assert "[history]" in capsys.readouterr().err

    monkeypatch.setenv("EIKON_HISTORY", "off")
    assert call(command) == 2
    assert "EIKON_HISTORY is `off`" in capsys.readouterr().err


def test_outcomes_of_other_machines_are_added_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the build that is given, or that of the CI; a triage then knows their causes."""
    folder = tmp_path / "night"
    for name, outcome in NIGHT.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "outcome.json").write_text(outcome.model_dump_json())
    monkeypatch.setenv("GITHUB_SHA", "1f2e")

    assert call("history", "--add", str(folder), "--add", str(folder), "order") == 0
    assert capsys.readouterr().out.count(" 1f2e ") == sum(each.mission_id == "order" for each in NIGHT.values())

    assert run_command(triage_command, [str(folder / "a/1")], "eikon triage") == 0
    assert "history: known since" in capsys.readouterr().out
    assert run_command(triage_command, [str(folder / "a/1"), "--no-history"], "eikon triage") == 0
    assert "history:" not in capsys.readouterr().out


def test_a_history_that_cannot_be_used_changes_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a line, and the run waits for a database that can."""
    monkeypatch.setenv("EIKON_HISTORY", "postgresql+psycopg://ada:secret-word@/runs?host=/nowhere")
    lines: list[str] = []

    remember_replay(NIGHT["a/1"], tmp_path / "outcome.json", lines.append)

    (line,) = lines
    assert line.startswith("history: ")
    assert "secret-word" not in line
    assert len(list((tmp_path / "state/eikon/history").glob("pending-*/*.json"))) == 1


def test_a_user_without_a_home_has_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container; a replay says so, and nothing if the history is off."""
    lines: list[str] = []

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.home", no_home)
    remember_replay(NIGHT["a/1"], tmp_path / "outcome.json", lines.append)
    assert lines[0].startswith("history: the history has no place")

    monkeypatch.setenv("EIKON_HISTORY", "off")
    remember_replay(NIGHT["a/1"], tmp_path / "outcome.json", pytest.fail)


@pytest.mark.browser
def test_each_replay_is_in_the_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its verdict."""
    for name in ("shop_passing", "shop_failing"):
        arguments = ["--trace", str(ROOT / "tests/data/traces" / name), "--artifacts-dir", str(tmp_path / name)]
        run_command(replay_command, [*arguments, "--secret", f"PASSWORD={SHOP_PASSWORD}"], "eikon replay")
    capsys.readouterr()

    assert call("history", "--format", "json") == 0
    missions = json.loads(capsys.readouterr().out)
    assert [(each["runs"], each["trend"]) for each in missions] == [(1, "+"), (1, "+")]


def test_a_replay_without_the_library_has_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written."""
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.setattr("eikon_engine.cli.history.find_spec", lambda _name: None)

    remember_replay(NIGHT["a/1"], tmp_path / "outcome.json", pytest.fail)

    assert not (tmp_path / "state").exists()
