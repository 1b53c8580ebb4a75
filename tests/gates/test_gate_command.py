"""`eikon gate` and `eikon replay --gates`, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.outcome.events import ActionPerformed, ActionStart, GateEvaluated, RunEnd
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.outcome.read_events import read_events
from tests.commands import run_here
from tests.outcome.event_values import END, START, answer, call, completion, lines, text_of

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "tests" / "data" / "traces"
PASSING = """\
gates:
  max_actions: 5
  max_duration: 1m
  no_failed_requests: true
  allowed_hosts: [127.0.0.1]
  expect_status: 200
"""


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `eikon` in this process."""
    return run_here(eikon, arguments, "eikon")


def run_apart(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `eikon` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "eikon_engine", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=120,
    )


def gates_of(folder: Path, text: str) -> Path:
    """Write a gates file."""
    path = folder / "gates.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Replay a mission of two actions within its gates."""
    folder = tmp_path_factory.mktemp("replayed")
    gates = gates_of(folder, PASSING)
    done = run_apart("replay", "--trace", TRACES / "shop_failing", "--artifacts-dir", folder / "run", "--gates", gates)
    return done, folder / "run"


def test_a_replay_within_its_gates(replayed: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    """The results are in the events before the end, in the outcome and in the summary."""
    done, folder = replayed

    outcome = ReplayOutcome.model_validate_json((folder / "outcome.json").read_bytes())
    summary = (folder / "replay_summary.txt").read_text()
    *_, last = read_events(folder / "events.jsonl").lines
    given = [line.event for line in read_events(folder / "events.jsonl").lines if isinstance(line.event, GateEvaluated)]
    assert done.returncode == 0, done.stderr
    assert [gate.passed for gate in outcome.gates] == [True] * 5
    assert [gate.gate for gate in given] == [gate.gate for gate in outcome.gates]
    assert isinstance(last.event, RunEnd)
    assert "passed       max_actions: 2 actions, at most 5" in summary
    assert "gate max_actions: passed: 2 actions, at most 5" in done.stderr


def test_a_replay_that_exceeds_a_gate_is_stopped(tmp_path: Path) -> None:
    """The action beyond the limit is not performed, the exit status is 1, and all artifacts are written."""
    gates = gates_of(tmp_path, "gates: {max_actions: 1, no_console_errors: true}\n")

    done = run("replay", "--trace", TRACES / "shop_failing", "--artifacts-dir", tmp_path / "run", "--gates", gates)

    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    events = [line.event for line in read_events(tmp_path / "run" / "events.jsonl").lines]
    end = events[-1]
    assert done.returncode == 1, done.stderr
    assert sum(isinstance(event, ActionStart) for event in events) == 2
    assert sum(isinstance(event, ActionPerformed) for event in events) == 1
    assert isinstance(end, RunEnd)
    assert (end.how, end.ended_early) == ("stopped", "gate max_actions: 2 actions, at most 1")
    assert outcome.ended_early == end.ended_early
    assert [(gate.passed, gate.while_running) for gate in outcome.gates] == [(False, True), (True, False)]
    assert "(ended the run)" in (tmp_path / "run" / "replay_summary.txt").read_text()


def test_every_kind_of_input_is_evaluated(
    tmp_path: Path, replayed: tuple[subprocess.CompletedProcess[str], Path]
) -> None:
    """A run folder, its outcome, a bundle and an events file are evaluated in one call: one line each."""
    gates = gates_of(tmp_path, "gates:\n  max_actions: 2\n  expect_status: 200\n")
    (tmp_path / "alone").mkdir()
    alone = tmp_path / "alone" / "outcome.json"
    alone.write_bytes((replayed[1] / "outcome.json").read_bytes())

    done = run_apart("gate", gates, replayed[1], alone, TRACES / "shop_failing", replayed[1] / "events.jsonl")

    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["passed", "max_actions"],
        ["passed", "expect_status"],
    ] * 4
    assert "2 actions, at most 2" in done.stdout


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"max_tool_calls": 2, "max_tokens": 12}, 0),
        ({"max_tool_calls": 1, "no_failed_requests": True}, 1),
        ({"max_tool_calls": 2, "expect_status": 200}, 3),
        ({"max_tool_calls": 1, "expect_status": 200}, 1),
    ],
)
def test_the_worst_result_is_the_exit_status(tmp_path: Path, limits: dict[str, object], status: int) -> None:
    """A failed gate outweighs an unknown one, which is not a pass."""
    events = tmp_path / "events.jsonl"
    events.write_bytes(text_of(lines(START, call(), answer(), call(number=2), completion(), END)))

    done = run("gate", gates_of(tmp_path, json.dumps({"gates": limits})), events, "--json")

    (gate_run,) = json.loads(done.stdout)
    assert done.returncode == status
    assert gate_run["outcome"] == str(events)
    assert [each["gate"] for each in gate_run["gates"]] == list(limits)


def test_what_cannot_be_read_outweighs_all(tmp_path: Path) -> None:
    """The others are still evaluated; each unreadable one is one line."""
    whole, broken, torn = tmp_path / "events.jsonl", tmp_path / "broken.jsonl", tmp_path / "torn.jsonl"
    text = text_of(lines(START, call(), END))
    whole.write_bytes(text)
    broken.write_bytes(text.replace(b'"tool":', b'"tool"'))
    torn.write_bytes(text[:-20])
    (tmp_path / "newer.json").write_text('{"outcome_version": 2}')
    gates = gates_of(tmp_path, "gates: {max_tool_calls: 0}\n")

    done = run("gate", gates, whole, broken, torn, tmp_path / "newer.json", tmp_path / "nothing", gates.parent)

    assert done.returncode == 65
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["failed", "failed", "failed"]
    messages = done.stderr.splitlines()
    assert len(messages) == 4, done.stderr
    assert "line 2, column" in messages[0]
    assert "line 3 is truncated" in messages[1]
    assert "got 2" in messages[2]
    assert "nothing" in messages[3]


def test_gates_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    """Both commands report line and column before they start."""
    gates = gates_of(tmp_path, "gates:\n  max_action: 3\n")

    gate_run = run("gate", gates, TRACES / "shop_failing")
    replay = run("replay", "--trace", TRACES / "shop_failing", "--artifacts-dir", tmp_path / "run", "--gates", gates)

    for done in (gate_run, replay):
        assert done.returncode == 65
        assert done.stderr.count("\n") == 1
        assert "line 2, column 3: gates.max_action: expected the name of a gate" in done.stderr
        assert "(code gates)" in done.stderr
    assert not (tmp_path / "run").exists()
