"""Lock a folder of responses for one run."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError, ResponsesError
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def sole_writer(root: Path) -> Iterator[None]:
    """Lock the folder, created if missing, until the block or the process ends.

    Raises:
        ResponsesError: another run holds the lock.
        OutputError: the folder cannot be written.
    """
    with lock(root) as is_ours:
        if not is_ours:
            message = f"{root}: another run is writing responses here; wait until it ends"
            raise ResponsesError(message)
        yield


@contextmanager
def lock(root: Path) -> Iterator[bool]:
    """Try to lock the folder; yield whether it succeeded.

    Raises:
        OutputError: the folder cannot be written.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise OutputError(cannot_write(root, error)) from error
    try:
        yield _is_taken(folder, root)
    finally:
        os.close(folder)


def _is_taken(folder: int, root: Path) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OutputError(cannot_write(root, error)) from error
    return True
