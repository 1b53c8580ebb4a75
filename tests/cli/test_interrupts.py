"""Ctrl-C and SIGTERM at moments at which an exception would be lost, or leave a thread that nothing stops."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import Final

import anyio.from_thread
import pytest

from eikon_engine.interrupts import interrupts_deferred, open_portal
from tests.until import GENEROUS_S

COMMAND: Final = """
import os, signal, sys, click
from eikon_engine.cli.shell import end_process, run_command
{given}
end_process(run_command(click.Command("c", callback=run), [], "eikon"))
"""


def run(given: str) -> tuple[int, str]:
    """Run a command, defined by a function `run`, in a process of its own; return its status and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(given=given)],
        capture_output=True,
        text=True,
        timeout=GENEROUS_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_an_interrupt_is_raised_at_the_end_of_what_defers_it() -> None:
    """What is in the block is completed; the handler is the same afterwards."""
    before = signal.getsignal(signal.SIGINT)
    done = []

    with pytest.raises(KeyboardInterrupt), interrupts_deferred():  # noqa: PT012 - the end of the block raises
        signal.raise_signal(signal.SIGINT)
        done.append("first")

    assert done == ["first"]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_event_loop_whose_start_is_interrupted_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt arrives while its thread starts."""
    start = anyio.from_thread.start_blocking_portal

    def start_interrupted() -> object:
        signal.raise_signal(signal.SIGINT)
        return start()

    monkeypatch.setattr(anyio.from_thread, "start_blocking_portal", start_interrupted)
    threads = threading.active_count()

    with pytest.raises(KeyboardInterrupt), open_portal():
        pytest.fail("it was interrupted")

    assert threading.active_count() == threads


def test_an_interrupt_in_a_destructor_stops_the_command() -> None:
    """Python prints and ignores it; the command ends all the same."""
    status, printed = run(
        "class Last:\n"
        "    def __del__(self):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "def run():\n"
        "    Last()\n"
        "    import threading\n"
        "    threading.Event().wait(60)\n"
    )

    assert (status, printed) == (130, "eikon: stopped by the user (code interrupted)\n")


def test_a_thread_that_does_not_end_does_not_keep_a_stopped_command() -> None:
    """Nor does its status depend on what was interrupted: Python has another one for code compiled from text."""
    status, printed = run(
        "import threading\n"
        "def run():\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    exec('os.kill(os.getpid(), signal.SIGTERM)')\n"
    )

    assert (status, printed) == (143, "eikon: stopped by SIGTERM (code interrupted)\n")


def test_ctrl_c_while_modules_are_imported_prints_nothing() -> None:
    """The process is ended by the signal."""
    program = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from eikon_engine.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=GENEROUS_S, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
