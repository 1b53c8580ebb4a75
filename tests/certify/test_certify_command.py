"""`eikon certify` as a user runs it: exit status, streams and files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.cli.main import eikon
from eikon_engine.outcome.certification import CertificationReport
from eikon_engine.trace.bundle import open_bundle
from tests.certify.conftest import change_actions
from tests.commands import run_here

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]


def run_certify(bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a bundle, in this process."""
    return run_here(eikon, ("certify", bundle, "--runs", "2", *options), "eikon")


def run_apart(bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a bundle, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "eikon_engine", "certify", str(bundle), "--runs", "2", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_proposals_are_shown_and_only_written_when_accepted(bundle: Callable[[str], Path]) -> None:
    """A proposed baseline is printed as a diff with status 3; with `--accept` it is written with status 0."""
    folder = bundle("stable")
    change_actions(folder, lambda action: action.model_copy(update={"observation": None}))
    before = (folder / "trace.json").read_bytes()

    shown = run_apart(folder, "--stress")
    untouched = (folder / "trace.json").read_bytes() == before and not (folder / "certificate.json").exists()
    accepted = run_certify(folder, "--accept", "--json")

    assert shown.returncode == 3, shown.stderr
    assert shown.stdout.count('-     "observation": null,') == 2
    assert "Apply them with --accept" in shown.stderr
    assert untouched
    assert accepted.returncode == 0, accepted.stderr
    report = CertificationReport.model_validate_json(accepted.stdout)
    assert (report.status, report.accepted, len(report.patch.operations)) == ("certified", True, 2)
    assert json.loads((folder / "certificate.json").read_text())["runs"] == 2


def test_the_runs_may_be_sequential(bundle: Callable[[str], Path]) -> None:
    """`--parallel 1` gives the same result, and a value that is not a number is rejected."""
    folder = bundle("stable")

    done = run_certify(folder, "--parallel", "1")
    refused = run_certify(folder, "--parallel", "0")

    assert done.returncode == 0, done.stderr
    assert refused.returncode == 2
    assert "--parallel" in refused.stderr


def test_ctrl_c_ends_the_replays_and_leaves_the_bundle_as_it_was(bundle: Callable[[str], Path]) -> None:
    """The first progress is there, then the user stops: one line, the status of interruptions, and no file changed."""
    folder = bundle("stable")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    running = subprocess.Popen(
        [sys.executable, "-m", "eikon_engine", "certify", str(folder), "--runs", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )
    assert running.stderr is not None
    first = running.stderr.readline()
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=100)

    assert first.startswith("[CERTIFY] ")
    assert running.returncode == 130, shown
    assert shown.splitlines()[-1] == "eikon: stopped by the user (code interrupted)"
    assert "never retrieved" not in shown
    assert "Traceback" not in shown
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_bundle_that_is_none_is_one_line(tmp_path: Path) -> None:
    """A folder without a trace is a one-line error with the exit status of unreadable traces."""
    done = run_certify(tmp_path)

    assert done.returncode == 65
    assert done.stderr.count("\n") == 1
    assert "(code trace-missing)" in done.stderr


AGENT = """
import os, sys
from playwright.sync_api import sync_playwright
from eikon_engine.browser.executable import find_browser
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AttachOptions, record_mission

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
    page = browser.new_page()
    certify = CertifyOptions(runs=1000, progress=lambda line: print(line, file=sys.stderr, flush=True))
    with record_mission(
        page, mission_text="Go", directory=sys.argv[1], options=AttachOptions(certify=certify)
    ):
        page.goto("data:text/html,<button>Go</button>")
        page.click("button")
"""


ASYNC_AGENT = """
import asyncio, os, sys
from playwright.async_api import async_playwright
from eikon_engine.browser.executable import find_browser
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AttachOptions, record_mission

def report(line):
    print(line, file=sys.stderr, flush=True)
    {on_progress}

async def main():
    global task, loop
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        page = await browser.new_page()
        certify = CertifyOptions(runs={runs}, progress=report)
        async with record_mission(
            page, mission_text="Go", directory=sys.argv[1], options=AttachOptions(certify=certify)
        ):
            await page.goto("data:text/html,<button>Go</button>")
            await page.click("button")

{start}
"""


def async_agent(start: str, *, on_progress: str = "", runs: int = 1000) -> str:
    """Return the script of an agent that uses the asynchronous API."""
    return ASYNC_AGENT.format(start=start, on_progress=on_progress, runs=runs)


ENDS_IN_S = 30.0
"""Wall time for an agent to end after Ctrl-C, also on a busy machine; a thousand replays take much longer."""


def start_agent(tmp_path: Path, text: str) -> tuple[subprocess.Popen[str], str]:
    """Start an agent that records a mission into `b`; return it with the first progress of its certification."""
    script = tmp_path / "agent.py"
    script.write_text(text)
    running = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "b")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )
    assert running.stderr is not None
    return running, running.stderr.readline()


