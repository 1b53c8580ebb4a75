"""Let one run at a time write into a folder of responses."""

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
    """Hold a lock on the folder, which is made if it is missing; it ends with the block, or with the process.

    Raises:
        ResponsesError: somebody else writes into it now.
        OutputError: it cannot be written.
    """
    with lock(root) as is_ours:
        if not is_ours:
            message = f"{root}: wanted to write responses, found another run that does so now; wait for its end"
            raise ResponsesError(message)
        yield


@contextmanager
def lock(root: Path) -> Iterator[bool]:
    """Try to hold the lock; yield whether it is held.

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
