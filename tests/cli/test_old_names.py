"""Each row of docs/old-names.md, run as it says; older recordings are replayed in tests/replay/test_replay_older.py."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import ReplayDivergenceError, YamlError
from eikon_engine.llm import EchoClient
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.scenario.model import read_scenario
from eikon_engine.skills import default_skills
from eikon_engine.skills.skill import SkillInput
from tests.debug.conftest import run_eikon, session

if TYPE_CHECKING:
    from eikon_engine.llm import Completion, CompletionRequest

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests" / "data" / "traces"
NAMES = {
    "eikon_engine.replay": ("ReplayConfig", "ReplaySummary", "ReplayEngine", "ReplayError", "ReplayDivergenceError"),
    "eikon_engine.replay.replay_engine": ("ReplayConfig", "ReplaySummary", "ReplayEngine"),
    "eikon_engine.trace.models": (
        *("ActionTrace", "ArtifactRecord", "ExecutionTrace", "ExtractionRecord", "FailureRecord"),
        *("PageIntentRecord", "SkillUsage", "SubgoalTrace"),
    ),
    "eikon_engine.trace.reader": ("ExecutionTraceSerializer", "read_trace"),
}
SCENARIO = """\
id: research
goal_prompt: Read a file
allowed_tools:
  - name: read_file
subgoals:
  - id: read
    steps:
      - tool: read_file
        args: {path: research.yaml}
assertions:
  max_tool_calls: 0
