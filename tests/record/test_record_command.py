"""`eikon record --script` turns an unchanged script or test into a bundle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.kills.checks import MARK, marked_processes
from eikon_engine.browser.executable import find_browser
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import kinds, steps
from tests.replay.conftest import replay
from tests.until import GENEROUS_S, wait_until

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
USAGE = 2

TWO_TESTS = """
import os

def test_first(page):
    page.goto(os.environ["SITE"])
    page.click("button")

def test_second(page):
    page.goto(os.environ["SITE"])
    page.dblclick("button")
    assert page.title() == "another"
"""

FAILING = """
import sys
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch()
    page = browser.new_page()
    page.goto(sys.argv[1])
    page.click("button")
    {end}
"""


def record(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "eikon_engine", "record", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def written(folder: Path, name: str, text: str) -> Path:
    """Write a script."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def button(site: PageSite) -> str:
    """Serve a page with a button."""
    return site.put("<button>Go</button>")


def test_a_script_is_recorded_and_certified(button: str, tmp_path: Path) -> None:
    """An unchanged script becomes a certified bundle that replays without its site."""
    script = written(tmp_path, "agent.py", FAILING.format(end="browser.close()"))

    done = record("--script", script, "-o", tmp_path / "b", "--mission", "Press the button", "--", button)

    assert "first run, to learn what varies: " in done.stderr
    assert {line[:9] for line in done.stderr.splitlines() if "changed: " in line} == {"  changed"}
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("b: recorded, 2 actions; certified")
    assert open_bundle(tmp_path / "b").trace.mission_text == "Press the button"
    outcome = replay(tmp_path / "b", tmp_path / "run", secrets={})
    assert (outcome.verdict, outcome.certified, outcome.network_mode) == ("faithful", "certified", "sealed")


def test_a_typed_password_is_named_as_a_secret(site: PageSite, tmp_path: Path) -> None:
    """The first live replay needs its value, and nothing else says its name."""
    end = "page.fill('input', 'correct-horse'); browser.close()"
    script = written(tmp_path, "agent.py", FAILING.format(end=end))
    url = site.put("<button>Go</button><input type=password aria-label=Password>")

    done = record("--script", script, "-o", tmp_path / "b", "--no-certify", "--", url)

    assert done.returncode == 0, done.stderr
    note = "note: the mission types secret PASSWORD; a live replay needs EIKON_SECRET_PASSWORD"
    assert done.stderr.splitlines().count(note) == 1, done.stderr


def test_each_test_has_a_bundle(button: str, tmp_path: Path) -> None:
    """Two tests become two bundles; a failed test fails its own bundle and the command."""
    test = written(tmp_path, "test_two.py", TWO_TESTS)

    done = record("--script", test, "-o", tmp_path / "b", "--no-certify", SITE=button)

    first, second = (open_bundle(tmp_path / name).trace for name in ("b", "b-2"))
    assert done.returncode == 1
    assert (kinds(tmp_path / "b"), kinds(tmp_path / "b-2")) == (["click"], ["double_click", "read"])
    assert ("test_first" in first.mission_text, "test_second" in second.mission_text) == (True, True)
    assert (first.status, second.status) == ("complete", "failed")
    assert "AssertionError" in second.failures[0].message


def test_one_test_can_be_chosen_and_certified_later(button: str, tmp_path: Path) -> None:
    """`FILE::NAME` runs and records only that test; without a certificate, the next command is suggested."""
    test = written(tmp_path, "test_two.py", TWO_TESTS)

    done = record("--script", f"{test}::test_first", "-o", tmp_path / "b", "--no-certify", SITE=button)

    assert done.returncode == 0, done.stdout + done.stderr
    assert kinds(tmp_path / "b") == ["click"]
    assert not (tmp_path / "b-2").exists()
    assert f"next: eikon certify {tmp_path / 'b'}" in done.stdout
    assert open_bundle(tmp_path / "b").trace.mission_text.endswith("test_two.py::test_first[chromium]")
    assert open_bundle(tmp_path / "b").trace.status == "complete"
    assert not list((tmp_path / "b").glob("certif*"))


@pytest.mark.parametrize(
    ("end", "status", "mission"),
    [("sys.exit(7)", 7, "failed"), ("1 / 0", 1, "failed"), ("sys.exit(0)", 0, "complete")],
)
def test_the_exit_status_of_a_script_is_that_of_the_command(
    button: str, tmp_path: Path, end: str, status: int, mission: str
) -> None:
    """A failing script is recorded as failed with its completed actions, and its exit status is kept."""
    script = written(tmp_path, "agent.py", FAILING.format(end=end))

    done = record("--script", script, "-o", tmp_path / "b", "--no-certify", "--", button)

    assert done.returncode == status, done.stderr
    assert open_bundle(tmp_path / "b").trace.status == mission
    assert kinds(tmp_path / "b") == ["click"]
    if status == 1:
        assert "ZeroDivisionError" in done.stderr
        assert f'Traceback (most recent call last):\n  File "{script}", line 10, in <module>\n' in done.stderr
        assert "runpy" not in done.stderr
        assert "script_host" not in done.stderr
        assert "ZeroDivisionError" in open_bundle(tmp_path / "b").trace.failures[0].message
    if status:
        assert f"agent.py exited with status {status}; everything before that is recorded" in done.stderr


