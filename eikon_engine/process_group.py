"""Run a program in its own process group, which is killed when the program ends, times out, or this process dies.

A process that is killed cannot clean up. So a watcher in the group blocks on a pipe that only this process holds open,
and kills the group on end of file. On Linux, processes that left the group are killed, too: they are reparented to this
process (`PR_SET_CHILD_SUBREAPER`).

Source: https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_SET_SUBREAPER: Final = 36
_GET_SUBREAPER: Final = 37
_PROCESSES: Final = Path("/proc")
_MAX_PASSES: Final = 50
"""Maximum number of passes; killing a process can orphan further ones."""


@contextmanager
def kill_orphans() -> Iterator[None]:
    """Kill processes started in the block that were orphaned in a session other than ours.

    No other thread may start processes in new sessions meanwhile: they would be killed, too.
    """
    if not sys.platform.startswith("linux") or not _PROCESSES.is_dir():
        yield
        return
    before = _children_in_other_sessions()
    was = _is_subreaper()
    _set_subreaper(expected=True)
    try:
        yield
    finally:
        for _ in range(_MAX_PASSES):
            left = _children_in_other_sessions() - before
            if not left:
                break
            for process in left:
                _kill(process)
        _set_subreaper(expected=was)


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError, ChildProcessError):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def kill_descendants() -> None:
    """Kill all processes that this one has started, and those that they have; only on Linux."""
    below = {os.getpid()}
    for _ in range(_MAX_PASSES):
        more = {each for each, (parent, _) in _running_processes().items() if parent in below} - below
        if not more:
            break
        below |= more
    for each in below - {os.getpid()}:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGKILL)


def _running_processes() -> dict[int, tuple[int, int]]:
    """Return parent and session of each process; nothing where `/proc` has none.

    Source of the `stat` format: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    """
    found = {}
    for folder in _PROCESSES.iterdir() if _PROCESSES.is_dir() else ():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                _, parent, _, session = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:4]
                found[int(folder.name)] = (int(parent), int(session))
    return found


def _children_in_other_sessions() -> set[int]:
    """Return our children in other sessions, including zombies."""
    ours = os.getpid(), os.getsid(0)
    return {
        each for each, (parent, session) in _running_processes().items() if parent == ours[0] and session != ours[1]
    }


def _is_subreaper() -> bool:
    answer = ctypes.c_int()
    ctypes.CDLL(None).prctl(_GET_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return bool(answer.value)


def _set_subreaper(*, expected: bool) -> None:
    ctypes.CDLL(None).prctl(_SET_SUBREAPER, ctypes.c_ulong(expected), 0, 0, 0)


ProcessEnding: TypeAlias = Literal["exited", "killed", "timed_out", "not_started"]

_CHUNK: Final = 65536
_POLL_S: Final = 0.05
"""Polling interval for the exit of a program that writes nothing."""
_GRACE_S: Final = 2.0
"""Time to exit after SIGTERM."""
_WATCHER_SCRIPT: Final = (
    'exec 3<&0 </dev/null; ( { read -r _; kill -s KILL 0; } <&3 3<&- >/dev/null 2>&1 & ) ; exec "$@" 3<&-'
)
"""Starts the watcher detached, then executes the program."""
_DRAIN_S: Final = 1.0
"""Time to wait for the last output if a process outside the group keeps the pipe open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, and where its output goes."""

    arguments: Sequence[str]
    cwd: Path
    environ: Mapping[str, str]
    timeout_seconds: float
    stdout: Callable[[bytes], None]
    stderr: Callable[[bytes], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """How it ended."""

    ending: ProcessEnding
    exit_status: int | None
    signal: int | None
    seconds: float


def run_in_group(command: Command, clock: Callable[[], float] = time.monotonic) -> ProcessResult:
    """Run a program without standard input until it ends or times out; no process of its group is left running.

    On Linux, processes that left the group are killed, too. An exception while waiting, e.g. Ctrl-C, kills the group.

    Raises:
        OSError: the program cannot be started.
    """
    begun = clock()
    with kill_orphans(), _start_watched(command) as process, process, selectors.DefaultSelector() as pipes:
        try:
            for pipe, sink in ((process.stdout, command.stdout), (process.stderr, command.stderr)):
                if pipe is not None:
                    pipes.register(pipe, selectors.EVENT_READ, sink)
            in_time = _read_until(process, pipes, begun + command.timeout_seconds, clock)
            if not in_time:
                _signal_group(process, signal.SIGTERM)
                _read_until(process, pipes, clock() + _GRACE_S, clock)
        finally:
            _signal_group(process, signal.SIGKILL)
            process.wait()
        _drain(pipes, clock() + _DRAIN_S, clock)
    return _process_result(process.returncode, clock() - begun, in_time=in_time)


@contextmanager
def _start_watched(command: Command) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program whose group is killed when the block ends or this process dies."""
    watched, held = os.pipe()
    try:
        try:
            process = subprocess.Popen(  # noqa: S603 - the caller's command
                ("/bin/sh", "-c", _WATCHER_SCRIPT, "sh", *command.arguments),
                cwd=command.cwd,
                env=dict(command.environ),
                stdin=watched,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        finally:
            os.close(watched)
        yield process
    finally:
        os.close(held)


def _read_until(
    process: subprocess.Popen[bytes], pipes: selectors.BaseSelector, deadline: float, clock: Callable[[], float]
) -> bool:
    """Forward output until the program ends; return whether it did so before the deadline."""
    while process.poll() is None:
        left = deadline - clock()
        if left <= 0:
            return False
        if pipes.get_map():
            _read_ready(pipes, min(left, _POLL_S))
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(left, _POLL_S))
    return True


def _drain(pipes: selectors.BaseSelector, deadline: float, clock: Callable[[], float]) -> None:
    while pipes.get_map() and clock() < deadline:
        _read_ready(pipes, _POLL_S)


def _read_ready(pipes: selectors.BaseSelector, timeout: float) -> None:
    for key, _ in pipes.select(timeout):
        data = os.read(key.fd, _CHUNK)
        if data:
            key.data(data)
        else:
            pipes.unregister(key.fileobj)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is gone, or only zombies are left
        os.killpg(process.pid, number)


def _process_result(returncode: int, seconds: float, *, in_time: bool) -> ProcessResult:
    if not in_time:
        return ProcessResult(ending="timed_out", exit_status=None, signal=None, seconds=seconds)
    if returncode < 0:
        return ProcessResult(ending="killed", exit_status=None, signal=-returncode, seconds=seconds)
    return ProcessResult(ending="exited", exit_status=returncode, signal=None, seconds=seconds)