def output_of(running: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what an agent prints until it ends, which must be soon."""
    try:
        return running.communicate(timeout=ENDS_IN_S)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        raise


def require_uncertified_recording(bundle: Path, shown: str) -> None:
    """Check that a stopped certification leaves a complete recording, and no messages of asyncio."""
    assert not any(each in shown for each in ("never retrieved", "was destroyed", "never awaited")), shown
    assert open_bundle(bundle).trace.status == "complete"
    assert {path.name for path in bundle.glob("*cert*")} == set()


@pytest.mark.parametrize("reaches_browsers", [False, True])
@pytest.mark.parametrize(
    ("agent", "reason"),
    [(AGENT, "stopped by the user"), (async_agent("asyncio.run(main())"), "cancelled")],
    ids=["sync", "async"],
)
def test_ctrl_c_while_an_agents_mission_is_certified_keeps_the_recording(
    tmp_path: Path, agent: str, reason: str, *, reaches_browsers: bool
) -> None:
    """The agent's script ends as on any Ctrl-C; the log says that the recording is there, and it is."""
    running, first = start_agent(tmp_path, agent)
    (os.killpg if reaches_browsers else os.kill)(running.pid, signal.SIGINT)
    _, shown = output_of(running)

    assert first.startswith("first run, to learn what varies")
    assert running.returncode == -signal.SIGINT, shown
    assert f"b: recorded but not certified: {reason}; run `eikon certify {tmp_path / 'b'}` later" in shown
    assert shown.rstrip().splitlines()[-1].startswith("KeyboardInterrupt")
    require_uncertified_recording(tmp_path / "b", shown)


CANCELLED = """
try:
    asyncio.run(main())
except asyncio.CancelledError as error:
    print("cancelled:", *error.args)
"""


def test_cancelling_the_task_of_an_agent_ends_its_certification(tmp_path: Path) -> None:
    """The cancellation reaches the agent's caller as it is."""
    text = async_agent(CANCELLED, on_progress="loop.call_soon_threadsafe(task.cancel, 'enough')")
    running, _ = start_agent(tmp_path, text)
    stdout, shown = output_of(running)

    assert (running.returncode, stdout) == (0, "cancelled: enough\n"), shown
    assert "recorded but not certified: cancelled" in shown
    require_uncertified_recording(tmp_path / "b", shown)


ABANDONED_LOOP = """
import pathlib, threading

def children():
    return [pid for each in pathlib.Path("/proc/self/task").glob("*/children") for pid in each.read_text().split()]

own = asyncio.new_event_loop()
try:
    own.run_until_complete(main())
except KeyboardInterrupt:
    print("interrupted", len(children()), flush=True)
    while len(children()) > 1:  # the agent's driver stays, that of the certification ends with it
        threading.Event().wait(0.1)
    threading.Event().wait(0.5)
    print("certified in vain", flush=True)
    os._exit(0)
"""


def test_a_certification_that_is_left_behind_writes_nothing(tmp_path: Path) -> None:
    """A loop that Ctrl-C stops without cancelling its tasks never goes on: no certificate appears afterwards."""
    running, _ = start_agent(tmp_path, async_agent(ABANDONED_LOOP, runs=2))
    os.kill(running.pid, signal.SIGINT)
    stdout, shown = output_of(running)

    assert stdout == "interrupted 2\ncertified in vain\n", shown
    require_uncertified_recording(tmp_path / "b", shown)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_printed_on_terminals_by_default(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> None:
    """Whoever waits for a certification sees how far it is; logs stay short."""
    shown = StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", shown)

    CertifyOptions().progress("run 1 of 5: faithful, 1.0 s")

    assert shown.getvalue() == ("[CERTIFY] run 1 of 5: faithful, 1.0 s\n" if is_terminal else "")
