"""What `eikon run` says, and with which exit status it ends; in this process, without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.outcome.read_events import read_events
from eikon_engine.scenario.args_hash import args_hash
from eikon_engine.shell import run_command
from tests.sites.model_server import ModelServer, answer_error, serve_model

TOOLS = '''
"""Tools of one test."""
count = 0


def next_number() -> int:
    """Count on."""
    global count
    count += 1
    return count


def echo(value: object = None, other: object = None) -> object:
    """Return what is given."""
    return value


def fail(why: str) -> None:
    """Fail."""
    raise LookupError(why)


def leave() -> None:
    """End the process."""
    raise SystemExit(0)


def pair() -> tuple[int, int]:
    """Return what no fixture holds."""
    return (1, 2)
'''


@dataclass(frozen=True)
class Ended:
    """How the command ended."""

    status: int
    out: str
    err: str

    @property
    def folder(self) -> Path:
        """Return the folder of the run."""
        return Path(self.out.splitlines()[-1])

    def note(self) -> dict[str, Any]:
        """Return run.json."""
        return dict(json.loads((self.folder / "run.json").read_text()))

    def events(self) -> list[dict[str, Any]]:
        """Return all events."""
        return [json.loads(line)["event"] for line in (self.folder / "events.jsonl").read_text().splitlines()]


Run = Callable[..., Ended]
_NAMES = iter(range(1000))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in a folder of its own, where a scenario is written with its steps."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    module = f"tools_of_test_{next(_NAMES)}"
    (tmp_path / f"{module}.py").write_text(TOOLS)
    monkeypatch.syspath_prepend(str(tmp_path))
    tools = [
        option
        for name in ("next_number", "echo", "fail", "leave", "pair")
        for option in ("--tools", f"{module}:{name}")
    ]

    def run(steps: str, *arguments: str, rest: str = "") -> Ended:
        lines = "\n".join(f"      {line}" for line in steps.strip("\n").splitlines())
        allowed = "allowed_tools: [next_number, echo, fail, leave, pair, browser]"
        head = f"id: tried\ngoal: Try\n{allowed}\nsubgoals:\n  - id: one\n"
        Path("tried.yaml").write_text(f"{head}    steps:\n{lines}\n{rest}")
        is_replay = "replay" in arguments
        status = run_command(eikon, ["run", "tried.yaml", *([] if is_replay else tools), *arguments], "eikon")
        said = capsys.readouterr()
        return Ended(status, said.out, said.err)

    return run


def replay(run: Run, steps: str, rest: str = "") -> Ended:
    """Replay the newest complete recording."""
    return run(steps, "--mode", "replay", "--latest", rest=rest)


THREE = "- {tool: next_number, as: a}\n- {tool: next_number, as: b}\n- {tool: next_number, as: c}\n"


def test_three_identical_calls_replay_in_order(run: Run) -> None:
    """Three identical calls replay in order."""
    recorded, replayed = run(THREE), replay(run, THREE)

    assert (recorded.status, replayed.status) == (0, 0)
    assert json.loads((replayed.folder / "outputs.json").read_text()) == {"a": 1, "b": 2, "c": 3}


def test_a_deleted_fixture_ends_a_replay(run: Run) -> None:
    """A deleted fixture ends a replay."""
    recorded = run(THREE)
    (recorded.folder / "fixtures" / "next_number" / f"{args_hash({})}.2.json").unlink()

    replayed = replay(run, THREE)

    assert replayed.status == 78
    assert f"{args_hash({})}.2.json is missing, and occurrence 3 is there" in replayed.err
    assert "(code fixture-missing)" in replayed.err
    assert replayed.note()["error"]["code"] == "fixture-missing"
    assert replayed.events()[-1]["how"] == "failed"


def test_a_changed_argument_ends_a_replay_and_is_named(run: Run) -> None:
    """A changed argument ends a replay and is named."""
    run("- {tool: echo, args: {value: 1, other: {kind: red}}}")

    replayed = replay(run, "- {tool: echo, args: {value: 1, other: {kind: blue}}}")

    assert replayed.status == 78
    assert '$.other.kind was recorded "red", asked "blue"' in replayed.err


def test_an_unused_fixture_ends_a_replay_with_one(run: Run) -> None:
    """An unused fixture ends a replay with one."""
    run(THREE)

    replayed = replay(run, THREE.rsplit("\n", 2)[0])

    assert replayed.status == 1
    assert "1 recorded tool call was not made: next_number {} (call 3)" in replayed.err
    assert "(code tool-calls-diverged)" in replayed.err


def test_a_changed_order_ends_a_replay_with_one(run: Run) -> None:
    """A changed order ends a replay with one."""
    steps = ["- {tool: echo, args: {value: 1}}", "- {tool: echo, args: {value: 2}}"]
    run("\n".join(steps))

    replayed = replay(run, "\n".join(reversed(steps)))

    assert replayed.status == 1
    assert "tool calls came in another order" in replayed.err


def test_a_failing_tool_fails_the_run_and_its_replay_alike(run: Run) -> None:
    """A failing tool fails the run and its replay alike."""
    steps = "- {tool: echo}\n- {tool: fail, args: {why: no page}}\n- {tool: echo}"

    recorded = run(steps)
    replayed = run(steps, "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"))

    for ended in (recorded, replayed):
        assert ended.status == 1
        assert "eikon: tool fail failed: LookupError: no page (code tool-failed)" in ended.err
        assert ended.note()["state"] == "failed"
        assert [each["type"] for each in ended.events()][-2:] == ["subgoal_end", "run_end"]


def test_a_tool_that_ends_the_process_fails_the_run_and_its_replay(run: Run) -> None:
    """A tool that ends the process fails the run and its replay, with a status of their own."""
    recorded = run("- {tool: leave}")
    replayed = run("- {tool: leave}", "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"))

    for ended in (recorded, replayed):
        assert (ended.status, ended.note()["state"]) == (1, "failed")
        assert "eikon: tool leave failed: SystemExit: 0 (code tool-failed)" in ended.err


@pytest.mark.parametrize("expected", ["true", "LookupError", "tool-failed"])
def test_a_failure_that_is_expected_lets_the_run_go_on(run: Run, expected: str) -> None:
    """A failure that is expected lets the run go on."""
    steps = f"- {{tool: fail, args: {{why: no page}}, expect_error: {expected}, as: failed}}\n- {{tool: echo}}"

    assert (run(steps).status, replay(run, steps).status) == (0, 0)


def test_a_failure_that_is_expected_and_does_not_come_fails_the_run(run: Run) -> None:
    """A failure that is expected and does not come fails the run."""
    ended = run("- {tool: echo, expect_error: true}")

    assert ended.status == 1
    assert "one, step 1: wanted an error as expect_error says, found that it was done" in ended.err


def test_a_result_that_cannot_be_stored_fails_the_run(run: Run) -> None:
    """A result that cannot be stored fails the run."""
    ended = run("- {tool: pair}")

    assert ended.status == 1
    assert (
        "the result of tool pair, $: wanted a result that a fixture can hold, found a value of type tuple" in ended.err
    )
    assert ended.events()[-1]["type"] == "run_end"


def test_a_gate_that_is_exceeded_stops_the_run_before_the_call(run: Run) -> None:
    """A gate that is exceeded stops the run before the call."""
    gates = "gates: {max_tool_calls: 2}"

    recorded = run(THREE, rest=gates)

    assert recorded.status == 1
    assert re.search(r"gate max_tool_calls: .*; the run is stopped \(code gate-failed\)", recorded.err)
    assert len(list((recorded.folder / "fixtures/next_number").iterdir())) == 2
    results = [each for each in recorded.events() if each["type"] == "gate_result"]
    assert [(each["gate"], each["passed"], each["while_running"]) for each in results] == [
        ("max_tool_calls", False, True)
    ]
    assert "gate max_tool_calls: failed" in recorded.out


def test_a_gate_that_fails_in_a_replay_alone_fails_the_replay(run: Run) -> None:
    """A gate that fails in a replay alone fails the replay."""
    run(THREE)

    replayed = replay(run, THREE, rest="gates: {max_tool_calls: 1}")

    assert replayed.status == 1
    assert "(code gate-failed)" in replayed.err


def test_latest_passes_over_runs_that_are_not_complete_and_replays(run: Run) -> None:
    """Latest passes over runs that are not complete and replays."""
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
    assert "third is newer, and not used: it is not complete: it was killed, or is still going on" in replayed.err


def test_without_a_complete_recording_latest_says_what_there_is(run: Run) -> None:
    """Without a complete recording latest says what there is."""
    run("- {tool: fail, args: {why: not yet}}", "--run-id", "only")

    replayed = replay(run, THREE)

    assert replayed.status == 65
    assert "wanted a recording of scenario tried, found none that is complete: only is failed" in replayed.err


def test_two_runs_in_one_second_have_folders_of_their_own(run: Run) -> None:
    """Two runs in one second have folders of their own."""
    folders = {run(THREE).folder for _ in range(3)}

    assert len(folders) == 3


def test_a_run_id_is_used_once(run: Run) -> None:
    """A run id is used once."""
    run(THREE, "--run-id", "mine")

    ended = run(THREE, "--run-id", "mine")

    assert (ended.status, "a run of this id is there already" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--mode", "replay"), "wanted one of --fixtures-dir DIR and --latest, found none"),
        (("--mode", "replay", "--latest", "--fixtures-dir", "x"), "found --fixtures-dir and --latest"),
        (("--latest",), "--mode record has no use for --latest"),
        (("--mode", "replay", "--latest", "--debug-dir", "x"), "--mode replay has no use for --debug-dir"),
        (("--run-id", "../x"), "--run-id: wanted letters"),
        (("--var", "x=1"), "--var x: wanted a variable of tried.yaml, found none of this name"),
        (("--tools", "nowhere:tool"), "--tools nowhere:tool: wanted MODULE:NAME of a tool"),
        (("--tools", "json"), "wanted MODULE:NAME of a function or a ToolBox"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_done(run: Run, arguments: tuple[str, ...], told: str) -> None:
    """Wrong usage is told before anything is done."""
    ended = run(THREE, *arguments)

    assert ended.status == 2
    assert told in ended.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("steps", "status", "told"),
    [
        ("- {tool: echo", 65, "wanted YAML"),
        ("- {tol: echo}", 65, "line 7, column 9: subgoals[0].steps[0]: wanted one of action, tool"),
        ("- {tool: echo, note: x}", 65, "found tool and note"),
        ("- {tool: echo, arg: 1}", 65, "line 7, column 22: subgoals[0].steps[0].arg: this field is unknown"),
        ("- {tool: web_fetch}", 78, "line 7, column 16: tool 'web_fetch' is not allowed"),
        ("- {tool: echo, args: {valu: 1}}", 2, "line 7, column 28: tool echo: valu"),
        ("- {tool: fail, args: {why: 1}}", 2, "line 7, column 28: tool fail: why: wanted a string, found 1"),
        ('- {note: "{{nothing}}"}', 65, "line 7, column 16: subgoals[0].steps[0].note: wanted a variable or an output"),
        (
            '- {tool: echo, as: a}\n- {note: "{{a.rows[0]}}"}',
            65,
            "line 8, column 16: subgoals[0].steps[1].note: wanted a reference, {{name}} or {{name.path.0}}, found",
        ),
        ("- {tool: echo, as: a}\n- {tool: echo, as: a}", 65, "wanted a name of its own, found the output of line 7"),
        ("- {skill: extract_tables}", 78, "unknown skill 'extract_tables'"),
        ("- {action: {type: clik}}", 65, "subgoals[0].steps[0].action.type: wanted one of"),
        ("- {action: {type: click}}", 65, "subgoals[0].steps[0].action.target: this field is missing"),
        (
            '- {tool: echo, args: {value: "{{eikon-secret:KEY}}"}}',
            78,
            "the mission types secret KEY, which nobody gave",
        ),
        ("- {completion: {}}", 65, "wanted one of prompt and messages"),
    ],
)
def test_a_wrong_scenario_is_told_with_its_place(run: Run, steps: str, status: int, told: str) -> None:
    """A wrong scenario is told with its place."""
    ended = run(steps)

    assert (ended.status, ended.err.count("\n")) == (status, 1), ended.err
    assert told in ended.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("rest", "status", "told"),
    [
        ("gates: {max_tool_cals: 1}", 65, "line 8, column 9: gates.max_tool_cals: wanted the name of a gate"),
        (
            "gates: {max_tool_calls: {limit: 1, tool: ecko}}",
            65,
            "line 8, column 42: gates.max_tool_calls.tool: wanted a",
        ),
        (
            "gates:\n  latency_ms: [{limit: 9, of: tool, name: ecko}]",
            65,
            "line 9, column 43: gates.latency_ms[0].name: ",
        ),
        ("gates: {output_matches: [{tool: x, schema: {}}]}", 65, "line 8, column 33: gates.output_matches[0].tool: "),
        ("variables: {x: null}", 78, "line 8, column 16: variable x has no value; use --var x="),
        ("format_version: 2", 65, "format_version"),
        ("files: ..", 65, "line 8, column 8: files: wanted a folder below that of the scenario, found '..'"),
        ("files: /", 65, "files: wanted a folder below"),
        ("colour: red", 65, "line 8, column 1: colour: this field is unknown"),
    ],
)
def test_a_wrong_head_is_told_with_its_place(run: Run, rest: str, status: int, told: str) -> None:
    """A wrong head is told with its place."""
    ended = run("- {tool: echo}", rest=rest)

    assert (ended.status, ended.err.count("\n")) == (status, 1), ended.err
    assert told in ended.err


def test_a_reference_into_nothing_fails_the_run_at_its_step(run: Run) -> None:
    """A reference into nothing fails the run at its step."""
    ended = run("- {tool: echo, args: {value: {rows: [1]}}, as: a}\n- {tool: echo, args: {value: '{{a.rows.1}}'}}")

    assert ended.status == 1
    assert "{{a.rows.1}}: wanted 1 in a.rows, found a list of 1" in ended.err


def test_a_secret_is_given_to_tools_and_written_nowhere(run: Run, tmp_path: Path) -> None:
    """A secret is given to tools and written nowhere."""
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


def test_a_secret_that_is_found_late_stands_nowhere_in_the_folder_of_the_run(run: Run) -> None:
    """A secret that is found late stands nowhere in the folder of the run."""
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


ASKS = "- {completion: {prompt: one two three}, as: a}\n- {completion: {prompt: four}, as: b}"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Serve a model that the environment names."""
    with serve_model() as server:
        for name, value in (("API_KEY", "key"), ("BASE_URL", server.url), ("MODEL", "gpt-test")):
            monkeypatch.setenv(f"OPENAI_{name}", value)
        yield server


