"""End processes that left the group of the program that began them, where the system lets us find them: on Linux.

Such a process becomes a child of ours when its parent ends, if we ask for that (`PR_SET_CHILD_SUBREAPER`).

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
_ROUNDS: Final = 50
"""How often is looked for what those left behind that were ended."""


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """End what was begun in the block, in a session that is not ours, and lost its parent.

    Another thread must not begin processes in sessions of their own meanwhile: they would be taken for such.
    """
    if not sys.platform.startswith("linux") or not _PROCESSES.is_dir():
        yield
        return
    before = _children()
    was = _is_subreaper()
    _be_subreaper(wanted=True)
    try:
        yield
    finally:
        for _ in range(_ROUNDS):
            left = _children() - before
            if not left:
                break
            for process in left:
                _end(process)
        _be_subreaper(wanted=was)


def _end(process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError, ChildProcessError):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _children() -> set[int]:
    """Return our children in other sessions, also those that wait to be reaped.

    Source of the form of `stat`: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
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


def _be_subreaper(*, wanted: bool) -> None:
    ctypes.CDLL(None).prctl(_SET_SUBREAPER, ctypes.c_ulong(wanted), 0, 0, 0)
