"""Suites that are really replayed, and really killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

import psutil
import pytest

from eikon_engine.cli.replay import replay_command
from eikon_engine.cli.suite import suite_command
from eikon_engine.outcome.suite_results import MissionResult, SuiteResult
from eikon_engine.suite.missions import find_missions
from eikon_engine.suite.run import SuiteOptions, run_suite
from tests.commands import run_here
from tests.report.test_ci_formats import junit_schema
from tests.suite.bundles import TRACES, copy_bundle
from tests.until import GENEROUS_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.browser


def bundles(folder: Path, *names: str) -> Path:
    """Copy the smallest bundle under several names."""
    for name in names:
        copy_bundle("shop_failing", folder / "traces" / name)
    return folder / "traces"


def results(folder: Path) -> SuiteResult:
    """Read suite.json."""
    return SuiteResult.model_validate_json((folder / "suite.json").read_bytes())


def run(
    traces: Path, options: SuiteOptions, on_result: Callable[[MissionResult], None] = lambda _result: None
) -> SuiteResult:
    """Replay the bundles of a folder."""
    return run_suite(find_missions([traces]), options, lambda _mission: {}, on_result)


def test_a_suite_reports_each_mission_and_ends_with_the_worst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faithful, diverged, unreadable: the others are replayed all the same."""
    monkeypatch.chdir(tmp_path)
    bundles(tmp_path, "good", "sub/folder")
    copy_bundle("shop_diverging", tmp_path / "traces" / "other")
    (tmp_path / "traces" / "bad").mkdir()
    (tmp_path / "traces" / "bad" / "trace.json").write_text("{")

    done = run_here(suite_command, ["run", "traces", "--workers", "2", "--artifacts-dir", "out"], "eikon suite")

    assert done.returncode == 1
    assert "4 replays: 2 faithful, 1 diverged, 1 failed" in done.stdout
    assert [line.split()[:2] for line in sorted(done.stderr.splitlines())] == [
        ["diverged", "traces/other"],
        ["failed", "traces/bad"],
    ]
    assert "faithful to a mission that failed: target-missing: " in done.stdout
    suite = results(tmp_path / "out")
    assert [(each.name, each.verdict, each.exit_status) for each in suite.results] == [
        ("traces/bad", "failed", 65),
        ("traces/good", "faithful", 0),
        ("traces/other", "diverged", 1),
        ("traces/sub/folder", "faithful", 0),
    ]
    junit_schema().validate((tmp_path / "out" / "junit.xml").read_text())
    page = (tmp_path / "out" / "suite.html").read_text()
    assert 'href="missions/traces/other/report.html"' in page
    assert (tmp_path / "out" / "missions" / "traces" / "other" / "report.html").is_file()
    assert "other" in (tmp_path / "out" / "triage.html").read_text()

    again = run_here(
        suite_command, ["run", "traces", "--last-failed", "--json", "--artifacts-dir", "out"], "eikon suite"
    )

    assert [each["name"] for each in json.loads(again.stdout)["results"]] == ["traces/bad", "traces/other"]
    assert results(tmp_path / "out.1") == suite


def workers() -> list[psutil.Process]:
    """Return the processes that replay."""
    return [each for each in psutil.Process().children() if any("spawn_main" in word for word in each.cmdline())]


def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path) -> None:
    """Its missions are replayed once more, and marked."""
    traces = bundles(tmp_path, "a", "b", "c")
    killed: list[int] = []

    def kill_once(_result: MissionResult) -> None:
        if not killed:
            (worker,) = workers()
            killed.append(worker.pid)
            worker.suspend()  # so that it answers none of its jobs, and is given further ones, before it is killed
            Timer(1, worker.kill).start()

    suite = run(traces, SuiteOptions(folder=tmp_path / "out", workers=1, repeat=2), kill_once)

    assert killed
    assert [(each.verdict, each.key) for each in suite.results] == [
        ("faithful", (each.name, each.repeat)) for each in suite.planned
    ]
    retried = {each.retried for each in suite.results} - {""}
    assert retried == {"its worker process ended (SIGKILL)"}
    assert len(list((tmp_path / "out").rglob("replay_2"))) == 3
    assert workers() == []


