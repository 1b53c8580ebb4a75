"""Write files: atomically as a whole, or by appending lines.

Files with recorded content, and the folders that are created for them, are for their user only, whatever the umask is.
Existing folders stay as they are.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from eikon_engine.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_PUBLIC_FILE: Final = 0o666
DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Error numbers of a file system without space, for anyone or for this user."""


def make_folder(path: Path) -> None:
    """Create a folder for its user only.

    Raises:
        OSError: it cannot be created, or exists.
    """
    path.mkdir(mode=_PRIVATE_FOLDER)
    path.chmod(_PRIVATE_FOLDER)  # the umask may have removed more


def make_folders(path: Path) -> None:
    """Create a folder, and the missing ones above it, for their user only, unless it exists.

    Raises:
        OSError: a folder cannot be created, or a file is in its place.
    """
    if not path.exists():
        if path != path.parent:
            make_folders(path.parent)
        with contextlib.suppress(FileExistsError):  # another process was faster
            make_folder(path)
    path.mkdir(exist_ok=True)


def open_new_file(path: Path) -> BinaryIO:
    """Create a file for its user only, and open it for writing.

    Raises:
        OSError: it cannot be created, or exists.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    os.fchmod(descriptor, _PRIVATE_FILE)
    return os.fdopen(descriptor, "wb")


def copy_file(source: BinaryIO, path: Path) -> None:
    """Copy an open file to a new one for its user only, in a folder that is created if missing.

    Raises:
        OSError: it cannot be read, or the copy exists or cannot be written.
    """
    make_folders(path.parent)
    with open_new_file(path) as target:
        shutil.copyfileobj(source, target)


def copy_folder(source: Path, target: Path, *, ignore: Callable[[str, list[str]], list[str]] | None = None) -> None:
    """Copy a folder into another one; the copies are for their user only.

    Raises:
        OSError: a file cannot be read or written; `shutil.Error`, if these are several.
    """
    make_folders(target)
    shutil.copytree(source, target, ignore=ignore, copy_function=_copy_private, dirs_exist_ok=True)
    for folder, _, _ in os.walk(target):
        Path(folder).chmod(_PRIVATE_FOLDER)


def _copy_private(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    Path(target).chmod(_PRIVATE_FILE)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the file at `path` atomically: a reader sees the old content or the new one, never a part.

    Creates the parent folder. The content is synced to disk before the file is renamed.

    Raises:
        OutputError: the file cannot be written.
    """
    _replace(path, data, _PRIVATE_FILE)


def write_public(path: Path, data: bytes) -> None:
    """Replace a file atomically that holds nothing recorded, or is source code: the umask decides who can read it.

    Raises:
        OutputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
    _replace(path, data, _PUBLIC_FILE & ~_current_umask())


def _replace(path: Path, data: bytes, mode: int) -> None:
    temporary = path.parent / f".{path.name}.{os.urandom(4).hex()}.tmp"  # known before it exists: interrupts may come
    try:
        make_folders(path.parent)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_FILE)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_error_message(path: Path, error: OSError) -> str:
    """Return the message for a file that cannot be written."""
    return f"cannot write {path}: {error.strerror or error}; {write_advice(error)}"


def write_advice(error: OSError) -> str:
    """Return what to do about a file that cannot be written."""
    return "free some space on the disk" if error.errno in DISK_FULL else "choose a writable folder"


def _current_umask() -> int:
    """Return the umask; the only way to read it is to set it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def append_whole(descriptor: int, data: bytes) -> None:
    """Append data to a file of this process alone; nothing of it if it cannot be written, as on a full disk.

    Raises:
        OSError: it cannot be written.
    """
    size = os.fstat(descriptor).st_size
    rest = data
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
            os.lseek(descriptor, size, os.SEEK_SET)
        raise


_CLOSED: Final = -1
"""Not the descriptor that was closed: the system soon gives that to another file."""


class AppendOnlyFile:
    """A new file that one writer appends lines to until it is closed; locked until then, see `is_locked`."""

    def __init__(self, path: Path, *, exists_message: str) -> None:
        """Create the file and its folder; `exists_message` is the message if the file exists.

        Raises:
            OutputError: the file exists or cannot be written.
        """
        self.path = path
        try:
            make_folders(path.parent)
        except OSError as error:
            raise OutputError(write_error_message(path, error)) from error
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, _PRIVATE_FILE)
            os.fchmod(self._file, _PRIVATE_FILE)
        except FileExistsError as error:
            raise OutputError(f"{path}: {exists_message}") from error
        except OSError as error:
            raise OutputError(write_error_message(path, error)) from error
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def append(self, line: str) -> None:
        """Write one line, given without its newline, in one call.

        Raises:
            OutputError: the file cannot be written.
        """
        try:
            append_whole(self._file, line.encode() + b"\n")
        except OSError as error:
            raise OutputError(write_error_message(self.path, error)) from error

    def close(self) -> None:
        """Flush the file to disk and close it; further calls have no effect.

        Raises:
            OutputError: the file cannot be written.
        """
        file, self._file = self._file, _CLOSED
        if file == _CLOSED:
            return
        try:
            try:
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise OutputError(write_error_message(self.path, error)) from error
