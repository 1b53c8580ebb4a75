"""The last defence between a command and the terminal: every end becomes one line and an exit status."""

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
"""What a shell reports for a program ended by SIGPIPE: 128 + 13."""


def run_command(command: click.Command, argv: Sequence[str], prog_name: str) -> int:
    """Run a command and return its exit status; never raise, never print a traceback.

    A command ends by returning its exit status (or None for 0), or by raising. `EIKON_TRACEBACK=1` in the
    environment shows the traceback of a fault of ours on the terminal instead of keeping it in a file.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _stop)  # ends as Ctrl-C does: with everything written
    try:
        status = _invoke(command, argv, prog_name)
        sys.stdout.flush()
    except EikonError as error:
        return _report(error, prog_name)
    except (KeyboardInterrupt, click.Abort) as stop:
        return _report(InterruptedRunError(f"stopped by {InterruptedRunError.stopper(stop)}"), prog_name)
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE_STATUS
    except Exception as fault:  # noqa: BLE001 - the one place where everything unforeseen ends
        return _report(_internal_error(fault), prog_name)
    return status


def _stop(number: int, frame: FrameType | None) -> None:
    """Stop as Ctrl-C does: `asyncio.run` has a handler for that, which lets its tasks end before the loop is closed."""
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
    """Print the line of an error, and below it what was added as notes: what takes more than one line to show."""
    line = " ".join(error.message.split("\n"))
    click.echo(f"{prog_name}: {line} (code {error.code})", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(note, err=True)
    return error.exit_status


def _internal_error(fault: Exception) -> InternalError:
    if os.environ.get(SHOW_TRACEBACK) == "1":
        traceback.print_exception(fault)
        return InternalError(f"internal error: {type(fault).__name__}; the traceback is above")
    text = "".join(traceback.format_exception(fault))
    return InternalError(f"internal error: {type(fault).__name__}: {fault}; {_keep(text)}")


def _keep(text: str) -> str:
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="eikon-traceback-", suffix=".txt", delete=False
        ) as file:
            file.write(text)
    except OSError as error:
        return f"the traceback could not be kept ({error}), {SHOW_TRACEBACK}=1 shows it"
    return f"the traceback lies in {file.name}"


def _discard_output() -> None:
    """Point stdout at nothing, or the interpreter complains once more when it flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