@pytest.mark.parametrize(("gate", "asked"), [("max_completions: 1", 2), ("max_tokens: 3", 1)])
def test_a_gate_on_models_stops_the_run(run: Run, model: ModelServer, gate: str, asked: int) -> None:
    """A gate on models stops the run."""
    ended = run(ASKS, rest=f"gates: {{{gate}}}")

    assert ended.status == 1
    assert f"gate {gate.partition(':')[0]}: " in ended.err
    assert len(model.asked) == asked


@pytest.mark.parametrize(
    "gate", ["latency_ms: {of: tool, limit: 0.00001}", "max_duration: 0.000001", "output_matches: OUTPUT"]
)
def test_gates_on_tools_fail_the_run(run: Run, gate: str) -> None:
    """Gates on tools fail the run."""
    gate = gate.replace("OUTPUT", "{tool: echo, schema: {type: string}}")

    ended = run("- {tool: echo, args: {value: 1}}", rest=f"gates: {{{gate}}}")

    assert ended.status == 1, ended.out + ended.err
    assert ended.note()["state"] == "failed"
    assert f"gate {gate.partition(':')[0]}" in ended.out
    assert "(code gate-failed)" in ended.err


def test_a_folder_of_responses_answers_a_recording_without_a_server(run: Run, model: ModelServer) -> None:
    """A folder of responses answers a recording without a server."""
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
    """A refresh without a server leaves the folder as it was, and a first capture nothing to replay."""
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
    """A run that is cut off leaves a folder that is not whole."""
    steps = f"{ASKS}\n- {{tool: next_number, as: number}}\n- {{tool: fail, args: {{why: '{{{{number}}}}'}}}}"

    cut_off = run(steps, "--debug-dir", "responses")
    again = run(ASKS, "--debug-dir", "responses")

    assert (cut_off.status, again.status) == (2, 65), cut_off.err + again.err
    assert "(code responses-incomplete)" in again.err


