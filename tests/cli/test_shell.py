from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import click
import pytest

from eikon_engine.cli.shell import imports_kept, run_command
from eikon_engine.errors import EikonError, TraceError


def test_an_exit_status_is_passed_on() -> None:
    """The return value of a command is the exit status; None is 0."""
    assert run_command(_ending_with(3), [], "eikon") == 3
    assert run_command(_ending_with(None), [], "eikon") == 0


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """An error of ours gives its exit status, and one line on stderr with its code."""
    status = run_command(_raising(TraceError("no trace\nat all", code="trace-missing")), [], "eikon")

    assert status == 65
    assert capsys.readouterr() == ("", "eikon: no trace at all (code trace-missing)\n")


@pytest.mark.parametrize("is_shell", [True, False], ids=["as our program", "by click alone"])
def test_what_a_command_imports_is_not_searched_for_cycles(*, is_shell: bool) -> None:
    """Only as long as the command runs, also if an import fails and if the caller calls the command itself."""
    gc.unfreeze()
    before, states = (gc.isenabled(), gc.get_threshold()), []

    @click.command
    def importing() -> None:
        with imports_kept():
            states.append(gc.isenabled())
        states.append(gc.get_freeze_count() > 0)
        with imports_kept():
            import_module("no_such_module")

    if is_shell:
        assert run_command(importing, [], "eikon") == 70
    else:
        with pytest.raises(ModuleNotFoundError):
            importing.main([], standalone_mode=False)
    assert states == [False, True]
    assert (gc.isenabled(), gc.get_threshold()) == before
    assert gc.get_freeze_count() == 0


def test_what_a_caller_has_frozen_stays_frozen() -> None:
    """Python can only unfreeze everything, so a command freezes nothing in the process of such a caller."""
    old = ["frozen by the caller"]
    gc.freeze()
    try:
        new, during = ["made since"], []

        @click.command
        def importing() -> None:
            with imports_kept():
                pass
            during.append((_is_collected(old), _is_collected(new)))

        assert run_command(importing, [], "eikon") == 0
        assert during == [(False, True)]
        assert not _is_collected(old)
    finally:
        gc.unfreeze()
    assert _is_collected(old)


def test_outside_a_command_nothing_is_frozen() -> None:
    """There, nothing would end it; an import that fails raises its own error."""
    gc.unfreeze()

    with pytest.raises(ModuleNotFoundError), imports_kept():
        import_module("no_such_module")

    assert gc.get_freeze_count() == 0


def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown option is reported by click."""
    status = run_command(_ending_with(0), ["--colour"], "eikon")

    assert status == 2
    assert "No such option '--colour'" in capsys.readouterr().err


def test_help_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    """Asking for help is no error."""
    status = run_command(_ending_with(5), ["--help"], "eikon")

    assert status == 0
    assert capsys.readouterr().out.startswith("Usage: eikon")


def test_ctrl_c_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A run stopped by the user ends with 130 and one line."""
    status = run_command(_raising(KeyboardInterrupt()), [], "eikon")

    assert status == 130
    assert capsys.readouterr().err == "eikon: stopped by the user (code interrupted)\n"


def test_a_signal_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    """A run stopped by SIGTERM ends as with Ctrl-C, with the status of the signal; the line names it."""
    program = (
        "import os, signal, sys, click; from eikon_engine.cli.shell import run_command;"
        "sys.exit(run_command(click.Command('c', callback=lambda: os.kill(os.getpid(), signal.SIGTERM)), [], 'eikon'))"
    )

    done = subprocess.run([sys.executable, "-c", program], check=False)

    assert done.returncode == 143
    assert capfd.readouterr().err == "eikon: stopped by SIGTERM (code interrupted)\n"


def test_an_internal_error_saves_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 70, with one line that names the file of the traceback."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("EIKON_TRACEBACK", raising=False)

    status = run_command(_raising(ZeroDivisionError("by zero")), [], "eikon")

    line = capsys.readouterr().err
    (kept,) = tmp_path.iterdir()
    assert status == 70
    assert line == (f"eikon: internal error: ZeroDivisionError: by zero; traceback: {kept} (code internal)\n")
    assert "Traceback (most recent call last)" in kept.read_text(encoding="utf-8")


def test_a_traceback_is_printed_on_request(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """EIKON_TRACEBACK=1 prints the traceback of an internal error."""
    monkeypatch.setenv("EIKON_TRACEBACK", "1")

    status = run_command(_raising(ZeroDivisionError("by zero")), [], "eikon")

    assert status == 70
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_closed_pipe_is_no_error(lines: int) -> None:
    """A closed stdout ends the command quietly, with the status of SIGPIPE."""
    code = """
import sys, click
from eikon_engine.cli.shell import run_command
@click.command()
def talk():
    for _ in range(int(sys.argv[1])):
        sys.stdout.write("a line of output\\n")
sys.exit(run_command(talk, [], "eikon"))
"""
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-c", code, str(lines)],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUNBUFFERED": ""},
        timeout=60,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


def _ending_with(status: int | None) -> click.Command:
    return click.Command("command", callback=lambda: status)


def _raising(error: EikonError | ZeroDivisionError | KeyboardInterrupt) -> click.Command:
    def fail() -> None:
        raise error

    return click.Command("command", callback=fail)


def _is_collected(searched: object) -> bool:
    """Whether the collector searches an object for reference cycles: frozen objects it does not."""
    return any(each is searched for each in gc.get_objects())