@pytest.mark.parametrize(
    ("end", "how"),
    [("os._exit(9)", "exited with status 9"), ("os.kill(os.getpid(), 9)", "was killed by SIGKILL")],
)
def test_a_script_that_dies_keeps_its_completed_actions(button: str, tmp_path: Path, end: str, how: str) -> None:
    """A process that exits abruptly is reported in one line; its journal opens as a bundle."""
    script = written(tmp_path, "agent.py", FAILING.format(end=f"import os; page.title(); page.hover('button'); {end}"))

    done = record("--script", script, "-o", tmp_path / "b", "--no-certify", "--", button)

    assert done.returncode == USAGE
    left = f"what was recorded until then is in {tmp_path / 'b'}"
    assert done.stderr == f"eikon: {script}: its process {how} without a result; {left} (code usage)\n"
    assert open_bundle(tmp_path / "b").trace.status == "aborted"
    assert steps(tmp_path / "b")[0].action.type == "navigate"


def test_a_script_that_fails_without_a_browser_has_its_own_status(tmp_path: Path) -> None:
    """Its traceback is above the line that says what became of the recording."""
    script = written(tmp_path, "boom.py", "raise ValueError('no account')\n")

    done = record("--script", script, "-o", tmp_path / "b")

    *above, last = done.stderr.splitlines()
    assert done.returncode == 1
    assert "ValueError: no account" in above
    assert last == f"{script} exited with status 1; nothing recorded: the script opened no browser context"
    assert not (tmp_path / "b").exists()


def test_a_script_without_a_browser_is_refused(tmp_path: Path) -> None:
    """It is reported in one line, and no bundle is written."""
    script = written(tmp_path, "quiet.py", "print('nothing to do')\n")

    done = record("--script", script, "-o", tmp_path / "b")

    assert done.returncode == USAGE
    assert done.stdout == "nothing to do\n"
    assert "quiet.py: nothing recorded: the script opened no browser context" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--script", "missing.py"], "missing.py: no such Python script or pytest test"),
        (["--script", "missing.py", "--trace", "b"], "got --trace and --script"),
        ([], "expected one of BUNDLE, --script and --url, got none"),
        (["--script", "a.py", "--clock", "stepped"], "--clock does not apply to --script; remove it"),
        (["--script", "a.py", "--var", "a=b"], "--var does not apply to --script; remove it"),
    ],
)
def test_wrong_usage_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], wanted: str
) -> None:
    """The error names the given and the expected value."""
    status = run_command(eikon, ["record", *arguments, "-o", str(tmp_path / "b")], "eikon")

    error_text = capsys.readouterr().err
    assert status == USAGE
    assert wanted in error_text
    assert len(error_text.splitlines()) == 1


SENDER = """
import sys
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch()
    page = browser.new_page()
    page.goto(sys.argv[1] + "?drum=kettle-drum-55")
    browser.close()
"""


def test_rules_for_secrets_are_those_of_the_command(site: PageSite, tmp_path: Path) -> None:
    """The redaction options apply to scripts as to any other recording."""
    button = f"{site.url}/button"
    site.answers["/button"] = Answer(body="<p>here", headers=(("X-Widget", "q7Kd92mLx0pVz3Wt"),))
    script = written(tmp_path, "agent.py", SENDER)
    values = {b"q7Kd92mLx0pVz3Wt", b"kettle-drum-55"}
    rules = ("--redact-name", "x-widget", "--redact-pattern", r"kettle-drum-\d+")

    assert record("--script", script, "-o", tmp_path / "a", *rules, "--no-certify", "--", button).returncode == 0
    assert record("--script", script, "-o", tmp_path / "b", "--no-redact", "--no-certify", "--", button).returncode == 0

    assert find_in_files(tmp_path / "a", values) == set()
    assert find_in_files(tmp_path / "b", values) == values


def test_an_invalid_pattern_is_rejected(button: str, tmp_path: Path) -> None:
    """Nothing is run before the rules are validated."""
    script = written(tmp_path, "agent.py", SENDER)

    done = record("--script", script, "-o", tmp_path / "b", "--redact-pattern", "(", "--", button)

    assert (done.returncode, len(done.stderr.splitlines())) == (USAGE, 1)
    assert "malformed redaction pattern '('" in done.stderr


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--browser-path", "/nowhere/chrome"], "/nowhere/chrome"),
        (["--secret", "no value"], "expected NAME=VALUE"),
    ],
)
def test_invalid_options_are_rejected_before_the_script_runs(
    button: str, tmp_path: Path, options: list[str], wanted: str
) -> None:
    """The script does not act, the error is one line, and no files are left behind."""
    script = written(tmp_path, "agent.py", FAILING.format(end="print('acted')"))

    done = record("--script", script, "-o", tmp_path / "b", *options, "--", button)

    assert done.returncode != 0
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert wanted in done.stderr
    assert not (tmp_path / "b").exists()