def test_a_model_that_fails_fails_the_run_and_its_replay_alike(run: Run, model: ModelServer) -> None:
    """A model that fails fails the run and its replay alike."""
    model.script.extend([answer_error(500, "out of order")] * 9)

    recorded = run(ASKS)
    model.script.clear()
    replayed = run(ASKS, "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"))

    assert (recorded.status, replayed.status) == (1, 1), recorded.err + replayed.err
    assert "(code completion-server)" in recorded.err
    assert "(code completion-server)" in replayed.err


def test_a_scenario_that_asks_wants_a_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario that asks wants a model."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    ended = run(ASKS)

    assert ended.status == 78
    assert "(code model-client-missing)" in ended.err


def test_a_response_that_is_left_over_ends_a_replay_with_one(run: Run, model: ModelServer) -> None:
    """A response that is left over ends a replay with one."""
    run(ASKS)

    replayed = replay(run, ASKS.splitlines()[0])

    assert replayed.status == 1
    assert "recorded responses of models were not asked for: one_2-" in replayed.err


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(("kept", "status"), [(", as: answer", 1), ("", 0)])
def test_an_edited_answer_is_found_where_something_follows_from_it(run: Run, kept: str, status: int) -> None:
    """An edited answer is found where something follows from it, as the documentation says."""
    steps = f"- {{completion: {{prompt: two}}{kept}}}"
    response = next((run(steps).folder / "responses").glob("one*.json"))
    response.write_text(response.read_text().replace('"TWO"', '"FIVE"'))

    replayed = replay(run, steps)

    assert replayed.status == status, replayed.err
    assert "completions: 0 recorded, 1 replayed" in replayed.out


