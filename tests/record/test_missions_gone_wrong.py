"""Missions in which agent, browser, page or site fail leave a bundle that says so, and the agent gets its own error."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import Browser, Error

from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.trace_file import JOURNAL_FILE
from tests.browser.pages import Answer, PageSite, serve_pages
from tests.record.recorded_page import TWICE, recorded_page, steps, warnings
from tests.replay.conftest import replay
from tests.until import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE_S: Final = 240.0
"""Wall time for a process to end on a busy machine."""


def start(*command: object) -> subprocess.Popen[str]:
    """Start a Python process with a process group of its own, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )


def output_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for a process to end; one that hangs is killed with all that it started, and fails the test."""
    try:
        return process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise


def ends_quietly(stderr: str) -> bool:
    """Return whether asyncio has nothing to complain about."""
    return not any(each in stderr for each in ("never retrieved", "was destroyed", "never awaited"))


@pytest.fixture(scope="module")
def down_url() -> Iterator[str]:
    """Return the URL of a site that refuses connections."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{reserved.getsockname()[1]}/"


@dataclass(frozen=True, slots=True)
class Missions:
    """Recorded missions."""

    folder: Path
    raised: dict[str, tuple[str, bool]]
    """By agent: the type of the exception that left the recording, and whether it is the one that left the agent."""
    stderr: str


@pytest.fixture(scope="module", params=["sync", "async"])
def missions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, down_url: str) -> Missions:
    """Record all agents with either API in one process."""
    folder = tmp_path_factory.mktemp(request.param)
    agents = ["raises", "kills_browser", "closes_browser", "crashes_page", "finds_site_down"]
    with serve_pages() as site:
        url = site.put("<button>Go</button>")
        process = start(ROOT / "tests/record/troubled_missions.py", request.param, folder, url, down_url, *agents)
        stdout, stderr = output_of(process)
    assert process.returncode == 0, stderr
    lines = [json.loads(line) for line in stdout.splitlines()]
    return Missions(folder, {each["agent"]: (each["raised"], each["unchanged"]) for each in lines}, stderr)


CLOSED: Final = "TargetClosedError: Page.click: Target page, context or browser has been closed"


@pytest.mark.parametrize(
    ("agent", "results", "failure", "warning"),
    [
        ("raises", ["", ""], "RuntimeError: the model gave up", ""),
        ("kills_browser", ["", "page-missing"], CLOSED, "the agent's browser exited unexpectedly before"),
        ("closes_browser", ["", "page-missing"], CLOSED, "the agent's browser was closed before"),
        (
            "crashes_page",
            ["", "navigation-failed", "page-crashed"],
            "Error: Page.click: Target crashed",
            "page 0 crashed",
        ),
        ("finds_site_down", ["navigation-failed"], "Error: Page.goto: net::ERR_CONNECTION_REFUSED", ""),
    ],
)
def test_the_bundle_of_a_mission_gone_wrong_says_what_happened(
    missions: Missions, agent: str, results: list[str], failure: str, warning: str
) -> None:
    """The agent's own error leaves the block unchanged; status, failure, actions and warnings are in the trace."""
    trace = open_bundle(missions.folder / agent).trace
    found = [each.result.code if isinstance(each.result, Failed) else "" for each in steps(missions.folder / agent)]

    assert missions.raised[agent] == (failure.partition(":")[0], True)
    assert (trace.status, found) == ("failed", results)
    assert [each.message.startswith(failure) and "\n" not in each.message for each in trace.failures] == [True]
    assert trace.subgoal_traces[-1].error == trace.failures[0].message
    warned = warnings(missions.folder / agent)
    assert warning in warned if warning else warned == ""


def test_missions_gone_wrong_end_quietly(missions: Missions) -> None:
    """Neither asyncio nor the recorder writes anything to the agent's standard error."""
    assert missions.stderr == ""


