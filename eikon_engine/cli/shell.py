"""Run a command: turn every way it ends into one line on stderr and an exit status."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NoReturn

import click

from eikon_engine.cli.standard_streams import restored_streams
from eikon_engine.errors import EikonError, InternalError, InterruptedRunError, OutputError, RequirementError
from eikon_engine.garbage_collection import gc_paused
from eikon_engine.interrupts import STOP_SIGNALS, ignored_interrupts_repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

SHOW_TRACEBACK = "EIKON_TRACEBACK"
BROKEN_PIPE_STATUS = 141
"""What a shell reports for a program killed by SIGPIPE: 128 + 13."""
SIGTERM_STATUS: Final = 143
"""What a shell reports for a program killed by SIGTERM: 128 + 15."""
_MAX_SIGNALS: Final = 4096
"""Bytes that are read of the recorded signals, one for each."""
_COLLECTION_THRESHOLDS: Final = (20_000, 10, 10)
"""See `gc.set_threshold`; Python's default begins with some hundred or thousand new objects."""


def run_command(command: click.Command, argv: Sequence[str], prog_name: str) -> int:
    """Run a command and return its exit status; never raises, never prints a traceback.

    A command returns its exit status (None for 0) or raises. `EIKON_TRACEBACK=1` prints the traceback of an internal
    error instead of writing it to a file.
    """
    with _recorded_signals() as has_received, ignored_interrupts_repeated(), _rare_collections():
        try:
            _handle_signals()
            with restored_streams():
                status = _invoke(command, argv, prog_name)
                if sys.stdout is not None:
                    sys.stdout.flush()
        except click.exceptions.Exit as end:
            status = end.exit_code
        except click.Abort as stop:
            status = _report(_stopped(stop), prog_name)
        except click.ClickException as error:
            status = _show_usage_error(error)
        except SystemExit:
            raise
        except BaseException as fault:  # noqa: BLE001 - the last handler of unexpected errors
            status = _conclude(fault, prog_name, is_interrupted=has_received(signal.SIGINT, signal.SIGTERM))
        _discard_broken_output()
    is_terminated = status == InterruptedRunError.exit_status and InterruptedRunError.signal == signal.SIGTERM.name
    return SIGTERM_STATUS if is_terminated else status


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect reference cycles less often: the objects of modules stay, and each full collection visits all of them."""
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECTION_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def imports_kept() -> Iterator[None]:
    """Import modules in the block: what they define stays, so the command does not search it for reference cycles.

    When the command ends, however it was called, it is searched again. Python cannot tell what we froze from what a
    caller has frozen, so nothing is frozen if anything was, nor outside a command.
    """
    context = click.get_current_context(silent=True)
    is_ours = context is not None and gc.get_freeze_count() == 0
    with gc_paused():
        try:
            yield
        finally:
            if context is not None and is_ours:
                context.call_on_close(gc.unfreeze)
                gc.freeze()


def end_process(status: int) -> NoReturn:
    """End the process with the status of a command; after an interruption at once.

    What the interruption left, such as a thread that searches for a browser, would keep the process. Python also exits
    with another status if it interrupted code that was compiled from text, as that of named tuples is.
    """
    for number in STOP_SIGNALS:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)  # what is left is the exit
    gc.freeze()  # else Python searches all that is left for reference cycles, which takes a tenth of a second
    if status not in {InterruptedRunError.exit_status, SIGTERM_STATUS}:
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    temporary = sys.modules.get("eikon_engine.files.temporary")
    if temporary is not None:
        temporary.remove_process_folder()
    os._exit(status)


def _invoke(command: click.Command, argv: Sequence[str], prog_name: str) -> int:
    with command.make_context(prog_name, list(argv)) as context:
        result = command.invoke(context)
    return result if isinstance(result, int) else 0


@contextmanager
def _recorded_signals() -> Iterator[Callable[..., bool]]:
    """Yield a function that returns whether one of some signals was received.

    A handler of SIGINT would replace that of `asyncio.run`, so signals are recorded by `signal.set_wakeup_fd`. Errors
    that follow one are its consequences: Ctrl-C also ends the driver of the browser and other child processes.
    """
    InterruptedRunError.signal = None
    if threading.current_thread() is not threading.main_thread():
        yield lambda *_signals: False
        return
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    received: set[int] = set()

    def has_received(*expected: signal.Signals) -> bool:
        with suppress(BlockingIOError):
            received.update(os.read(reading, _MAX_SIGNALS))
        return any(each in received for each in expected)

    try:
        yield has_received
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def _handle_signals() -> None:
    """Handle SIGTERM like Ctrl-C, and Ctrl-C again if it ended the process while modules were imported."""
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGTERM, _on_sigterm)  # all files are completed
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    """Stop as on Ctrl-C: the SIGINT handler of `asyncio.run` lets its tasks finish before the loop is closed."""
    InterruptedRunError.signal = signal.Signals(number).name
    of_loop = signal.getsignal(signal.SIGINT)
    if callable(of_loop) and of_loop is not signal.default_int_handler:
        of_loop(signal.SIGINT, frame)
        return
    raise KeyboardInterrupt(InterruptedRunError.signal)


def _conclude(fault: BaseException, prog_name: str, *, is_interrupted: bool) -> int:
    """Report what ended a command, and return its exit status."""
    causes = tuple(_leaves(fault))
    own = next((each for each in causes if isinstance(each, InterruptedRunError)), None)
    stop = next((each for each in causes if _is_stop(each)), None)
    if own is not None or stop is not None or is_interrupted:
        return _report(own or _stopped(stop or fault), prog_name)
    if any(isinstance(each, BrokenPipeError) for each in causes):
        return BROKEN_PIPE_STATUS
    error = next((each for each in causes if isinstance(each, EikonError)), None)
    return _report(error or _missing_extra(causes) or _full_disk(causes) or _internal_error(fault), prog_name)


def _leaves(fault: BaseException) -> Iterator[BaseException]:
    """Yield an exception, or those of a group."""
    if isinstance(fault, BaseExceptionGroup):
        for each in fault.exceptions:
            yield from _leaves(each)
    else:
        yield fault


def _is_stop(fault: BaseException) -> bool:
    asyncio = sys.modules.get("asyncio")  # imported by the commands that need it
    return isinstance(fault, KeyboardInterrupt) or (asyncio is not None and isinstance(fault, asyncio.CancelledError))


def _stopped(stop: BaseException) -> InterruptedRunError:
    return InterruptedRunError(f"stopped by {InterruptedRunError.stop_cause(stop)}")


def _missing_extra(causes: Sequence[BaseException]) -> RequirementError | None:
    """Return the error for a module of an extra that is not installed; None if there is no such module."""
    from eikon_engine.files.extras import extra_of, install_command

    for each in causes:
        module = each.name if isinstance(each, ModuleNotFoundError) else None
        extra = extra_of(module or "")
        if extra is not None:
            message = f'{module} is not installed; it is part of the extra "{extra}"'
            return RequirementError(f"{message}: run {install_command(extra)}")
    return None


def _full_disk(causes: Sequence[BaseException]) -> OutputError | None:
    """Return the error for a file of others, such as a library, that has no space; None if there is none."""
    from eikon_engine.files.writing import DISK_FULL, write_error_message

    for each in causes:
        if isinstance(each, OSError) and each.errno in DISK_FULL:
            import tempfile
            from pathlib import Path

            return OutputError(write_error_message(Path(each.filename or tempfile.gettempdir()), each))
    return None


def _show_usage_error(error: click.ClickException) -> int:
    with suppress(BrokenPipeError):
        error.show()
    return error.exit_code


def _report(error: EikonError, prog_name: str) -> int:
    """Print an error as one line, followed by its notes."""
    from eikon_engine.outcome.terminal import escape_control_characters, safe_line

    with suppress(BrokenPipeError):
        click.echo(safe_line(f"{prog_name}: {error.message} (code {error.code})"), err=True)
        for note in getattr(error, "__notes__", ()):
            click.echo(escape_control_characters(note), err=True)
    return error.exit_status


def _internal_error(fault: BaseException) -> InternalError:
    import traceback

    if os.environ.get(SHOW_TRACEBACK) == "1":
        traceback.print_exception(fault)
        return InternalError(f"internal error: {type(fault).__name__}; see the traceback above")
    text = "".join(traceback.format_exception(fault))
    return InternalError(f"internal error: {type(fault).__name__}: {fault}; {_save_traceback(text)}")


def _save_traceback(text: str) -> str:
    import tempfile

    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="eikon-traceback-", suffix=".txt", delete=False
        ) as file:
            file.write(text)
    except OSError as error:
        return f"the traceback could not be saved ({error}); {SHOW_TRACEBACK}=1 prints it"
    return f"traceback: {file.name}"


def _discard_broken_output() -> None:
    """Redirect a stream that was closed to /dev/null, or the interpreter reports the broken pipe when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            null_device = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null_device, stream.fileno())
            os.close(null_device)
