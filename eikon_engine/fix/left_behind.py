"""Kill processes that escaped the process group of the program that started them (Linux only).

With `PR_SET_CHILD_SUBREAPER` set, orphaned descendants are reparented to this process.

Source: https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    _set_subreaper(wanted=True)
    try:
        yield
    finally:
        for _ in range(_MAX_PASSES):
            left = _children_in_other_sessions() - before
            if not left:
                break
            for process in left:
                _kill(process)
        _set_subreaper(wanted=was)


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError, ChildProcessError):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _children_in_other_sessions() -> set[int]:
    """Return our children in other sessions, including zombies.

    Source of the `stat` format: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    """
    found = set()
    for folder in _PROCESSES.iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                _, parent, _, session = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:4]
                if int(parent) == os.getpid() and int(session) != os.getsid(0):
                    found.add(int(folder.name))
    return found


def _is_subreaper() -> bool:
    answer = ctypes.c_int()
    ctypes.CDLL(None).prctl(_GET_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return bool(answer.value)


def _set_subreaper(*, wanted: bool) -> None:
    ctypes.CDLL(None).prctl(_SET_SUBREAPER, ctypes.c_ulong(wanted), 0, 0, 0)
