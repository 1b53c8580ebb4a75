"""Loops that end early: the step is named, and the tree is unchanged."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from eikon_engine.errors import UsageError
from eikon_engine.fix.appliers.aider import AiderApplier
from tests.error_codes import has_code
from tests.fix.loop.looping import loop_runner
from tests.fix.loop.projects import GOOD_FIX, PRICE_PROJECT, everything, make_project, write

FAILS = "cat $(ls); exit 1"
"""A test command that fails at once, and prints the content of a file."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a project with one test, which fails."""
    return make_project(tmp_path / "shop", PRICE_PROJECT)


@pytest.mark.parametrize(
    ("chosen", "answer", "expected"),
    [
        ({"test_cmd": "pytset -q"}, "", ("system:run_script", "command-unusable", 2)),
        ({"test_cmd": "rm -r ../../cycles; exit 1"}, "", ("system:run_script", "command-unusable", 2)),
        ({"test_cmd": "rm -r ../shop; exit 1"}, "", ("system:get_context", "fix", 1)),
        ({"test_cmd": "./price.py"}, "", ("system:run_script", "command-unusable", 2)),
        ({"test_cmd": "sleep 60", "timeout_seconds": 0.2}, "", ("system:run_script", "command-unusable", 2)),
        ({}, "I would rather talk of the weather.", ("debug:generate_fix", "proposal-malformed", 1)),
        ({}, "NO FIX FOUND: the test is wrong", ("debug:generate_fix", "no-fix", 1)),
        ({}, GOOD_FIX.replace("sum(", "summe("), ("fix:apply", "patch-rejected", 1)),
        ({}, GOOD_FIX.replace("price.py", "../price.py"), ("fix:apply", "patch-rejected", 1)),
        ({}, GOOD_FIX.replace("price.py", ".git/config"), ("fix:apply", "patch-rejected", 1)),
        ({"target_files": ("test_price.py",)}, GOOD_FIX, ("fix:apply", "patch-rejected", 1)),
        ({"applier": AiderApplier(command="no-such-aider")}, GOOD_FIX, ("fix:apply", "aider-missing", 78)),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_a_step_that_fails_ends_the_loop(
    project: Path, tmp_path: Path, chosen: dict[str, Any], answer: str, expected: tuple[str, str, int]
) -> None:
    """The result has step, code and exit status, and no file is changed."""
    before = everything(project)

    with loop_runner(tmp_path, answer) as runner:
        result = runner.loop(project, **{"test_cmd": FAILS, **chosen})

    failure = result.notes.failure
    assert failure is not None
    assert (result.status, result.notes.outcome) == ("FAILED", "error")
    assert (failure.step, failure.code, failure.exit_status) == expected
    assert failure.step in result.content
    assert "\n" not in failure.message
    assert everything(project) == before
    assert not (runner.session / "tree").exists()


def test_a_model_that_cannot_be_reached_ends_the_loop(project: Path, tmp_path: Path) -> None:
    """If no server listens at the URL, the step is named, and the exit status is that of a missing server."""
    with loop_runner(tmp_path) as runner:
        pass
    result = runner.loop(project, test_cmd=FAILS)

    assert result.notes.failure is not None
    assert result.notes.failed_step == "debug:generate_fix"
    assert (result.notes.failure.code, result.notes.failure.exit_status) == ("completion-unreachable", 69)


def test_a_tree_that_changed_during_the_loop_is_not_written_to(project: Path, tmp_path: Path) -> None:
    """If the user edits the file during the loop, the edit stays, and the fix is kept in the session only."""
    with loop_runner(tmp_path) as runner:

        def edit_and_answer(_asked: object) -> str:
            write(project, {"price.py": "MINE = True\n"})
            return GOOD_FIX

        runner.model.reply = edit_and_answer
        result = runner.loop(project, test_cmd="grep -qr -- '- rebate' .")

    assert result.notes.failure is not None
    assert (result.notes.failure.step, result.notes.failure.code) == ("fix:write_back", "tree-changed")
    assert (project / "price.py").read_text(encoding="utf-8") == "MINE = True\n"
    assert "- rebate" in (runner.session / "changes.diff").read_text(encoding="utf-8")


def test_a_fix_that_makes_the_tests_hang_is_rolled_back(project: Path, tmp_path: Path) -> None:
    """A test run with a fix that exceeds its deadline rolls the fix back instead of ending the loop."""
    with loop_runner(tmp_path, GOOD_FIX) as runner:
        result = runner.loop(
            project,
            test_cmd="grep -qr -- '- rebate' . && sleep 60; exit 1",
            timeout_seconds=1.0,
            max_cycles=1,
        )

    assert result.notes.outcome == "max_cycles"
    assert result.notes.closing_test is not None
    assert result.notes.closing_test.ended == "timed_out"
    assert result.notes.diff == ""


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"test_cmd": "  "}, "--test-cmd: expected a command"),
        ({"test_cmd": "cat \udcff"}, "--test-cmd: expected UTF-8 text"),
        ({"test_cmd": "a\0b"}, "--test-cmd: expected text without null bytes"),
        ({"target_files": ("\udcff.py",)}, "--target-file: expected UTF-8 text"),
        ({"max_cycles": 0}, "--max-cycles: expected 1 or more, got 0"),
        ({"timeout_seconds": 0.0}, "--timeout: expected seconds greater than 0, got 0"),
        ({"timeout_seconds": float("nan")}, "--timeout: expected seconds greater than 0, got nan"),
        ({"target_files": ("nowhere.py",)}, "--target-file: no such file"),
        ({"target_files": ("../sessions",)}, "--target-file: expected a path inside"),
        ({"extra_files": ("nowhere",)}, "--also: no such file or folder"),
        ({"cwd": Path("/nowhere")}, "expected a project folder"),
        ({"sessions_dir": Path("sessions")}, "--sessions-dir: expected a folder outside"),
    ],
)
def test_invalid_options_are_refused_before_a_test_runs(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: dict[str, Any], message: str
) -> None:
    """Invalid options are reported before any test runs."""
    monkeypatch.chdir(project)
    with loop_runner(tmp_path) as runner, pytest.raises(UsageError, match=message):
        runner.loop(project, **chosen)


