"""The prompt: AC-DFL-1, and invalid input."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.cli.main import eikon
from eikon_engine.cli.repl_prompt import SimpleCommand, TaskCall, completion_tree, parse_arguments, parse_line
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import EikonError, UsageError
from eikon_engine.fix.tasks import LOOP_TASK, STEPS
from tests.fix.loop.projects import GOOD_FIX, PRICE_PROJECT, PYTEST, make_project
from tests.sites.model_server import answer_text, serve_model

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a broken project as working directory."""
    folder = make_project(tmp_path / "shop", PRICE_PROJECT)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EIKON_FIX_DIR", str(tmp_path / "sessions"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-your-business")
    return folder


def repl(lines: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process, with these lines on its standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    return run_command(eikon, ["repl", *arguments], "eikon")


def test_ac_1_the_loop_is_a_task_of_the_prompt(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """AC-DFL-1: /task debug:loop with a test command, target files and a number of cycles runs the loop."""
    line = f'/task debug:loop --test_cmd="{PYTEST}" --target_files=\'["price.py"]\' --max_cycles=3\n'
    with serve_model(answer_text(GOOD_FIX)) as model:
        status = repl(line, monkeypatch, "--base-url", model.url, "--model", "m")

    assert status == 0
    assert capsys.readouterr().out.startswith("Success: the tests pass after 2 cycles. Changed: price.py.\n")
    assert "- rebate" in (project / "price.py").read_text(encoding="utf-8")


def test_input_ends_at_the_first_line_that_fails(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script ends with the status of the failed line, and later lines are not run."""
    status = repl('/tasks\n\n/task debug:loop --test_cmd="no-such-test"\n/help\n', monkeypatch)

    out, err = capsys.readouterr()
    assert status == 2
    assert all(step in out for step in (LOOP_TASK.name, *STEPS))
    assert "show this help" not in out
    assert err.splitlines()[-1].startswith("eikon: system:run_script: no-such-test: expected a command that can be run")


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("hello", ("expected one of /help, /tasks, /quit, /task, got 'hello'", 2)),
        ("/task", ("/task: missing task name", 2)),
        ("/task debug:lop --test_cmd=x", ("/task debug:lop: unknown task, expected debug:loop", 78)),
        ("/task debug:loop", ("missing --test_cmd=…", 2)),
        ("/task debug:loop --test_cmd=", ("missing --test_cmd=…", 2)),
        ('/task debug:loop --test_cmd="pytest', ("cannot be split like a shell command: no closing quotation", 2)),
        ("/task debug:loop pytest", ("expected --name=value, got 'pytest'", 2)),
        ("/task debug:loop --test_cmd=a --test_cmd=b", ("--test_cmd: given twice", 2)),
        ("/task debug:loop --test_cmd=a --cycles=3", ("expected one of --test_cmd,", 2)),
        ("/task debug:loop --test_cmd=a --target_files=price.py", ("--target_files: expected a JSON list", 2)),
        ("/task debug:loop --test_cmd=a --target_files='{}'", ("--target_files: expected a JSON list", 2)),
        ("/task debug:loop --test_cmd=a --target_files='[1]'", ("--target_files: expected a JSON list", 2)),
        (
            f"/task debug:loop --test_cmd=a --target_files='{100_000 * '['}'",
            (f"JSON list of paths, got '{99 * '['}…;", 2),
        ),
        ("/task debug:loop --test_cmd=a --max_cycles=three", ("--max_cycles: expected a whole number", 2)),
        ("/task debug:loop --test_cmd=a --max_cycles=0", ("--max_cycles: expected 1 or more", 2)),
        ("/task debug:loop --test_cmd=a --target_files='[\"no.py\"]'", ("--target_files: no such file", 2)),
        ("/task debug:loop --test_cmd=a --keep=yes", ("--keep: expected true or false", 2)),
        ("/task debug:loop --test_cmd=a --applier=sed", ("--applier: ", 2)),
    ],
)
def test_invalid_input_is_an_error_of_one_line(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    reported: tuple[str, int],
) -> None:
    """The message names the expected value, and nothing is run."""
    message, status = reported
    assert repl(f"{line}\n", monkeypatch) == status
    (only,) = capsys.readouterr().err.splitlines()
    assert message in only
    assert not (project.parent / "sessions").exists()


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_characters="\n"), max_size=60))
def test_any_line_is_parsed_or_refused(line: str) -> None:
    """Any line is either a valid command or an error of ours."""
    with suppress(EikonError):
        typed = parse_line(line)
        assert typed is None or isinstance(typed, (SimpleCommand, TaskCall))
        if isinstance(typed, TaskCall):
            parse_arguments(LOOP_TASK, typed.arguments)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=20), max_size=4))
def test_paths_arrive_as_they_are(paths: list[str]) -> None:
    """A JSON list of any texts is read as the target files."""
    choice = parse_arguments(LOOP_TASK, {"test_cmd": "pytest", "target_files": json.dumps(paths)})

    assert choice.target_files == tuple(paths)


def test_every_command_and_option_is_completed() -> None:
    """Commands, tasks and their parameters are completed."""
    words = completion_tree()

    assert set(words) == {"/help", "/tasks", "/quit", "/task"}
    assert words["/task"] == {
        "debug:loop": {**{f"--{each.name}=": None for each in LOOP_TASK.parameters}, "help": None}
    }
    with pytest.raises(UsageError):
        parse_line("/tsk")


def test_the_prompt_works_in_a_terminal(tmp_path: Path) -> None:
    """On a terminal there is a prompt with a history; an error is reported and does not end it."""
    outside, inside = pty.openpty()
    prompt = subprocess.Popen(
        [sys.executable, "-c", "from eikon_engine.cli.main import main; main()", "repl"],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "EIKON_FIX_DIR": str(tmp_path / "state"),
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",
        },
    )
    os.close(inside)
    try:
        read_until(outside, "eikon>")
        os.write(outside, b"/task debug:lop\r")
        read_until(outside, "unknown-task")
        os.write(outside, b"/tasks\r")
        read_until(outside, "fix:apply")
        os.write(outside, b"/quit\r")
        assert prompt.wait(60) == 0
    finally:
        prompt.kill()
        os.close(outside)
    assert "+/task debug:lop" in (tmp_path / "state" / "repl_history").read_text(encoding="utf-8")


def read_until(terminal: int, wanted: str) -> None:
    """Read output until it contains a text."""
    seen = b""
    while wanted.encode() not in seen:
        assert select.select([terminal], [], [], 30)[0], f"wanted {wanted!r}, saw {seen!r}"
        seen += os.read(terminal, 4096)