def test_other_outputs_end_a_replay_with_one(run: Run) -> None:
    """Other outputs end a replay with one."""
    run(THREE)

    replayed = replay(run, THREE.replace("as: c", "as: d"))

    assert replayed.status == 1
    assert "$.c was recorded 3, and is not asked; $.d was not recorded, asked 3" in replayed.err
    assert "(code scenario-diverged)" in replayed.err


def test_a_recording_whose_outputs_are_damaged_is_told(run: Run) -> None:
    """A recording whose outputs are damaged is told."""
    (run(THREE).folder / "outputs.json").write_text("{")

    replayed = replay(run, THREE)

    assert replayed.status == 65
    assert "wanted the recorded outputs, found no JSON" in replayed.err


def test_a_recording_whose_outputs_are_gone_is_told(run: Run) -> None:
    """A recording whose outputs are gone is told."""
    (run(THREE).folder / "outputs.json").unlink()

    replayed = replay(run, THREE)

    assert replayed.status == 65
    assert "outputs.json: wanted the recorded outputs, found no file" in replayed.err


def test_a_call_that_is_left_out_with_its_fixture_is_missed(run: Run) -> None:
    """A call that is left out with its fixture is missed."""
    recorded = run("- {tool: next_number}\n- {tool: echo, args: {value: 1}}")
    (recorded.folder / "fixtures/echo" / f"{args_hash({'value': 1})}.json").unlink()

    replayed = replay(run, "- {tool: next_number}")

    assert replayed.status == 78
    assert "wanted 2 fixtures, as recording.json says, found 1; missing are those of calls: 2" in replayed.err