@pytest.mark.parametrize("name", ["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"])
def test_a_pytest_configuration_above_the_sessions_is_refused(project: Path, tmp_path: Path, name: str) -> None:
    """Tests in the copy would use it, and their ids would differ."""
    write(tmp_path, {f"above/{name}": ""})

    with loop_runner(tmp_path) as runner, pytest.raises(UsageError, match=f"got .*above/{name}: tests in the copy"):
        runner.loop(project, sessions_dir=tmp_path / "above" / "deep" / "sessions")


def test_a_command_with_the_path_of_the_tree_is_refused(project: Path, tmp_path: Path) -> None:
    """Such a command would test the user's files, which no fix changes before the end."""
    with loop_runner(tmp_path) as runner:
        for command in (f"pytest {project}/test_price.py", f"cd '{project}' && pytest", f"pytest --rootdir={project}"):
            with pytest.raises(UsageError, match="expected paths relative to"):
                runner.loop(project, test_cmd=command)


def test_programs_that_git_ignores_may_be_named(project: Path, tmp_path: Path) -> None:
    """A virtual environment inside the tree is not copied, but used at its original path."""
    write(project, {".git/info/exclude": "venv/\n", "venv/check": "exit 0\n"})

    with loop_runner(tmp_path) as runner:
        result = runner.loop(project, test_cmd=f"sh {project}/venv/check")

    assert result.notes.outcome == "success"


def test_tests_that_read_the_original_tree_are_a_warning(project: Path, tmp_path: Path) -> None:
    """If the package is installed from the original tree, the tests import it from there: the summary warns once."""
    write(tmp_path, {"reads.py": f"print(open({str(project / 'price.py')!r}))\nraise SystemExit(1)\n"})

    with loop_runner(tmp_path, GOOD_FIX) as runner:
        result = runner.loop(project, test_cmd=f"python {tmp_path}/reads.py", max_cycles=1)

    (warning,) = result.notes.warnings
    assert warning.startswith(f"the tests use price.py of {project}, not of the copy")
    assert f"warning: {warning}" in (runner.session / "summary.txt").read_text(encoding="utf-8")


def test_a_file_name_that_is_not_utf_8_is_a_warning(project: Path, tmp_path: Path) -> None:
    """The file is copied, but not shown to the model, and a warning names it."""
    (project / os.fsdecode(b"pr\xffice.py")).write_text("PRICE = 'price rebate total'\n", encoding="utf-8")

    with loop_runner(tmp_path, GOOD_FIX) as runner:
        result = runner.loop(project, test_cmd="cat $(ls); grep -qr -- '- rebate' .", allow_dirty=True)

    assert result.notes.outcome == "success"
    (warning,) = result.notes.warnings
    assert warning == r"1 file with a non-UTF-8 name cannot be shown to the model: 'pr\udcffice.py'"


def test_a_dirty_tree_needs_allow_dirty(project: Path, tmp_path: Path) -> None:
    """Without it, changed files are named; with it, they are tested as they are, and kept."""
    write(project, {"new.txt": "mine\n"})

    with loop_runner(tmp_path) as runner:
        with pytest.raises(UsageError, match=r"new\.txt", check=has_code("dirty-tree")):
            runner.loop(project, test_cmd="test -e new.txt")
        result = runner.loop(project, test_cmd="test -e new.txt", allow_dirty=True)

    assert result.notes.outcome == "success"


def test_an_interrupted_loop_records_its_step(project: Path, tmp_path: Path) -> None:
    """After Ctrl-C during a model request, the session has the step, the copy is removed, and the tree is unchanged."""
    before = everything(project)
    with loop_runner(tmp_path) as runner:

        def interrupt(_line: str) -> None:
            if "generate_fix" in _line:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            runner.loop(project, test_cmd=FAILS, on_progress=interrupt)

    note = (runner.session / "session.json").read_text(encoding="utf-8")
    assert '"state": "interrupted"' in note
    assert '"step": "debug:generate_fix"' in note
    assert not (runner.session / "tree").exists()
    assert everything(project) == before
    assert [thread for thread in threading.enumerate() if thread.name == "eikon-fix-progress"] == []
