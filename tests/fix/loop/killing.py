"""Runs an operation repeatedly, each time in a fresh copy of a folder, and kills it before another file change.

Run as a program by `kill_at_each`: it forks, and the child kills itself by a signal before its n-th change.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.work_copy import WorkCopy
from eikon_engine.fix.write_back import delete_journal, recover, write_back

if TYPE_CHECKING:
    from collections.abc import Callable

_CHANGES: Final = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "open"})
_WRITES: Final = os.O_WRONLY | os.O_RDWR
SHOP, SESSION = "shop", "session"


def kill_at_each(what: str, start: Path, *arguments: str) -> list[Path]:
    """Return the resulting folders in the order of the kills; the last process was not killed."""
    command = (sys.executable, "-m", "tests.fix.loop.killing", what, str(start), *arguments)
    subprocess.run(command, check=True)
    return sorted(start.parent.glob(f"{what}-*"))


def _hand_over(folder: Path, before: str, after: str) -> None:
    copy = WorkCopy(folder / SESSION, folder / SHOP)
    write_back(folder / SHOP, copy, copy.changes(before, after))
    delete_journal(copy.folder)


def _settle(folder: Path) -> None:
    session = folder / SESSION / "session.json"
    session.write_text(session.read_text(encoding="utf-8").replace(sys.argv[2], str(folder)), encoding="utf-8")
    recover(folder / SESSION)


def _die_at(number: int, below: Path) -> None:
    """Kill this process before the n-th change of a file inside a folder."""
    seen = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event not in _CHANGES or not str(arguments[0]).startswith(str(below)):
            return
        if event == "open" and not int(str(arguments[2])) & _WRITES:
            return
        seen += 1
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def _all(what: str, start: Path, do: Callable[[Path], None]) -> None:
    for number in range(1, 100):
        folder = start.with_name(f"{what}-{number:02d}")
        shutil.copytree(start, folder, symlinks=True)
        child = os.fork()
        if not child:
            _die_at(number, folder)
            do(folder)
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            return


if __name__ == "__main__":
    wanted, begin, *rest = sys.argv[1:]
    _all(wanted, Path(begin), _settle if wanted == "settle" else lambda folder: _hand_over(folder, *rest))