def test_responses_are_left_over_where_no_step_asks_any_more(run: Run, model: ModelServer) -> None:
    """Responses are left over where no step asks any more."""
    run(f"{ASKS}\n- {{tool: next_number}}".replace(", as: a", "").replace(", as: b", ""))

    replayed = replay(run, "- {tool: next_number}")

    assert replayed.status == 1
    assert "recorded responses of models were not asked for: one_1-" in replayed.err


@pytest.mark.parametrize(
    ("state", "told"), [("running", "was killed, or is still going on"), ("interrupted", "interr")]
)
def test_a_recording_that_did_not_end_is_refused_where_it_is_named(run: Run, state: str, told: str) -> None:
    """A recording that was ended while it was certified, its calls all there, is refused where it is named."""
    recorded = run(THREE)
    note = {**recorded.note(), "state": state}
    (recorded.folder / "run.json").write_text(json.dumps(note))

    replayed = run(THREE, "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"))

    assert replayed.status == 65
    assert "wanted a run that came to its end, found one that is " in replayed.err
    assert told in replayed.err


def test_the_replay_of_a_failed_recording_says_so(run: Run) -> None:
    """The replay of a failed recording says so, to people and in its events."""
    recorded = run("- {tool: fail, args: {why: not yet}}")

    replayed = run(
        "- {tool: fail, args: {why: not yet}, expect_error: true}",
        *("--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures")),
    )

    told = f"the recorded run {recorded.folder.name} failed: tool fail failed: LookupError: not yet (code tool-failed)"
    assert (replayed.status, told in replayed.err) == (0, True), replayed.err
    assert told in [each.get("text") for each in replayed.events()]


