"""Scenarios with pages: actions, the tool `browser`, expected failures, and gates."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from eikon_engine.cli.gate import gate_command
from eikon_engine.trace.trace_file import read_trace
from tests.scenario.workshop import PAGE, Ran, Workshop
from tests.sites.model_server import serve_model
from tests.sites.static import serve_folder

SCENARIO = """
id: pages
goal: Try the pages
start_url: "{{site}}/index.html"
allowed_tools: [browser, next_number]
variables: {site: null}
subgoals:
  - id: look
    description: Look
    steps:
      - tool: browser
        args: {action: {type: fill, target: {selector: "#query"}, text: green}}
        as: filled
      - action: {type: click, target: {selector: "#nowhere"}, timeout_ms: 300}
        expect_error: target-missing
        as: missed
      - {tool: next_number, as: number}
      - tool: browser
        args: {action: {type: click, target: {selector: "#nothing"}, timeout_ms: 300}}
        expect_error: ActionError
      - {action: {type: click, target: {selector: "#find"}}}
      - skill: ask_page
        parameters: {question: What is sold?}
        as: sold
"""


@dataclass(frozen=True)
class Shown:
    """A recording of pages with faults, and its replay."""

    shop: Workshop
    recorded: Ran
    replayed: Ran


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Record and replay once for all tests of this module."""
    folder = tmp_path_factory.mktemp("pages")
    site = folder / "site"
    site.mkdir()
    (site / "index.html").write_text(PAGE + "<script>console.error('too bad')</script>")
    shop = Workshop(folder)
    shop.write(SCENARIO)
    with serve_folder(site) as url, serve_model() as model:
        shop.environ = {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "gpt-test"}
        recorded = shop.record("--tools", "ours:next_number", "--var", f"site={url}", "--no-certify")
    return Shown(shop, recorded, shop.replay(recorded))


def test_the_tool_browser_acts_on_the_page_and_is_replayed(shown: Shown) -> None:
    """The tool `browser` acts on the page and is replayed."""
    assert (shown.recorded.status, shown.replayed.status) == (0, 0), shown.recorded.err + shown.replayed.err
    outputs = [(each.folder / "outputs.json").read_bytes() for each in (shown.recorded, shown.replayed)]
    assert outputs[0] == outputs[1]
    output = json.loads(outputs[0])
    assert output["filled"]["pages"][0]["title"] == "Stock"
    assert output["missed"]["error"]["code"] == "target-missing"


def test_a_skill_that_asks_a_model_is_answered_from_the_recording(shown: Shown) -> None:
    """A skill's model request is answered from the recording."""
    asked = [[(each["metric_id"], each["source"]) for each in ran.events("completion")] for ran in both(shown)]

    assert asked == [[("ask_page", "captured")], [("ask_page", "replayed")]]


def test_a_response_that_no_skill_asks_for_ends_a_replay(shown: Shown) -> None:
    """An unused model response of the mission fails the replay."""
    copy = shown.recorded.folder.with_name("with_one_more")
    shutil.copytree(shown.recorded.folder, copy)
    (first,) = (copy / "mission/responses").glob("ask_page-*-0000.json")
    second = {**json.loads(first.read_text()), "sample_index": 1}
    (copy / "mission/responses" / first.name.replace("-0000", "-0001")).write_text(json.dumps(second))

    replayed = shown.shop.run("scenario.yaml", "--mode", "replay", "--fixtures-dir", str(copy))

    assert replayed.status == 1, replayed.err
    assert "unused recorded model responses: ask_page-" in replayed.err


def test_a_scenario_that_leaves_all_pages_out_is_not_the_one_that_was_recorded(shown: Shown) -> None:
    """A scenario without its page steps does not match its recording."""
    number = "      - {tool: next_number, as: number}\n"
    head = "id: none\ngoal: Try\nallowed_tools: [next_number]\n"
    steps = f"subgoals:\n  - id: look\n    steps:\n{number}"
    with serve_folder(shown.shop.folder / "site") as url:
        shown.shop.write(f"{head}start_url: {url}/index.html\n{steps}", "none.yaml")
        recorded = shown.shop.record("--tools", "ours:next_number", "--no-certify", name="none.yaml")
    shown.shop.write(f"{head}{steps}", "none.yaml")

    replayed = shown.shop.replay(recorded, name="none.yaml")

    assert (recorded.status, replayed.status) == (0, 1), recorded.err + replayed.err
    assert "mission was recorded, but the scenario has no page steps" in replayed.err


def both(shown: Shown) -> tuple[Ran, Ran]:
    """Return the recording and its replay."""
    return shown.recorded, shown.replayed


def test_actions_and_tools_are_recorded_in_order(shown: Shown) -> None:
    """Actions and tool calls are in the mission in execution order."""
    (attempt,) = read_trace(shown.recorded.folder / "mission").subgoal_traces

    assert [(each.sequence, each.action.type) for each in attempt.actions_taken] == [
        (1, "navigate"),
        (2, "fill"),
        (3, "click"),
        (5, "click"),
        (6, "click"),
    ]
    assert [(each.sequence, each.tool, each.output) for each in attempt.tools_used] == [(4, "next_number", 1)]


GATES = {
    "max_tool_calls: 1": 1,
    "max_tool_calls: 3": 0,
    "max_actions: 4": 1,
    "max_actions: 5": 0,
    "no_console_errors: true": 1,
    "no_failed_requests: true": 1,
    "allowed_hosts: [shop.test]": 1,
    "allowed_hosts: [127.0.0.1]": 0,
    "expect_status: 404": 1,
    "max_duration: 0.001": 1,
    "latency_ms: {of: tool, name: browser, limit: 0.0001}": 1,
}


@pytest.mark.parametrize(("gate", "status"), GATES.items())
def test_gates_check_a_recorded_run_afterwards(shown: Shown, tmp_path: Path, gate: str, status: int) -> None:
    """Gates can be checked on a recorded run."""
    gates = tmp_path / "gates.yaml"
    gates.write_text(f"gates: {{{gate}}}\n")

    ended = CliRunner().invoke(gate_command, [str(gates), str(shown.recorded.folder)], standalone_mode=False)

    assert ended.return_value == status, ended.output


def test_a_gate_stops_a_replay_before_the_action_that_is_one_too_many(shown: Shown) -> None:
    """A gate stops a replay before the action that exceeds it."""
    shown.shop.write(SCENARIO + "gates: {max_actions: 1}\n", "limited.yaml")

    replayed = shown.shop.replay(shown.recorded, name="limited.yaml")

    assert replayed.status == 1
    assert "gate max_actions" in replayed.err
    assert "(code gate-failed)" in replayed.err
    assert json.loads((replayed.folder / "run.json").read_text())["state"] == "failed"