def test_a_killed_suite_resumes(tmp_path: Path) -> None:
    """No finished mission is replayed again, and no process is left."""
    traces = bundles(tmp_path, "a", "b", "c", "d")
    command = [sys.executable, "-m", "eikon_engine", "suite", "run", str(traces), "--workers", "1"]
    command += ["--artifacts-dir", str(tmp_path / "out")]
    environ = {**os.environ, "EIKON_HISTORY": "off"}
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: journal_lines(tmp_path) >= 2, "the first result", GENEROUS_S)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    _, alive = psutil.wait_procs(children, timeout=GENEROUS_S)
    before = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    with (tmp_path / "out" / "results.jsonl").open("a") as journal:
        journal.write('{"name": "trac')  # what a full disk or a power failure leaves

    resumed = subprocess.run([*command, "--resume"], env=environ, check=False, capture_output=True, text=True)

    assert alive == []
    assert resumed.returncode == 0, resumed.stderr
    assert (tmp_path / "out" / "results.jsonl").read_text().splitlines()[: len(before)] == before
    assert [each.verdict for each in results(tmp_path / "out").results] == ["faithful"] * 4
    other = subprocess.run(
        [*command, "--resume", "--repeat", "2"], env=environ, check=False, capture_output=True, text=True
    )
    assert other.returncode == 2
    assert "--resume expected the same missions and options as before" in other.stderr


def journal_lines(folder: Path) -> int:
    """Return how many lines were written."""
    path = folder / "out" / "results.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_an_interrupted_suite_keeps_its_results(tmp_path: Path) -> None:
    """Ctrl-C: one line, the reports of what was replayed, exit status 130, and no process left."""
    traces = bundles(tmp_path, "a", "b", "c", "d")
    command = [sys.executable, "-m", "eikon_engine", "suite", "run", str(traces), "--workers", "1", "--repeat", "9"]
    command += ["--artifacts-dir", str(tmp_path / "out")]
    environ = {**os.environ, "EIKON_HISTORY": "off"}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: journal_lines(tmp_path) >= 2, "the first result", GENEROUS_S)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=GENEROUS_S)

    assert process.returncode == 130
    assert errors.splitlines() == ["eikon: stopped by the user (code interrupted)"]
    assert psutil.wait_procs(children, timeout=GENEROUS_S)[1] == []
    suite = results(tmp_path / "out")
    assert suite.ended_early == "interrupted"
    assert 1 <= len(suite.results) < 36
    junit_schema().validate((tmp_path / "out" / "junit.xml").read_text())


def test_a_mission_without_time_fails_alone(tmp_path: Path) -> None:
    """The browser it shared serves the next one."""
    traces = bundles(tmp_path, "a")

    suite = run(traces, SuiteOptions(folder=tmp_path / "out", workers=1, mission_timeout_s=0.01))

    (result,) = suite.results
    assert (result.verdict, result.exit_status) == ("failed", 1)
    assert "took more than 0.01 s" in result.summary


def test_a_suite_stops_at_the_first_failure_or_late(tmp_path: Path) -> None:
    """What was not replayed is named, and counts as unverifiable."""
    traces = bundles(tmp_path, "b", "c", "d", "e")
    copy_bundle("shop_diverging", traces / "a")

    fast = run(traces, SuiteOptions(folder=tmp_path / "fast", workers=1, fail_fast=True, repeat=3))
    late = run(traces, SuiteOptions(folder=tmp_path / "late", workers=1, suite_timeout_s=1e-9))

    assert fast.ended_early.startswith("--fail-fast after ")
    assert fast.exit_status == 1
    assert fast.missing
    assert (late.results, len(late.missing), late.exit_status) == ((), 5, 3)


def test_a_mission_in_quarantine_does_not_fail_the_suite(tmp_path: Path) -> None:
    """Its result is listed with the reason."""
    copy_bundle("shop_diverging", tmp_path / "traces" / "a")

    options = SuiteOptions(folder=tmp_path / "out", workers=1, quarantines={"a": "the shop is being rebuilt"})
    suite = run(tmp_path / "traces", options)

    assert suite.exit_status == 0
    assert [(each.verdict, each.quarantine) for each in suite.results] == [("diverged", "the shop is being rebuilt")]
    case = (tmp_path / "out" / "junit.xml").read_text()
    assert "<skipped" in case
    assert "<failure" not in case


