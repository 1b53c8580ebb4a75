"""An append-only file of lines; if the process is killed, all lines written before remain readable."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from pathlib import Path


class AppendOnlyFile:
    """A new file that one writer appends lines to until it is closed."""

    def __init__(self, path: Path, *, exists_message: str) -> None:
        """Create the file and its folder; `if_there` is the message if the file exists.

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
        """Flush the file to disk and close it.

        Raises:
            OutputError: the file cannot be written.
        """
        try:
            os.fsync(self._file)
            os.close(self._file)
        except OSError as error:
            raise OutputError(write_error_message(self.path, error)) from error
