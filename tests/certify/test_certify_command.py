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


def test_ctrl_c_while_an_agents_mission_is_certified_keeps_the_recording(tmp_path: Path) -> None:
    """The agent's script ends as on any Ctrl-C; the log says that the recording is there, and it is."""
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    running = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "b")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )
    assert running.stderr is not None
    first = running.stderr.readline()
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=100)

    assert first.startswith("run 1 of 1")
    assert running.returncode not in {0, None}
    assert "recorded but not certified: stopped by the user" in shown
    assert shown.rstrip().splitlines()[-1].startswith("KeyboardInterrupt")
    assert "never retrieved" not in shown
    assert open_bundle(tmp_path / "b").trace.status == "complete"
    assert not (tmp_path / "b" / "certificate.json").exists()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_printed_on_terminals_by_default(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> None:
    """Whoever waits for a certification sees how far it is; logs stay short."""
    shown = StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", shown)

    CertifyOptions().progress("run 1 of 5: faithful, 1.0 s")

    assert shown.getvalue() == ("[CERTIFY] run 1 of 5: faithful, 1.0 s\n" if is_terminal else "")