"""
ROWS = frozenset(
    (
        "eikon_engine.replay.ReplayConfig",
        "eikon_engine.replay.ReplaySummary",
        "eikon_engine.replay.replay_engine",
        "eikon_engine.replay.replay_cli",
        "eikon_engine.trace.models",
        "eikon_engine.trace.reader",
        "goal_prompt",
        "allowed_tools: [{name: TOOL}]",
        "assertions",
        "eikon debug branch switch NAME",
        "eikon debug branch CP NAME",
        "eikon debug branch --from CP --name NAME",
        "eikon debug … -s ID",
        "eikon fix loop --test_cmd",
        "eikon fix loop --max_cycles",
        "eikon fix loop --target_files '[\"FILE\"]'",
        "aider:automatic",
        "--debug-c7",
        "REPLAY_DIVERGENCE",
        "file_path",
    )
)
"""The older names that the tests below cover."""


def test_every_row_of_the_page_is_tested() -> None:
    """The page lists what is tested here, and nothing else."""
    page = (ROOT / "docs" / "old-names.md").read_text(encoding="utf-8").partition("## Names")[2]

    assert frozenset(re.findall(r"^\| `([^`]+)`", page, re.MULTILINE)) == ROWS


@pytest.mark.parametrize("module", NAMES)
def test_older_names_can_be_imported(module: str) -> None:
    """They are the classes of this version."""
    found = import_module(module)

    assert all(getattr(found, name).__module__.startswith("eikon_engine.") for name in NAMES[module])
    assert import_module("eikon_engine.replay").ReplayConfig is ReplayOptions
    assert import_module("eikon_engine.replay").ReplaySummary is ReplayOutcome


def test_the_command_of_the_replay_package_is_the_older_replay_cli() -> None:
    """`python -m eikon_engine.replay` has the options of the older command."""
    command = [sys.executable, "-m", "eikon_engine.replay", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=60)

    assert all(option in done.stdout for option in ("--trace", "--headless", "--artifacts-dir"))


@pytest.mark.parametrize("gates", ["  max_tool_calls: 0", "  - max_tool_calls: 0\n  - max_actions: 1"])
def test_a_scenario_may_have_the_older_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gates: str) -> None:
    """The goal, the tool and the limit are those of the older words: the tool is called, and its gate fails."""
    (tmp_path / "research.yaml").write_text(SCENARIO.replace("  max_tool_calls: 0", gates), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    done = run_eikon("run", "research.yaml", "--no-certify", "--run-id", "one")

    assert done.status == 1
    assert "gate max_tool_calls: 1 tool call, at most 0" in done.err
    events = (tmp_path / "runs" / "one" / "events.jsonl").read_text(encoding="utf-8")
    assert '"mission_text":"Read a file"' in events
    assert '"tool":"read_file"' in events


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "goal_prompt: ",
            "goal: a\ngoal_prompt: ",
            "line 3, column 1: goal_prompt: expected one of goal and goal_prompt",
        ),
        ("max_tool_calls", "max_tools", "line 11, column 3: gates.max_tools: expected the name of a gate"),
        ("  - name: read_file", "  - name: [1]", "line 4, column 5: allowed_tools[0]: expected a string"),
    ],
)
def test_errors_in_older_words_have_their_position(tmp_path: Path, old: str, new: str, message: str) -> None:
    """The message has line and column of the file as it is written, and the word of this version."""
    from eikon_engine.scenario.check import scenario_gates

    path = tmp_path / "research.yaml"
    path.write_text(SCENARIO.replace(old, new), encoding="utf-8")

    with pytest.raises(YamlError) as raised:
        scenario_gates(read_scenario(path))

    assert message in raised.value.message


@pytest.mark.browser
def test_branches_have_their_older_spellings(tmp_path: Path) -> None:
    """Branches are created from a checkpoint in three ways, and switched to in two; `-s` names the session."""
    with session(tmp_path, name="tea") as running:
        running.run("step")
        running.run("checkpoint", "create", "at first")
        (checkpoint,) = [each for each in running.json("checkpoint", "list") if each["label"] == "at first"]

        running.run("branch", checkpoint["id"], "one way")
        running.run("branch", "--from", "at first", "--name", "another way")
        running.run("branch", "switch", "one way")
        listed = run_eikon("debug", "branch", "list", "-s", "tea", "--sessions-dir", str(tmp_path), "--json")

    found = {each["name"]: each["current"] for each in json.loads(listed.out)}
    assert found == {"main": False, "one way": True, "another way": False}
    nameless = run_eikon("debug", "branch", "create", "-s", "tea", "--sessions-dir", str(tmp_path))
    assert (nameless.status, "expected one name, got none" in nameless.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--test_cmd", "pytest", "--max_cycles", "many"), 2, "'many' is not a valid integer"),
        (("--test_cmd", "pytest", "--max_cycles", "0"), 2, "max"),
        (("--test_cmd", "pytest", "--target_files", "src.py"), 2, "--target_files: expected a JSON list of paths"),
        (("--test_cmd", "pytest", "--applier", "aider:automatic"), 2, "'aider'"),
    ],
)
def test_the_loop_has_the_parameters_of_its_task(options: tuple[str, ...], status: int, message: str) -> None:
    """Underscores are read as hyphens; an error names the value."""
    done = run_eikon("fix", "loop", *options)

    assert (done.status, message in done.err) == (status, True), done.err


def test_target_files_may_be_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--target_files` is read as several `--target-file`: a file that does not exist is refused."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    monkeypatch.chdir(tmp_path)

    done = run_eikon("fix", "loop", "--test_cmd", "pytest", "--target_files", '["src/gone.py"]')

    assert done.status != 0
    assert "src/gone.py" in done.err


def test_an_unknown_debug_option_is_one_clear_line() -> None:
    """`--debug-c7` is implied by `--debug-dir`, which the error names."""
    done = run_eikon("replay", "--debug-c7", str(TRACES / "shop_passing"))

    assert done.status == 2
    assert "--debug-dir" in done.err


@pytest.mark.browser
def test_a_divergence_has_its_flag_in_every_output(tmp_path: Path) -> None:
    """Summary, outcome and events have the same word and the same code."""
    with pytest.raises(ReplayDivergenceError) as raised:
        ReplayEngine(ReplayOptions(artifacts_dir=tmp_path)).replay(TRACES / "shop_diverging")

    outcome = json.loads((tmp_path / "outcome.json").read_bytes())
    lines = (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    found = [event for line in lines if (event := json.loads(line)["event"])["type"] == "divergence"]
    summary = (tmp_path / "replay_summary.txt").read_text(encoding="utf-8")
    code = raised.value.divergence_code
    assert (outcome["flag"], outcome["divergence_code"]) == ("REPLAY_DIVERGENCE", code)
    assert (found[0]["flag"], found[0]["divergence"]["code"]) == ("REPLAY_DIVERGENCE", code)
    assert re.search(rf"Flag +REPLAY_DIVERGENCE(?s:.*)Code +{code}\n", summary)


def test_a_response_says_what_it_is_about() -> None:
    """A request of a skill has the URL of its page as `file_path`."""
    asked: list[CompletionRequest] = []

    class Listening(EchoClient):
        def complete(self, request: CompletionRequest) -> Completion:
            asked.append(request)
            return super().complete(request)

    page = SkillInput(
        html="<p>Tea</p>",
        url="http://shop.test/tea",
        parameters={"question": "What is it?"},
        completion_client=Listening(),
    )
    default_skills().get("ask_page").run(page)

    assert [each.file_path for each in asked] == ["http://shop.test/tea"]