def test_a_call_that_a_gate_refused_is_no_recorded_one(run: Run) -> None:
    """A call that a gate refused is no recorded one: nothing is missing where it is left out."""
    recorded = run(THREE, rest="gates: {max_tool_calls: 2}")

    fixtures = ("--fixtures-dir", str(recorded.folder / "fixtures"))
    replayed = run("- {tool: next_number}\n- {tool: next_number}", "--mode", "replay", *fixtures)

    assert (recorded.status, replayed.status) == (1, 0), replayed.err


def test_a_module_of_tools_that_ends_the_process_is_told(run: Run) -> None:
    """A module of tools that ends the process is told."""
    Path("leaving_at_once.py").write_text("raise SystemExit(0)")

    ended = run(THREE, "--tools", "leaving_at_once:tool")

    assert ended.status == 2
    assert "--tools leaving_at_once:tool: wanted MODULE:NAME of a tool, found SystemExit: 0" in ended.err


@pytest.mark.parametrize("content", ["", "{", "{}", '{"format_version": 1}'])
def test_a_damaged_run_file_is_named(run: Run, content: str) -> None:
    """A damaged run file is named."""
    (run(THREE).folder / "run.json").write_text(content)

    replayed = replay(run, THREE)

    assert (replayed.status, replayed.err.count("\n")) == (65, 1)
    assert "run.json" in replayed.err
