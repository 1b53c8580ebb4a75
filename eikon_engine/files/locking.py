"""One kind of lock between processes: `flock` on a file or folder, released when its holder ends, however it ends.

Processes hold the lock exclusively. Asking whether it is held takes it shared for a moment, so that two who ask at once
do not take each other for the holder.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError
from eikon_engine.files.writing import write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PRIVATE = 0o600


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait for the lock of a file, created if missing, or folder, and hold it until the block or the process ends.

    Raises:
        OutputError: the file cannot be opened or locked.
    """
    with _opened(path) as descriptor:
        _lock(path, descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold the lock if it is free, and yield whether it was; the file is created if missing.

    Raises:
        OutputError: the file cannot be opened or locked.
    """
    with _opened(path) as descriptor:
        yield _lock(path, descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(path: Path) -> bool:
    """Return whether a live process holds the lock; False if the file is missing or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY if path.is_dir() else os.O_RDWR | os.O_CREAT
    try:
        descriptor = os.open(path, flags, _PRIVATE)
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(path: Path, descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
    return True
