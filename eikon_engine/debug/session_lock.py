"""The lock that a session's process holds: who asks whether it lives asks for the lock.

The system takes the lock from a process that dies, however it dies, so nothing has to be cleaned up, and an old process
id that another program has by now misleads nobody.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def held_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a session; those who ask whether it is held wait for nothing, and hold it for a moment only.

    Raises:
        OutputError: its file cannot be written.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(cannot_write(path, error)) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def is_held(path: Path) -> bool:
    """Say whether a process that lives holds the lock."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
