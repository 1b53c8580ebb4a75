"""The command file of a session: clients append lines, the session reads them as they arrive.

Each line is appended in a single write, so lines of several clients never mix. An incomplete line of a killed client
is terminated before the next one. Invalid lines are reported and skipped; the session only ever reads the file.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError
from watchfiles import awatch

from eikon_engine.debug.commands import CommandLine
from eikon_engine.errors import OutputError, SessionError
from eikon_engine.files.models import validation_error
from eikon_engine.files.writing import write_error_message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from io import FileIO
    from pathlib import Path

    from anyio import Event

MAX_LINE_BYTES: Final = 1 << 20
"""Longer lines are rejected and not held in memory."""
_DEBOUNCE_MS: Final = 5
"""How long to wait for further changes after one."""
_POLL_MS: Final = 500
"""The file is polled at this interval; some file systems report no changes."""
_CHUNK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that is not a command."""

    line: int
    message: str


def append_command(path: Path, line: CommandLine) -> int:
    """Append one command in a single write; return its line number.

    Raises:
        OutputError: the file cannot be written.
    """
    text = line.model_dump_json().encode() + b"\n"
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                text = b"\n" + text
            written = os.write(file, text)
            number = _count_lines(file, os.lseek(file, 0, os.SEEK_CUR))
        finally:
            os.close(file)
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
    if written != len(text):
        raise OutputError(f"{path}: expected to append {len(text)} bytes, wrote {written}; free disk space")
    return number


def _count_lines(file: int, end: int) -> int:
    """Count the lines that end before an offset."""
    return sum(os.pread(file, min(_CHUNK, end - begin), begin).count(b"\n") for begin in range(0, end, _CHUNK))


class CommandReader:
    """Parse commands from chunks of any size."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._partial_line = b""
        self._number = 0
        self._is_too_long = False

    def feed(self, data: bytes) -> Iterator[CommandLine | RejectedLine]:
        """Yield the lines that are now complete."""
        *lines, self._partial_line = (self._partial_line + data).split(b"\n")
        for text in lines:
            self._number += 1
            was_too_long, self._is_too_long = self._is_too_long, False
            if was_too_long or len(text) > MAX_LINE_BYTES:
                yield RejectedLine(
                    self._number, f"expected one command, got a line of more than {MAX_LINE_BYTES} bytes"
                )
            elif text.strip():
                yield self._parse(text)
        if len(self._partial_line) > MAX_LINE_BYTES:
            self._partial_line, self._is_too_long = b"", True

    def truncated(self, read: int, size: int) -> RejectedLine:
        """Report that the file was truncated, and drop the partial line."""
        self._partial_line, self._is_too_long = b"", False
        message = f"file truncated from {read} to {size} bytes, lines must be appended only; the rest is skipped"
        return RejectedLine(max(self._number, 1), message)

    def _parse(self, text: bytes) -> CommandLine | RejectedLine:
        try:
            return CommandLine.model_validate_json(text)
        except ValidationError as error:
            return RejectedLine(self._number, _parse_error_message(error, text))


def _parse_error_message(error: ValidationError, text: bytes) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        problem = first["msg"].removeprefix("Invalid JSON: ")
        return f"expected one command as JSON, got {problem}; the line is skipped"
    return f"{validation_error(error, text, 'expected one command')}; the line is skipped"


async def follow_commands(path: Path, stop: Event) -> AsyncIterator[CommandLine | RejectedLine]:
    """Yield commands as they are appended, from the start of the file until `stop` is set.

    Raises:
        SessionError: the file can no longer be read, or was removed.
    """
    reader = CommandReader()
    try:
        with path.open("rb", buffering=0) as file:
            changes = awatch(
                path,
                stop_event=stop,
                debounce=_DEBOUNCE_MS,
                step=_DEBOUNCE_MS,
                rust_timeout=_POLL_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
            )
            for line in _read_appended(file, reader):
                yield line
            async for _ in changes:
                for line in _read_appended(file, reader):
                    yield line
    except OSError as error:
        raise SessionError(f"{path}: the commands cannot be read ({error.strerror}); restore the file") from error


def _read_appended(file: FileIO, reader: CommandReader) -> Iterator[CommandLine | RejectedLine]:
    """Yield appended lines; after a truncation, the remaining content counts as read."""
    about, read = os.fstat(file.fileno()), file.tell()
    if about.st_nlink == 0:
        raise FileNotFoundError(errno.ENOENT, "it was removed")
    size = about.st_size
    if size < read:
        file.seek(size)
        yield reader.truncated(read, size)
    while data := file.read(_CHUNK):
        yield from reader.feed(data)
