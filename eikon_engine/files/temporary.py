"""Temporary files, in folders named by their process: the next start removes those of killed processes."""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError
from eikon_engine.files.locking import is_locked
from eikon_engine.files.writing import make_folders, write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator

_folders: dict[int, Path] = {}
"""The folder of this process, by its id: a forked process gets its own."""


@contextmanager
def temporary_folder(name: str, *, near: Path | None = None) -> Iterator[Path]:
    """Create a folder for temporary files, and remove it at the end of the block.

    It is in that of the process, or hidden in `near`, from where it can be renamed into place.

    Raises:
        OutputError: it cannot be created.
    """
    parent = process_folder() if near is None else near
    prefix = f"{name}-"
    if near is not None:
        prefix = f".eikon-{name}-"
        remove_abandoned_folders(near, prefix)
        prefix += f"{os.getpid()}-"
    try:
        make_folders(parent)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError as error:
        raise OutputError(write_error_message(parent, error)) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def process_folder() -> Path:
    """Return the temporary folder of this process, which is removed when it exits, or at the next start.

    Raises:
        OutputError: it cannot be created.
    """
    process = os.getpid()
    if process not in _folders:
        parent = Path(tempfile.gettempdir())
        remove_abandoned_folders(parent, "eikon-")
        try:
            folder = Path(tempfile.mkdtemp(prefix=f"eikon-{process}-", dir=parent))
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # locked until this process ends
        except OSError as error:
            raise OutputError(write_error_message(parent, error)) from error
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _folders[process] = folder
        atexit.register(remove_process_folder)
    return _folders[process]


def remove_process_folder() -> None:
    """Remove the temporary folder of this process, if it has one."""
    folder = _folders.pop(os.getpid(), None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned_folders(parent: Path, prefix: str) -> None:
    """Remove the temporary folders with a prefix whose processes have ended; only those of this user."""
    named = re.compile(rf"{re.escape(prefix)}(\d+)-\w+")
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            match = named.fullmatch(entry.name)
            if match and _is_abandoned(entry, int(match[1])):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_abandoned(entry: os.DirEntry[str], process: int) -> bool:
    if not entry.is_dir(follow_symlinks=False) or entry.stat(follow_symlinks=False).st_uid != os.geteuid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return not is_locked(Path(entry.path))  # by a process of another container
    except (PermissionError, OverflowError):
        return False
    return False
