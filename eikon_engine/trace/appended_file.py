"""A file that grows by whole lines while something goes on; a process killed at any moment leaves those before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from pathlib import Path


class AppendedFile:
    """A new file, open until it is closed. It belongs to one writer: lines of several would stand in no order."""

    def __init__(self, path: Path, *, if_there: str) -> None:
        """Create the file, and its folder if that is missing; `if_there` is said where the file is there already.

        Raises:
            OutputError: it cannot be written, or is there already.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(cannot_write(path, error)) from error
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except FileExistsError as error:
            raise OutputError(f"{path}: {if_there}") from error
        except OSError as error:
            raise OutputError(cannot_write(path, error)) from error

    def append(self, line: str) -> None:
        """Write a line, given without its end, in one go.

        Raises:
            OutputError: it cannot be written; half of it may stand there.
        """
        rest = line.encode() + b"\n"
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise OutputError(cannot_write(self.path, error)) from error

    def close(self) -> None:
        """Bring the file to the disk and let it go.

        Raises:
            OutputError: it cannot be written.
        """
        try:
            os.fsync(self._file)
            os.close(self._file)
        except OSError as error:
            raise OutputError(cannot_write(self.path, error)) from error
