"""Run a command: turn every way it ends into one line on stderr and an exit status."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import traceback
from typing import TYPE_CHECKING

import click

from eikon_engine.errors import EikonError, InternalError, InterruptedRunError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

SHOW_TRACEBACK = "EIKON_TRACEBACK"
BROKEN_PIPE_STATUS = 141
"""What a shell reports for a program killed by SIGPIPE: 128 + 13."""


def run_command(command: click.Command, argv: Sequence[str], prog_name: str) -> int:
    """Run a command and return its exit status; never raises, never prints a traceback.

    A command returns its exit status (None for 0) or raises. `EIKON_TRACEBACK=1` prints the traceback of an internal
    error instead of writing it to a file.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _on_sigterm)  # like Ctrl-C: all files are completed
    try:
        status = _invoke(command, argv, prog_name)
        sys.stdout.flush()
    except EikonError as error:
        return _report(error, prog_name)
    except (KeyboardInterrupt, click.Abort) as stop:
        return _report(InterruptedRunError(f"stopped by {InterruptedRunError.stop_cause(stop)}"), prog_name)
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE_STATUS
    except Exception as fault:  # noqa: BLE001 - the last handler of unexpected errors
        return _report(_internal_error(fault), prog_name)
    return status


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    """Stop as on Ctrl-C: the SIGINT handler of `asyncio.run` lets its tasks finish before the loop is closed."""
    InterruptedRunError.signal = signal.Signals(number).name
    of_loop = signal.getsignal(signal.SIGINT)
    if callable(of_loop) and of_loop is not signal.default_int_handler:
        of_loop(signal.SIGINT, frame)
        return
    raise KeyboardInterrupt(InterruptedRunError.signal)


def _invoke(command: click.Command, argv: Sequence[str], prog_name: str) -> int:
    try:
        with command.make_context(prog_name, list(argv)) as context:
            result = command.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return result if isinstance(result, int) else 0


def _report(error: EikonError, prog_name: str) -> int:
    """Print an error as one line, followed by its notes."""
    line = " ".join(error.message.split("\n"))
    click.echo(f"{prog_name}: {line} (code {error.code})", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(note, err=True)
    return error.exit_status


def _internal_error(fault: Exception) -> InternalError:
    if os.environ.get(SHOW_TRACEBACK) == "1":
        traceback.print_exception(fault)
        return InternalError(f"internal error: {type(fault).__name__}; see the traceback above")
    text = "".join(traceback.format_exception(fault))
    return InternalError(f"internal error: {type(fault).__name__}: {fault}; {_save_traceback(text)}")


def _save_traceback(text: str) -> str:
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="eikon-traceback-", suffix=".txt", delete=False
        ) as file:
            file.write(text)
    except OSError as error:
        return f"the traceback could not be saved ({error}); {SHOW_TRACEBACK}=1 prints it"
    return f"traceback: {file.name}"


def _discard_output() -> None:
    """Redirect stdout to /dev/null, or the interpreter reports the broken pipe again when it exits."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, sys.stdout.fileno())
    os.close(null_device)
