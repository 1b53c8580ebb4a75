"""Lock a folder of responses for one run."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError, ResponseFolderError
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def exclusive_writer(root: Path) -> Iterator[None]:
    """Lock the folder, created if missing, until the block or the process ends.

    Raises:
        ResponseFolderError: another run holds the lock.
        OutputError: the folder cannot be written.
    """
    with try_lock(root) as is_ours:
        if not is_ours:
            message = f"{root}: another run is writing responses here; wait until it ends"
            raise ResponseFolderError(message)
        yield


@contextmanager
def try_lock(root: Path) -> Iterator[bool]:
    """Try to lock the folder; yield whether it succeeded.

    Raises:
        OutputError: the folder cannot be written.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise OutputError(write_error_message(root, error)) from error
    try:
        yield _try_flock(folder, root)
    finally:
        os.close(folder)


def _try_flock(folder: int, root: Path) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OutputError(write_error_message(root, error)) from error
    return True
