"""Write files: atomically as a whole, or by appending lines."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path
from typing import Final

from eikon_engine.errors import OutputError

_FILE_MODE = 0o666


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the file at `path` atomically: a reader sees the old content or the new one, never a part.

    Creates the parent folder. The content is synced to disk before the file is renamed.

    Raises:
        OutputError: the file cannot be written.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_FILE_MODE & ~_current_umask())
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def write_error_message(path: Path, error: OSError) -> str:
    """Return the message for a file that cannot be written."""
    return f"cannot write {path}: {error.strerror or error}; choose a writable folder"


def _current_umask() -> int:
    """Return the umask; the only way to read it is to set it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


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
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(write_error_message(path, error)) from error
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except FileExistsError as error:
            raise OutputError(f"{path}: {exists_message}") from error
        except OSError as error:
            raise OutputError(write_error_message(path, error)) from error
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def append(self, line: str) -> None:
        """Write one line, given without its newline, in one call.

        Raises:
            OutputError: the file cannot be written; the line may be truncated.
        """
        rest = line.encode() + b"\n"
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
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
