"""The lock that a session's process holds; whether it is held tells whether the process is alive.

The operating system releases the lock when the process dies, so nothing needs cleanup, and a reused process id misleads
no one.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a session; liveness checks do not block, and hold it only briefly.

    Raises:
        OutputError: the lock file cannot be written.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def is_locked(path: Path) -> bool:
    """Return whether a live process holds the lock."""
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
