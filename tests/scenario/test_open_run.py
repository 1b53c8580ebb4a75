"""Agents without a scenario record and replay their tool calls."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from eikon_engine import AttachOptions, RunOptions, ToolBox, open_run, record_mission
from eikon_engine.browser.executable import find_browser
from eikon_engine.errors import ReplayError, RequirementError, ResultNotStorableError, UsageError
from eikon_engine.trace.trace_file import read_trace
from tests.browser.pages import serve_pages
from tests.error_codes import has_code
from tests.sites.static import serve_folder

pytestmark = pytest.mark.browser

DOCS = Path(__file__).parents[2] / "docs"


def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


BOX = ToolBox.of(add)


class Notes:
    """A mission that stores the calls recorded in it."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, Any, Any, str]] = []

    def tool(self, name: str, arguments: Any = None, *, result: Any = None, error: str = "") -> None:  # noqa: ANN401 - as AgentMission
        """Record a call."""
        self.noted.append((name, arguments, result, error))


def state(folder: Path) -> tuple[str, str]:
    """Return the state of a run, from its run file and from its events."""
    last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])["event"]
    return json.loads((folder / "run.json").read_text())["state"], last["how"]


def test_the_example_of_the_documents_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example in the documentation runs."""
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```python\n(.*?)```", (DOCS / "tool-fixtures.md").read_text(), re.DOTALL)

    assert example is not None
    exec(compile(example[1], "tool-fixtures.md", "exec"), {"__name__": "example"})  # noqa: S102 - the example
    assert state(tmp_path / "runs/prices_again") == ("complete", "complete")
    assert list((tmp_path / "runs/prices_again/fixtures").iterdir()) == []


def test_the_example_of_scenarios_in_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of docs/scenarios.md records and replays the scenario next to it, here on a free port."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(DOCS.parent))
    shutil.copytree(DOCS.parent / "scenarios", tmp_path / "scenarios")
    example = re.search(r"```python\n(.*?)```", (DOCS / "scenarios.md").read_text(), re.DOTALL)

    assert example is not None
    with serve_folder(tmp_path / "scenarios/site") as url:
        code = example[1].replace("http://127.0.0.1:8765", url)
        exec(compile(code, "scenarios.md", "exec"), {"__name__": "example"})  # noqa: S102 - the example
    assert re.fullmatch(r"0 runs/\w+_release_notes_replay\n", capsys.readouterr().out)


def test_an_asynchronous_agent_is_replayed(tmp_path: Path) -> None:
    """A replay works for an asynchronous agent."""

    async def agent(folder: str, **how: Any) -> list[int]:  # noqa: ANN401 - as open_run
        async with open_run(tmp_path / folder, BOX, **how) as run:
            return [await run.acall("add", {"left": each, "right": 1}) for each in (1, 2)]

    assert asyncio.run(agent("first")) == [2, 3]
    assert asyncio.run(agent("second", mode="replay", fixtures=tmp_path / "first/fixtures")) == [2, 3]


def test_calls_are_noted_in_the_mission_as_well(tmp_path: Path) -> None:
    """Tool calls are also recorded in the mission."""
    notes = Notes()

    with open_run(tmp_path / "run", BOX, options=RunOptions(mission=notes)) as run:
        run.call("add", {"left": 1, "right": 2})

    assert notes.noted == [("add", {"left": 1, "right": 2}, 3, "")]


def test_calls_are_recorded_among_the_actions_of_a_mission(tmp_path: Path) -> None:
    """Tool calls are recorded among the mission's actions, in order."""
    with serve_pages() as site, sync_playwright() as playwright:
        url = site.put("<title>Shop</title><button>Buy</button>")
        browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        page = browser.new_page()
        recorded = record_mission(
            page, mission_text="Buy", directory=tmp_path / "mission", options=AttachOptions(certify=None)
        )
        with recorded as mission, open_run(tmp_path / "run", BOX, options=RunOptions(mission=mission)) as run:
            page.goto(url)
            run.call("add", {"left": 1, "right": 2})
            page.click("button")
        browser.close()

    (attempt,) = read_trace(tmp_path / "mission").subgoal_traces
    assert [(each.sequence, each.tool, each.output) for each in attempt.tools_used] == [(2, "add", 3)]
    assert [each.sequence for each in attempt.actions_taken] == [1, 3]


def test_an_agent_that_fails_leaves_a_recording_that_fails_too(tmp_path: Path) -> None:
    """A failed agent leaves a failed recording."""

    def agent(folder: str, **how: Any) -> None:  # noqa: ANN401 - as open_run
        with pytest.raises(ZeroDivisionError), open_run(tmp_path / folder, BOX, **how) as run:
            assert 1 / (run.call("add", {"left": 1, "right": 1}) - 2)

    agent("first")
    agent("second", mode="replay", fixtures=tmp_path / "first/fixtures")

    assert state(tmp_path / "first") == state(tmp_path / "second") == ("failed", "failed")


def test_a_call_that_is_left_out_fails_the_replay_at_its_end(tmp_path: Path) -> None:
    """A missing call fails the replay at its end."""
    with open_run(tmp_path / "first", BOX) as run:
        run.call("add", {"left": 1, "right": 1})

    with (
        pytest.raises(ReplayError, match="1 recorded tool call was not made", check=has_code("tool-calls-diverged")),
        open_run(tmp_path / "second", BOX, mode="replay", fixtures=tmp_path / "first/fixtures"),
    ):
        pass
    assert state(tmp_path / "second") == ("failed", "failed")


def test_a_miss_that_the_agent_ignores_fails_the_replay(tmp_path: Path) -> None:
    """A miss fails the replay even if the agent catches the error."""
    with open_run(tmp_path / "first", BOX):
        pass

    with (
        pytest.raises(RequirementError, match="no fixture for call 1 \\(add", check=has_code("fixture-missing")),
        open_run(tmp_path / "second", BOX, mode="replay", fixtures=tmp_path / "first/fixtures") as run,
        contextlib.suppress(Exception),
    ):
        run.call("add", {"left": 1, "right": 1})
    assert state(tmp_path / "second") == ("failed", "failed")


def test_a_result_that_cannot_be_stored_fails_the_recording_of_an_agent_that_ignores_it(tmp_path: Path) -> None:
    """A result that cannot be stored fails the recording even if the agent catches the error."""

    def pair() -> tuple[int, int]:
        return (1, 2)

    with (
        pytest.raises(ResultNotStorableError, match="result of tool pair"),
        open_run(tmp_path / "run", ToolBox.of(pair)) as run,
        contextlib.suppress(Exception),
    ):
        run.call("pair")
    assert state(tmp_path / "run") == ("failed", "failed")


def test_only_allowed_tools_are_called(tmp_path: Path) -> None:
    """Tools that are not allowed cannot be called."""
    with (
        pytest.raises(RequirementError, check=has_code("tool-not-allowed")),
        open_run(tmp_path / "run", BOX, options=RunOptions(allowed=())) as run,
    ):
        run.call("add", {"left": 1, "right": 1})


def test_fixtures_belong_to_replays_alone(tmp_path: Path) -> None:
    """Fixtures are only accepted for replays."""
    with pytest.raises(UsageError, match="fixtures are required with mode replay"):
        open_run(tmp_path / "run", BOX, mode="replay")
    with pytest.raises(UsageError, match="fixtures are required with mode replay"):
        open_run(tmp_path / "run", BOX, fixtures=tmp_path)
