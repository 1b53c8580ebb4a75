"""Killed and stopped runs can be read, and do not count as complete recordings."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from eikon_engine.outcome.read_events import read_events
from eikon_engine.trace.trace_file import read_trace
from tests.scenario.workshop import PAGE, Workshop
from tests.sites.static import serve_folder
from tests.until import wait_until

pytestmark = pytest.mark.browser

DEADLINE_S = 60.0

ENDLESS = """
id: endless
goal: Never end
allowed_tools: [next_number, wait_for_ever]
subgoals:
  - id: one
    steps:
      - {tool: next_number, as: a}
      - {tool: wait_for_ever}
"""


def started(shop: Workshop, run_id: str) -> subprocess.Popen[str]:
    """Start a run, and wait until it has called its endless tool."""
    began = shop.folder / "began"
    began.unlink(missing_ok=True)
    tools = ("--tools", "ours:next_number", "--tools", "ours:wait_for_ever")
    process = subprocess.Popen(
        shop.command("scenario.yaml", *tools, "--run-id", run_id),
        cwd=shop.folder,
        env=shop.surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: began.exists() or process.poll() is not None, "the endless tool", DEADLINE_S)
    assert process.poll() is None, process.communicate()
    return process


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """Return a folder with the endless scenario."""
    shop = Workshop(tmp_path)
    shop.write(ENDLESS)
    return shop


def test_a_killed_run_reads_back_and_is_no_recording(shop: Workshop) -> None:
    """A killed run can be read but is not a recording."""
    process = started(shop, "killed")
    process.kill()
    process.communicate()

    folder = shop.folder / "runs/killed"
    kinds = [line.event.type for line in read_events(folder / "events.jsonl").lines]
    assert kinds == ["run_start", "subgoal_start", "tool_call", "tool_result", "tool_call"]
    assert json.loads((folder / "run.json").read_text())["state"] == "running"
    latest = shop.run_apart("scenario.yaml", "--mode", "replay", "--latest")
    named = shop.run("scenario.yaml", "--mode", "replay", "--fixtures-dir", "runs/killed/fixtures")
    assert (latest.status, named.status) == (65, 65)
    assert "killed is incomplete (killed or still running)" in latest.err
    assert "got run killed, which was killed or is still running" in named.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_has_its_end(shop: Workshop, number: signal.Signals) -> None:
    """A stopped run has an end event."""
    process = started(shop, "stopped")
    process.send_signal(number)
    _, printed = process.communicate(timeout=30)

    folder = shop.folder / "runs/stopped"
    last = read_events(folder / "events.jsonl").lines[-1].event
    note = json.loads((folder / "run.json").read_text())
    assert process.returncode == 128 + number, printed
    assert (last.type, getattr(last, "how", "")) == ("run_end", "interrupted")
    assert (note["state"], note["error"]["code"]) == ("interrupted", "interrupted")
    assert "Recording of endless: interrupted" in (folder / "summary.txt").read_text()
    assert printed.count("\n") == 1


CLICKS = """
id: clicks
goal: Click
start_url: "{{site}}/index.html"
variables: {site: null}
subgoals:
  - id: one
    steps:
"""


def test_a_stopped_run_with_pages_has_its_end_and_its_mission(shop: Workshop) -> None:
    """A run stopped in the middle of an action has an end event and its mission up to that action."""
    (shop.folder / "index.html").write_text(PAGE)
    shop.write(CLICKS + '      - action: {type: click, target: {selector: "#find"}}\n' * 80)
    events = shop.folder / "runs/stopped/events.jsonl"
    with serve_folder(shop.folder) as url:
        process = subprocess.Popen(
            shop.command("scenario.yaml", "--var", f"site={url}", "--run-id", "stopped"),
            cwd=shop.folder,
            env=shop.surroundings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: _actions(events) >= 3 or process.poll() is not None, "the third action", DEADLINE_S)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGTERM)
        _, printed = process.communicate(timeout=60)

    assert (process.returncode, printed) == (143, "eikon: stopped by SIGTERM (code interrupted)\n")
    assert getattr(read_events(events).lines[-1].event, "how", "") == "interrupted"
    trace = read_trace(events.parent / "mission")
    assert trace.status == "aborted"
    assert len(trace.subgoal_traces[0].actions_taken) >= 3


def _actions(events: Path) -> int:
    return events.read_text().count('"type":"action"') if events.exists() else 0