@pytest.mark.parametrize("api", ["sync", "async"])
def test_ctrl_c_ends_a_hanging_agent(site: PageSite, tmp_path: Path, api: str) -> None:
    """Ctrl-C reaches the browser too; the agent ends as without a recording, and the bundle is aborted."""
    url = site.put("<button>Go</button>")
    process = start(ROOT / "tests/record/troubled_missions.py", api, tmp_path, url, url, "hangs")
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    journal = tmp_path / "hangs" / JOURNAL_FILE
    wait_until(lambda: '"click"' in journal.read_text(), "the click in the journal", PATIENCE_S)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = output_of(process)

    trace = open_bundle(tmp_path / "hangs").trace
    assert (process.returncode, stderr.splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")
    assert ends_quietly(stderr)
    assert trace.status == trace.subgoal_traces[0].status == "aborted"
    assert [each.action.type for each in steps(tmp_path / "hangs")][:2] == ["navigate", "click"]


@pytest.mark.parametrize(
    ("api", "agent"),
    [("sync", "is_interrupted"), ("async", "is_interrupted"), ("sync", "is_interrupted_before_it_goes_on")],
)
def test_ctrl_c_loses_no_message_and_is_not_late(site: PageSite, tmp_path: Path, api: str, agent: str) -> None:
    """Without the recording, the event loop of the synchronous API would wait for the lost message forever."""
    url = site.put("<button>Go</button>")
    process = start(ROOT / "tests/record/troubled_missions.py", api, tmp_path, url, url, agent)
    _, stderr = output_of(process)

    assert (process.returncode, stderr.splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")
    assert ends_quietly(stderr)
    assert open_bundle(tmp_path / agent).trace.status == "aborted"


def test_an_agent_that_handles_a_site_that_is_down_replays(
    chromium: Browser, site: PageSite, tmp_path: Path, down_url: str
) -> None:
    """The failed navigation is expected to fail again, and the mission is complete."""
    url = site.put("<button>Go</button>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        with pytest.raises(Error, match="ERR_CONNECTION_REFUSED"):
            agent.page.goto(down_url)
        agent.page.wait_for_url("chrome-error://**")  # else the error page may interrupt the next navigation
        agent.page.goto(url)
        agent.page.click("button")

    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified"
    assert open_bundle(tmp_path / "b").trace.status == "complete"
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


def test_fifty_tabs_are_recorded_and_certified(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Fifty open tabs are all observed, and so is what the agent does on the last one."""
    url = site.put("<button onclick=\"textContent = 'Gone'\">Go</button>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        tabs = [agent.page.context.new_page() for _ in range(49)]
        tabs[-1].goto(url)
        tabs[-1].click("button")

    recorded = steps(tmp_path / "b")
    assert [each.action.type for each in recorded] == ["navigate", *["open_page"] * 49, "navigate", "click"]
    assert recorded[-1].observation is not None
    assert len(recorded[-1].observation.pages) == 50
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_a_killed_asynchronous_agent_leaves_its_completed_actions(site: PageSite, tmp_path: Path) -> None:
    """The journal opens as a bundle, as that of an agent with the synchronous API."""
    url = site.put("<button>Go</button>")
    process = start(ROOT / "tests/record/troubled_missions.py", "async", tmp_path, url, url, "hangs")
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    journal = tmp_path / "hangs" / JOURNAL_FILE
    wait_until(lambda: '"click"' in journal.read_text(), "the click in the journal", PATIENCE_S)
    os.killpg(process.pid, signal.SIGKILL)
    output_of(process)

    trace = open_bundle(tmp_path / "hangs").trace
    assert process.returncode == -signal.SIGKILL
    assert trace.status == "aborted"
    assert [each.action.type for each in steps(tmp_path / "hangs")] == ["navigate", "click"]
    assert "ended early" in warnings(tmp_path / "hangs")


SYNC_SCRIPT: Final = """
import sys
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    page = playwright.chromium.launch().new_page()
    page.goto(sys.argv[1])
    page.click("button")
    {end}
"""
ASYNC_SCRIPT: Final = """
import asyncio, sys
from playwright.async_api import async_playwright

async def main():
    async with async_playwright() as playwright:
        page = await (await playwright.chromium.launch()).new_page()
        await page.goto(sys.argv[1])
        await page.click("button")
        {end}

asyncio.run(main())
"""
INTERRUPTED_SCRIPT: Final = """
import asyncio, signal, sys
from playwright.sync_api import sync_playwright

feed_data = asyncio.StreamReader.feed_data

def interrupt_and_feed(reader, data):
    asyncio.StreamReader.feed_data = feed_data
    signal.raise_signal(signal.SIGINT)
    reader.feed_data(data)

with sync_playwright() as playwright:
    page = playwright.chromium.launch().new_page()
    page.goto(sys.argv[1])
    asyncio.StreamReader.feed_data = interrupt_and_feed
    page.click("#never", timeout=0)
"""
HANG: Final = "print('hanging', flush=True); {} page.click('#never', timeout=0)"


def record_script(folder: Path, text: str, url: str) -> subprocess.Popen[str]:
    """Start recording a script into `b`."""
    script = folder / "agent.py"
    script.write_text(text, encoding="utf-8")
    return start("-m", "eikon_engine", "record", "--script", script, "-o", folder / "b", "--no-certify", "--", url)


def test_ctrl_c_in_a_recorded_script_loses_no_message(site: PageSite, tmp_path: Path) -> None:
    """The script ends at once, as with `record_mission`."""
    process = record_script(tmp_path, INTERRUPTED_SCRIPT, site.put("<button>Go</button>"))
    _, stderr = output_of(process)

    assert process.returncode == 130
    assert "exited with status 130; everything before that is recorded" in stderr
    assert ends_quietly(stderr)
    assert open_bundle(tmp_path / "b").trace.status == "aborted", stderr


@pytest.mark.parametrize("script", [SYNC_SCRIPT, ASYNC_SCRIPT], ids=["sync", "async"])
def test_a_script_that_fails_without_closing_its_browser_loses_nothing(
    site: PageSite, tmp_path: Path, script: str
) -> None:
    """The response to its last action is recorded before Playwright stops."""
    site.answers["/data"] = Answer(pieces=(b"some", b"data"))
    url = site.put("<button onclick=\"fetch('/data')\">Go</button>")

    process = record_script(tmp_path, script.format(end="1 / 0"), url)
    _, stderr = output_of(process)

    assert process.returncode == 1
    assert "ZeroDivisionError" in stderr
    assert ends_quietly(stderr)
    assert '/data"' in (tmp_path / "b" / "network" / "index.jsonl").read_text(encoding="utf-8")
    assert (open_bundle(tmp_path / "b").trace.status, warnings(tmp_path / "b")) == ("failed", "")


@pytest.mark.parametrize(
    ("script", "number", "reaches_script", "cause"),
    [
        (SYNC_SCRIPT.format(end=HANG.format("")), signal.SIGINT, True, "the user"),
        (SYNC_SCRIPT.format(end=HANG.format("")), signal.SIGINT, False, "the user"),
        (ASYNC_SCRIPT.format(end=HANG.format("await")), signal.SIGTERM, False, "SIGTERM"),
    ],
    ids=["Ctrl-C", "SIGINT", "SIGTERM"],
)
def test_a_recording_command_that_is_stopped_completes_the_bundle(
    site: PageSite, tmp_path: Path, script: str, number: signal.Signals, cause: str, *, reaches_script: bool
) -> None:
    """The script ends with the command, what it did is reported, and the bundle is aborted."""
    process = record_script(tmp_path, script, site.put("<button>Go</button>"))
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    (os.killpg if reaches_script else os.kill)(process.pid, number)
    stdout, stderr = output_of(process)

    assert process.returncode == 128 + number
    assert stderr.splitlines()[-1] == f"eikon: stopped by {cause} (code interrupted)"
    assert "BrokenPipeError" not in stderr
    assert ends_quietly(stderr)
    assert f"{tmp_path / 'b'}: recorded, " in stdout
    assert open_bundle(tmp_path / "b").trace.status == "aborted", stderr


def test_a_script_that_is_stopped_before_its_first_page_is_told_to_be_unrecorded(tmp_path: Path) -> None:
    """Nothing is left in the folder, and the command does not leave that to be found out."""
    process = record_script(tmp_path, "import time\nprint('hanging', flush=True)\ntime.sleep(300)\n", "unused")
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = output_of(process)

    assert process.returncode == 130
    assert stdout == f"{tmp_path / 'b'}: nothing was recorded\n"
    assert stderr.splitlines()[-1] == "eikon: stopped by the user (code interrupted)"
    assert not (tmp_path / "b").exists()


def test_a_recording_whose_certification_is_stopped_is_complete(site: PageSite, tmp_path: Path) -> None:
    """The last line says that it is recorded, and how to certify it later."""
    script = tmp_path / "agent.py"
    script.write_text(SYNC_SCRIPT.format(end=""), encoding="utf-8")
    url = site.put("<button>Go</button>")
    process = start("-m", "eikon_engine", "record", "--script", script, "-o", tmp_path / "b", "--", url)
    progress = process.stderr
    assert progress is not None
    wait_until(lambda: "[CERTIFY]" in progress.readline(), "the first replay of the certification", PATIENCE_S)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = output_of(process)

    folder = tmp_path / "b"
    assert process.returncode == 130
    assert stdout == f"{folder}: recorded, 2 actions; not certified; next: eikon certify {folder}\n"
    assert stderr.splitlines()[-1] == "eikon: stopped by the user (code interrupted)"
    assert open_bundle(folder).trace.status == "complete"