def test_shards_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reports of both lie in their folders, and no mission is counted twice."""
    monkeypatch.chdir(tmp_path)
    bundles(tmp_path, "a", "b")
    copy_bundle("shop_diverging", tmp_path / "traces" / "c")
    for number in (1, 2):
        words = ["run", "traces", "--shard", f"{number}/2", "--artifacts-dir", f"out{number}", "-j", "1"]
        run_here(suite_command, words, "eikon suite")

    merged = run_here(suite_command, ["merge", "out1", "out2/suite.json", "--artifacts-dir", "all"], "eikon suite")
    twice = run_here(suite_command, ["merge", "out1", "out1", "--artifacts-dir", "more"], "eikon suite")

    assert merged.returncode == 1
    assert "3 replays: 2 faithful, 1 diverged" in merged.stdout
    whole = results(tmp_path / "all")
    assert [each.name for each in whole.results] == ["traces/a", "traces/b", "traces/c"]
    assert all((tmp_path / "all" / each.artifacts / "outcome.json").is_file() for each in whole.results)
    assert twice.returncode == 2
    assert "expected other missions than in the other results" in twice.stderr


def test_two_bundles_of_one_mission_are_refused(tmp_path: Path) -> None:
    """Their histories would mix."""
    for name in ("a", "b"):
        copy_bundle("shop_failing", tmp_path / name / "same")

    done = run_here(suite_command, ["run", tmp_path, "--artifacts-dir", tmp_path / "out"], "eikon suite")

    assert done.returncode == 2
    assert "mission 'same' is in " in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_ends_as_with_pytest(tmp_path: Path) -> None:
    """One line, exit status 5."""
    done = run_here(suite_command, ["run", tmp_path], "eikon suite")

    assert done.returncode == 5
    assert done.stderr == (
        f"eikon suite: {tmp_path}: expected bundles in or below the folder, got none (code no-missions)\n"
    )


def test_other_files_are_not_moved_aside(tmp_path: Path) -> None:
    """A folder that is no suite's stays."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").touch()

    done = run_here(suite_command, ["run", TRACES / "shop_failing", "--artifacts-dir", tmp_path / "out"], "eikon suite")

    assert done.returncode == 2
    assert "holds files that are no results of a suite (notes.txt)" in done.stderr


def test_several_bundles_are_replayed_as_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By position or with --trace, which is repeatable; not with both."""
    monkeypatch.chdir(tmp_path)
    bundles(tmp_path, "a", "b")

    done = run_here(
        replay_command, ["--trace", "traces/a", "--trace=traces/b", "--network", "snapshot"], "eikon replay"
    )
    both = run_here(replay_command, ["traces/a", "--trace", "traces/b"], "eikon replay")
    none = run_here(replay_command, ["--network", "sealed"], "eikon replay")
    one_only = run_here(replay_command, ["traces/a", "traces/b", "--har", "x.har"], "eikon replay")

    assert "2 replays: " in done.stdout
    assert [each.name for each in results(tmp_path / "suite_artifacts").results] == ["traces/a", "traces/b"]
    assert both.returncode == none.returncode == one_only.returncode == 2
    assert "expected either BUNDLE... or --trace, got both" in both.stderr
    assert "expected a bundle, got none" in none.stderr
    assert "No such option '--har'" in one_only.stderr


def test_gates_and_masks_hold_for_each_mission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read once, and reach every process."""
    monkeypatch.chdir(tmp_path)
    copy_bundle("shop_diverging", tmp_path / "traces" / "a")
    (tmp_path / "gates.yaml").write_text("gates:\n  max_actions: 1\n")
    (tmp_path / "masks.toml").write_text('[[ignore]]\nreason = "button"\nselector = "#add-to-cart"\n')

    words = [
        "run",
        "traces",
        "-j",
        "1",
        "--ignore",
        "masks.toml",
        "--gates",
        "gates.yaml",
        "--on-divergence",
        "continue",
    ]
    done = run_here(suite_command, words, "eikon suite")

    assert done.returncode == 1, done.stderr
    (result,) = results(tmp_path / "suite_artifacts").results
    assert "gate" in result.summary


