"""What a replay by `eikon run` restores, and which differences fail it."""

from __future__ import annotations

import json

import pytest

from eikon_engine.scenario.fixtures import args_hash
from tests.scenario.tried import THREE, Run, replay


def test_three_identical_calls_replay_in_order(run: Run) -> None:
    """Three identical calls are replayed in order."""
    recorded, replayed = run(THREE), replay(run, THREE)

    assert (recorded.status, replayed.status) == (0, 0)
    assert json.loads((replayed.folder / "outputs.json").read_text()) == {"a": 1, "b": 2, "c": 3}


def test_a_deleted_fixture_ends_a_replay(run: Run) -> None:
    """A deleted fixture fails the replay."""
    recorded = run(THREE)
    (recorded.folder / "fixtures" / "next_number" / f"{args_hash({})}.2.json").unlink()

    replayed = replay(run, THREE)

    assert replayed.status == 78
    assert f"{args_hash({})}.2.json is missing, but occurrence 3 exists" in replayed.err
    assert "(code fixture-missing)" in replayed.err
    assert replayed.note()["error"]["code"] == "fixture-missing"
    assert replayed.events()[-1]["how"] == "failed"


def test_a_changed_argument_ends_a_replay_and_is_named(run: Run) -> None:
    """A changed argument fails the replay, with an error that names it."""
    run("- {tool: echo, args: {value: 1, other: {kind: red}}}")

    replayed = replay(run, "- {tool: echo, args: {value: 1, other: {kind: blue}}}")

    assert replayed.status == 78
    assert '$.other.kind: expected "red", got "blue"' in replayed.err


def test_an_unused_fixture_ends_a_replay_with_one(run: Run) -> None:
    """An unused fixture fails the replay with exit status 1."""
    run(THREE)

    replayed = replay(run, THREE.rsplit("\n", 2)[0])

    assert replayed.status == 1
    assert "1 recorded tool call was not made: next_number {} (call 3)" in replayed.err
    assert "(code tool-calls-diverged)" in replayed.err


def test_a_changed_order_ends_a_replay_with_one(run: Run) -> None:
    """A changed order of calls fails the replay with exit status 1."""
    steps = ["- {tool: echo, args: {value: 1}}", "- {tool: echo, args: {value: 2}}"]
    run("\n".join(steps))

    replayed = replay(run, "\n".join(reversed(steps)))

    assert replayed.status == 1
    assert "tool calls were made in another order" in replayed.err


def test_latest_passes_over_runs_that_are_not_complete_and_replays(run: Run) -> None:
    """`latest` skips incomplete runs and replays."""
    first = run(THREE, "--run-id", "first")
    replay(run, THREE)
    run("- {tool: fail, args: {why: not yet}}", "--run-id", "second")
    killed = json.loads((first.folder / "run.json").read_text())
    (first.folder.parent / "third").mkdir()
    later = {**killed, "run_id": "third", "state": "running", "ended_at": None, "started_at": "2999-01-01T00:00:00Z"}
    (first.folder.parent / "third/run.json").write_text(json.dumps(later))

    replayed = replay(run, THREE)

    assert replayed.status == 0
    assert replayed.note()["recording"] == "first"
    assert "skipped third, which is newer but incomplete (killed or still running)" in replayed.err


def test_without_a_complete_recording_latest_lists_the_incomplete_ones(run: Run) -> None:
    """Without a complete recording, `latest` lists the incomplete ones."""
    run("- {tool: fail, args: {why: not yet}}", "--run-id", "only")

    replayed = replay(run, THREE)

    assert replayed.status == 65
    assert "expected a recording of scenario tried, got none that is complete (only is failed)" in replayed.err


def test_other_outputs_end_a_replay_with_one(run: Run) -> None:
    """Different outputs fail the replay with exit status 1."""
    run(THREE)

    replayed = replay(run, THREE.replace("as: c", "as: d"))

    assert replayed.status == 1
    assert "$.c: expected 3, got nothing; $.d: expected nothing, got 3" in replayed.err
    assert "(code scenario-diverged)" in replayed.err


def test_a_recording_with_damaged_outputs_is_reported(run: Run) -> None:
    """A recording whose outputs are not JSON is refused."""
    (run(THREE).folder / "outputs.json").write_text("{")

    replayed = replay(run, THREE)

    assert replayed.status == 65
    assert "expected the recorded outputs, got invalid JSON" in replayed.err


def test_a_recording_with_missing_outputs_is_reported(run: Run) -> None:
    """A recording without its outputs is refused."""
    (run(THREE).folder / "outputs.json").unlink()

    replayed = replay(run, THREE)

    assert replayed.status == 65
    assert "outputs.json: expected the recorded outputs, got no file" in replayed.err


def test_a_call_that_is_left_out_with_its_fixture_is_missed(run: Run) -> None:
    """A call removed together with its fixture is reported as missing."""
    recorded = run("- {tool: next_number}\n- {tool: echo, args: {value: 1}}")
    (recorded.folder / "fixtures/echo" / f"{args_hash({'value': 1})}.json").unlink()

    replayed = replay(run, "- {tool: next_number}")

    assert replayed.status == 78
    assert "expected 2 fixtures as in recording.json, got 1. Missing calls: 2" in replayed.err


@pytest.mark.parametrize(("state", "message"), [("running", "killed or still running"), ("interrupted", "interr")])
def test_an_incomplete_recording_is_refused_by_name(run: Run, state: str, message: str) -> None:
    """A recording interrupted during certification is refused by name, although it has all its calls."""
    recorded = run(THREE)
    note = {**recorded.note(), "state": state}
    (recorded.folder / "run.json").write_text(json.dumps(note))

    replayed = run(THREE, "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"))

    assert replayed.status == 65
    assert "expected a complete run, got one that is " in replayed.err
    assert message in replayed.err


def test_the_replay_of_a_failed_recording_reports_it(run: Run) -> None:
    """The replay of a failed recording reports the failure on the terminal and in its events."""
    recorded = run("- {tool: fail, args: {why: not yet}}")

    replayed = run(
        "- {tool: fail, args: {why: not yet}, expect_error: true}",
        *("--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures")),
    )

    text = f"the recorded run {recorded.folder.name} failed: tool fail failed: LookupError: not yet (code tool-failed)"
    assert (replayed.status, text in replayed.err) == (0, True), replayed.err
    assert text in [each.get("text") for each in replayed.events()]


def test_a_call_that_a_gate_refused_is_no_recorded_one(run: Run) -> None:
    """A call that a gate refused was not recorded, so omitting it is not a miss."""
    recorded = run(THREE, rest="gates: {max_tool_calls: 2}")

    fixtures = ("--fixtures-dir", str(recorded.folder / "fixtures"))
    replayed = run("- {tool: next_number}\n- {tool: next_number}", "--mode", "replay", *fixtures)

    assert (recorded.status, replayed.status) == (1, 0), replayed.err


@pytest.mark.parametrize("content", ["", "{", "{}", '{"format_version": 1}'])
def test_a_damaged_run_file_is_named(run: Run, content: str) -> None:
    """A damaged run file is an error that names it."""
    (run(THREE).folder / "run.json").write_text(content)

    replayed = replay(run, THREE)

    assert (replayed.status, replayed.err.count("\n")) == (65, 1)
    assert "run.json" in replayed.err