def test_the_reason_why_a_recording_is_not_certified_is_a_diagnostic(button: str, tmp_path: Path) -> None:
    """The reason is on standard error, the result on standard output."""
    browser = find_browser(None, environ=os.environ).path
    text = FAILING.replace("launch()", f"launch(executable_path={str(browser)!r})").format(end="browser.close()")
    script = written(tmp_path, "agent.py", text)

    done = record("--script", script, "-o", tmp_path / "b", "--", button, EIKON_BROWSER_PATH="/nowhere/chrome")

    assert done.returncode == 1
    assert "not certified: " in done.stderr
    assert "/nowhere/chrome" in done.stderr
    assert done.stdout.splitlines() == [
        f"{tmp_path / 'b'}: recorded, 2 actions; not certified; next: eikon certify {tmp_path / 'b'}"
    ]


def test_a_folder_with_a_recording_is_rejected(button: str, tmp_path: Path) -> None:
    """A second recording into one folder leaves the first unchanged, and its script is not run."""
    script = written(tmp_path, "agent.py", FAILING.format(end="print('acted')"))
    asked = ("--script", script, "-o", tmp_path / "b", "--no-certify", "--", button)
    assert record(*asked).returncode == 0
    before = (tmp_path / "b" / "trace.json").read_bytes()

    done = record(*asked)

    assert done.returncode == USAGE
    assert len(done.stderr.splitlines()) == 1
    assert "expected a new bundle, got an existing one; add --force to replace it" in done.stderr
    assert done.stdout == ""
    assert (tmp_path / "b" / "trace.json").read_bytes() == before


@pytest.mark.parametrize(
    ("end", "ended"),
    [
        ("1 / 0", "failed: ZeroDivisionError: division by zero"),
        (
            "exec('try: page.click(\\'#none\\', timeout=100)\\nexcept Exception: browser.close()')",
            "ended with an action",
        ),
    ],
)
def test_a_certified_recording_of_a_failure_is_called_that(button: str, tmp_path: Path, end: str, ended: str) -> None:
    """Its replays are faithful, but to a failure: the line with the result says how the mission ended."""
    script = written(tmp_path, "agent.py", FAILING.format(end=end))

    done = record("--script", script, "-o", tmp_path / "b", "--", button)

    result = done.stdout.splitlines()[0]
    assert result.startswith(f"{tmp_path / 'b'}: recorded, ")
    assert f" actions; certified; the mission {ended}" in result


def test_a_script_with_a_syntax_error_is_reported_as_python_does(tmp_path: Path) -> None:
    """The place in the script, without what called it."""
    script = written(tmp_path, "agent.py", "page.goto(\n")

    done = record("--script", script, "-o", tmp_path / "b")

    assert done.stderr.startswith(f'  File "{script}", line 1\n')
    assert "SyntaxError" in done.stderr
    assert "runpy" not in done.stderr


STUBBORN = """import signal
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    subprocess.run(["sleep", "1000"], start_new_session=True)
"""
ENDLESS = """
import pathlib, subprocess, sys, time
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch()
    page = browser.new_page()
    page.goto(sys.argv[1])
    page.click("button")
    page.click("button")
    pathlib.Path(sys.argv[2]).touch()
    {wait}
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the processes are listed by /proc")
@pytest.mark.parametrize("wait", ["page.wait_for_timeout(10**6)", STUBBORN], ids=["waits", "ignores Ctrl-C"])
def test_a_script_and_its_browser_end_with_a_killed_recorder(wait: str, button: str, tmp_path: Path) -> None:
    """So does what the script has started, if it does not end by itself; what was recorded reads back."""
    script = written(tmp_path, "agent.py", ENDLESS.format(wait=wait))
    command = [sys.executable, "-m", "eikon_engine", "record", "--script", str(script), "-o", str(tmp_path / "b")]
    environ = {
        **os.environ,
        MARK: str(tmp_path),
        "EIKON_BROWSER_PATH": str(find_browser(None, environ=os.environ).path),
    }
    with subprocess.Popen([*command, "--", button, str(tmp_path / "ready")], env=environ) as process:
        wait_until((tmp_path / "ready").exists, "the end of the mission", GENEROUS_S)
        process.send_signal(signal.SIGKILL)

    wait_until(lambda: not marked_processes(str(tmp_path)), "the end of the script and its browser", GENEROUS_S)
    assert kinds(tmp_path / "b")[:1] == ["click"]