def test_a_missing_shard_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the one that diverged; an empty one has its results, and the exit status of an empty selection."""
    monkeypatch.chdir(tmp_path)
    bundles(tmp_path, "a")
    for number in (1, 3):
        words = ["run", "traces", "--shard", f"{number}/3", "--artifacts-dir", f"out{number}", "-j", "1"]
        done = run_here(suite_command, words, "eikon suite")
        assert done.returncode == (0 if number == 1 else 5)

    merged = run_here(suite_command, ["merge", "out1", "out3", "--artifacts-dir", "all"], "eikon suite")

    assert merged.returncode == 3
    assert "missing shards: 2/3" in merged.stdout


def test_a_bundle_that_changed_is_not_resumed(tmp_path: Path) -> None:
    """Its old result would count for the new one."""
    traces = bundles(tmp_path, "a")
    command = ["run", traces, "-j", "1", "--artifacts-dir", tmp_path / "out"]
    assert run_here(suite_command, command, "eikon suite").returncode == 0
    shutil.rmtree(traces / "a")
    copy_bundle("shop_diverging", traces / "a")

    done = run_here(suite_command, [*command, "--resume"], "eikon suite")

    assert done.returncode == 2
    assert f"{traces / 'a'} has changed" in done.stderr


def test_two_suites_in_one_folder_are_refused(tmp_path: Path) -> None:
    """The second one would move the results of the first aside while that writes them."""
    traces = bundles(tmp_path, "a", "b")
    refused: list[int] = []

    def run_another(_result: MissionResult) -> None:
        command = ["run", traces, "--artifacts-dir", tmp_path / "out"]
        done = run_here(suite_command, command, "eikon suite")
        refused.append(done.returncode)
        assert "a suite is running there" in done.stderr

    suite = run(traces, SuiteOptions(folder=tmp_path / "out", workers=1), run_another)

    assert refused == [2, 2]
    assert suite.exit_status == 0


def test_names_that_are_no_text_fail_alone(tmp_path: Path) -> None:
    """A folder whose name is not UTF-8, and an id with half of a surrogate pair."""
    traces = bundles(tmp_path, "a", "b")
    (traces / "b").rename(traces / os.fsdecode(b"caf\xe9"))
    trace = traces / "a" / "trace.json"
    trace.write_text(trace.read_text().replace('"mission_id": "a"', '"mission_id": "\\ud800x"'))

    suite = run(traces, SuiteOptions(folder=tmp_path / "out", workers=1))

    assert len(suite.results) == 2
    assert results(tmp_path / "out") == suite


def test_a_configuration_within_a_suite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle puts no mission into quarantine."""
    monkeypatch.chdir(tmp_path)
    bundles(tmp_path, "a")
    copy_bundle("shop_diverging", tmp_path / "traces" / "b")
    (tmp_path / "traces" / "a" / "eikon.toml").write_text(
        '[[quarantine]]\nmission = "b"\nreason = "x"\nuntil = 2999-01-01\n'
    )

    done = run_here(suite_command, ["run", "traces", "-j", "1"], "eikon suite")

    assert done.returncode == 2
    assert f"--config {tmp_path / 'traces' / 'a' / 'eikon.toml'}, else --no-config" in done.stderr


def test_links_to_bundles_are_followed(tmp_path: Path) -> None:
    """A bundle that is skipped in silence passes for a faithful one."""
    copy_bundle("shop_diverging", tmp_path / "elsewhere" / "a")
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "link").symlink_to(tmp_path / "elsewhere" / "a")

    assert [each.bundle.name for each in find_missions([tmp_path / "traces"])] == ["link"]


def test_a_broken_history_stops_no_suite(tmp_path: Path) -> None:
    """It is a line, and failures count."""
    traces = bundles(tmp_path, "a")
    (tmp_path / "history.sqlite3").write_text("no database")
    environ = {"EIKON_HISTORY": str(tmp_path / "history.sqlite3")}

    words = ["run", traces, "-j", "1", "--artifacts-dir", tmp_path / "out"]
    done = run_here(suite_command, words, "eikon suite", environ)

    assert done.returncode == 0, done.stderr
    assert "no mission counts as in quarantine by it" in done.stderr
