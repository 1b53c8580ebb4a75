"""Output and exit status of `eikon run`, in this process, without a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from eikon_engine.outcome.read_events import read_events
from tests.scenario.tried import THREE, Run, replay


def test_a_failing_tool_fails_the_run_and_its_replay_alike(run: Run) -> None:
    """A failing tool fails both the run and its replay."""
    steps = "- {tool: echo}\n- {tool: fail, args: {why: no page}}\n- {tool: echo}"

    recorded = run(steps)
    replayed = run(steps, "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"))

    for ended in (recorded, replayed):
        assert ended.status == 1
        assert "eikon: tool fail failed: LookupError: no page (code tool-failed)" in ended.err
        assert ended.note()["state"] == "failed"
        assert [each["type"] for each in ended.events()][-2:] == ["subgoal_end", "run_end"]


def test_a_tool_that_ends_the_process_fails_the_run_and_its_replay(run: Run) -> None:
    """A tool that ends the process fails the run and its replay, with a separate status."""
    recorded = run("- {tool: leave}")
    replayed = run("- {tool: leave}", "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"))

    for ended in (recorded, replayed):
        assert (ended.status, ended.note()["state"]) == (1, "failed")
        assert "eikon: tool leave failed: SystemExit: 0 (code tool-failed)" in ended.err


@pytest.mark.parametrize("expected", ["true", "LookupError", "tool-failed"])
def test_a_run_continues_after_an_expected_failure(run: Run, expected: str) -> None:
    """A run continues after an expected failure."""
    steps = f"- {{tool: fail, args: {{why: no page}}, expect_error: {expected}, as: failed}}\n- {{tool: echo}}"

    assert (run(steps).status, replay(run, steps).status) == (0, 0)


def test_an_expected_failure_that_does_not_occur_fails_the_run(run: Run) -> None:
    """An expected failure that does not occur fails the run."""
    ended = run("- {tool: echo, expect_error: true}")

    assert ended.status == 1
    assert "one, step 1: expected an error (expect_error), got success" in ended.err


def test_a_result_that_cannot_be_stored_fails_the_run(run: Run) -> None:
    """A result that cannot be stored fails the run."""
    ended = run("- {tool: pair}")

    assert ended.status == 1
    assert "result of tool pair, $: expected a result that a fixture can hold, got a value of type tuple" in ended.err
    assert ended.events()[-1]["type"] == "run_end"


def test_a_gate_that_is_exceeded_stops_the_run_before_the_call(run: Run) -> None:
    """A gate stops the run before the call that exceeds it."""
    gates = "gates: {max_tool_calls: 2}"

    recorded = run(THREE, rest=gates)

    assert recorded.status == 1
    assert re.search(r"gate max_tool_calls: .*; the run stops \(code gate-failed\)", recorded.err)
    assert len(list((recorded.folder / "fixtures/next_number").iterdir())) == 2
    results = [each for each in recorded.events() if each["type"] == "gate_result"]
    assert [(each["gate"], each["passed"], each["while_running"]) for each in results] == [
        ("max_tool_calls", False, True)
    ]
    assert "gate max_tool_calls: failed" in recorded.out


def test_a_gate_that_fails_in_a_replay_alone_fails_the_replay(run: Run) -> None:
    """A gate that fails only in a replay fails the replay."""
    run(THREE)

    replayed = replay(run, THREE, rest="gates: {max_tool_calls: 1}")

    assert replayed.status == 1
    assert "(code gate-failed)" in replayed.err


def test_two_runs_in_one_second_have_folders_of_their_own(run: Run) -> None:
    """Two runs within one second have separate folders."""
    folders = {run(THREE).folder for _ in range(3)}

    assert len(folders) == 3


def test_a_reference_into_nothing_fails_the_run_at_its_step(run: Run) -> None:
    """An unresolvable reference fails the run at its step."""
    ended = run("- {tool: echo, args: {value: {rows: [1]}}, as: a}\n- {tool: echo, args: {value: '{{a.rows.1}}'}}")

    assert ended.status == 1
    assert "{{a.rows.1}}: expected 1 in a.rows, got a list of length 1" in ended.err


def test_a_secret_is_given_to_tools_and_written_nowhere(run: Run, tmp_path: Path) -> None:
    """A tool gets the secret's value, and no file contains it."""
    steps = (
        '- {tool: echo, args: {value: "key {{eikon-secret:KEY}}"}, as: a}\n'
        '- {tool: echo, args: {value: "{{a}}"}, as: b}'
    )

    recorded = run(steps, "--secret", "KEY=a-very-hidden-value")
    replayed = replay(run, steps)

    assert (recorded.status, replayed.status) == (0, 0)
    written = b"".join(each.read_bytes() for each in Path("runs").rglob("*") if each.is_file())
    assert b"very-hidden" not in written
    assert json.loads((replayed.folder / "outputs.json").read_text())["b"] == "key {{eikon-secret:KEY}}"


def test_a_secret_that_is_found_late_is_nowhere_in_the_run_folder(run: Run) -> None:
    """A secret that is discovered late is in no file of the run folder."""
    value = "Kd83hs92Jdk3Lq0Zx7Vb5Nm1Ty6Ue4Wc8Ra"
    filler = "x" * 70_000
    steps = (
        f"- {{tool: echo, args: {{value: [{value}, {filler}]}}, as: a}}\n"
        f"- {{tool: echo, args: {{value: {{session_token: {value}}}}}, as: b}}"
    )

    recorded, replayed = run(steps), replay(run, steps)

    assert (recorded.status, replayed.status) == (0, 0), recorded.err + replayed.err
    written = b"".join(each.read_bytes() for each in Path("runs").rglob("*") if each.is_file())
    assert value.encode() not in written
    assert len(read_events(recorded.folder / "events.jsonl").lines) == 8
    assert (replayed.folder / "outputs.json").read_bytes() == (recorded.folder / "outputs.json").read_bytes()


@pytest.mark.parametrize(
    "gate", ["latency_ms: {of: tool, limit: 0.00001}", "max_duration: 0.000001", "output_matches: OUTPUT"]
)
def test_gates_on_tools_fail_the_run(run: Run, gate: str) -> None:
    """A violated tool gate fails the run."""
    gate = gate.replace("OUTPUT", "{tool: echo, schema: {type: string}}")

    ended = run("- {tool: echo, args: {value: 1}}", rest=f"gates: {{{gate}}}")

    assert ended.status == 1, ended.out + ended.err
    assert ended.note()["state"] == "failed"
    assert f"gate {gate.partition(':')[0]}" in ended.out
    assert "(code gate-failed)" in ended.err
