"""Scenarios that call models: recorded responses, response folders, and an unreachable server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario.tried import ASKS, Run, replay
from tests.sites.model_server import ModelServer, answer_error


@pytest.mark.parametrize(("gate", "asked"), [("max_completions: 1", 2), ("max_tokens: 3", 1)])
def test_a_gate_on_models_stops_the_run(run: Run, model: ModelServer, gate: str, asked: int) -> None:
    """A model gate stops the run."""
    ended = run(ASKS, rest=f"gates: {{{gate}}}")

    assert ended.status == 1
    assert f"gate {gate.partition(':')[0]}: " in ended.err
    assert len(model.asked) == asked


def test_a_folder_of_responses_answers_a_recording_without_a_server(run: Run, model: ModelServer) -> None:
    """A recording with a folder of responses needs no server."""
    first = run(ASKS, "--debug-dir", "responses")
    asked = len(model.asked)
    second = run(ASKS, "--debug-dir", "responses")
    third = run(ASKS.replace("four", "five"), "--debug-dir", "responses")

    assert [each.status for each in (first, second, third)] == [0, 0, 78]
    assert (asked, len(model.asked)) == (2, 2)
    assert "completions: 2 recorded, 0 replayed" in second.out
    assert "asked" not in second.out
    assert "Capture mode" in first.err
    assert "Replay mode: 2 responses from responses; no model is asked" in second.err
    assert "completions: 2 recorded, 0 replayed" in second.out
    assert "no replay data for one.2" in third.err


def test_a_refresh_without_a_server_leaves_the_folder_as_it_was(
    run: Run, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a server, a refresh leaves the folder unchanged, and a first capture leaves nothing to replay."""
    run(ASKS, "--debug-dir", "responses")
    before = {each.name: each.read_bytes() for each in Path("responses").iterdir() if each.is_file()}
    url = model.url
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    away = run(ASKS, "--debug-dir", "responses", "--refresh")
    first = run(ASKS, "--debug-dir", "new")
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    later = run(ASKS, "--debug-dir", "new")

    assert (away.status, first.status, later.status) == (69, 69, 0), away.err + first.err + later.err
    assert {each.name: each.read_bytes() for each in Path("responses").iterdir() if each.is_file()} == before
    assert run(ASKS, "--debug-dir", "responses").status == 0


@pytest.mark.usefixtures("model")
def test_a_run_that_is_cut_off_leaves_a_folder_that_is_not_whole(run: Run) -> None:
    """An interrupted run leaves an incomplete folder."""
    steps = f"{ASKS}\n- {{tool: next_number, as: number}}\n- {{tool: fail, args: {{why: '{{{{number}}}}'}}}}"

    cut_off = run(steps, "--debug-dir", "responses")
    again = run(ASKS, "--debug-dir", "responses")

    assert (cut_off.status, again.status) == (2, 65), cut_off.err + again.err
    assert "(code responses-incomplete)" in again.err


def test_a_model_that_fails_fails_the_run_and_its_replay_alike(run: Run, model: ModelServer) -> None:
    """A model failure fails both the run and its replay."""
    model.script.extend([answer_error(500, "out of order")] * 9)

    recorded = run(ASKS)
    model.script.clear()
    replayed = run(ASKS, "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"))

    assert (recorded.status, replayed.status) == (1, 1), recorded.err + replayed.err
    assert "(code completion-server)" in recorded.err
    assert "(code completion-server)" in replayed.err


def test_a_scenario_that_calls_a_model_requires_a_client(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario that calls a model requires a configured client."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    ended = run(ASKS)

    assert ended.status == 78
    assert "(code model-client-missing)" in ended.err


def test_a_response_that_is_left_over_ends_a_replay_with_one(run: Run, model: ModelServer) -> None:
    """An unused response fails the replay with exit status 1."""
    run(ASKS)

    replayed = replay(run, ASKS.splitlines()[0])

    assert replayed.status == 1
    assert "unused recorded model responses: one_2-" in replayed.err


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(("kept", "status"), [(", as: answer", 1), ("", 0)])
def test_an_edited_answer_is_found_where_something_follows_from_it(run: Run, kept: str, status: int) -> None:
    """An edited answer is detected where a later step depends on it, as documented."""
    steps = f"- {{completion: {{prompt: two}}{kept}}}"
    response = next((run(steps).folder / "responses").glob("one*.json"))
    response.write_text(response.read_text().replace('"TWO"', '"FIVE"'))

    replayed = replay(run, steps)

    assert replayed.status == status, replayed.err
    assert "completions: 0 recorded, 1 replayed" in replayed.out


def test_responses_remain_unused_if_no_step_requests_them(run: Run, model: ModelServer) -> None:
    """Responses that no step requests remain unused."""
    run(f"{ASKS}\n- {{tool: next_number}}".replace(", as: a", "").replace(", as: b", ""))

    replayed = replay(run, "- {tool: next_number}")

    assert replayed.status == 1
    assert "unused recorded model responses: one_1-" in replayed.err
