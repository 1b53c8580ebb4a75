"""The command file: clients append whole lines, the session reads them as they come.

Each line is appended in one write, so lines of several clients never mix. What a client that was killed has left of one
is ended before the next. What is no command is told and skipped; the file is only ever read by the session, so it stays
as it was written.
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
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from io import FileIO
    from pathlib import Path

    from anyio import Event

LONGEST_LINE: Final = 1 << 20
"""Bytes of one command; what is longer is no command, and is not kept in memory."""
_STEP_MS: Final = 5
"""How long further changes are waited for after one."""
_LOOK_AGAIN_MS: Final = 500
"""After this time the file is looked at in any case: some file systems tell of no changes."""
_CHUNK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that is no command."""

    line: int
    message: str


def append_command(path: Path, line: CommandLine) -> int:
    """Append one command, in one write to the file; return the number of its line.

    Raises:
        OutputError: it cannot be written.
    """
    text = line.model_dump_json().encode() + b"\n"
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                text = b"\n" + text
            written = os.write(file, text)
            number = _lines_before(file, os.lseek(file, 0, os.SEEK_CUR))
        finally:
            os.close(file)
    except OSError as error:
        raise OutputError(cannot_write(path, error)) from error
    if written != len(text):
        raise OutputError(f"{path}: wanted to append {len(text)} bytes, wrote {written}; make room on the disk")
    return number


def _lines_before(file: int, end: int) -> int:
    """Count the lines that end before a place in a file."""
    return sum(os.pread(file, min(_CHUNK, end - begin), begin).count(b"\n") for begin in range(0, end, _CHUNK))


class CommandReader:
    """Read commands as their text comes, in pieces of any size."""

    def __init__(self) -> None:
        """Begin before the first line."""
        self._rest = b""
        self._number = 0
        self._is_too_long = False

    def feed(self, data: bytes) -> Iterator[CommandLine | Rejected]:
        """Yield the lines that are whole now."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for text in whole:
            self._number += 1
            was_too_long, self._is_too_long = self._is_too_long, False
            if was_too_long or len(text) > LONGEST_LINE:
                yield Rejected(self._number, f"wanted one command, found a line of more than {LONGEST_LINE} bytes")
            elif text.strip():
                yield self._read(text)
        if len(self._rest) > LONGEST_LINE:
            self._rest, self._is_too_long = b"", True

    def cut(self, read: int, size: int) -> Rejected:
        """Say that the file was cut, and forget what had come of a line."""
        self._rest, self._is_too_long = b"", False
        message = f"wanted lines to be appended, found the file cut from {read} to {size} bytes; the rest is skipped"
        return Rejected(max(self._number, 1), message)

    def _read(self, text: bytes) -> CommandLine | Rejected:
        try:
            return CommandLine.model_validate_json(text)
        except ValidationError as error:
            return Rejected(self._number, _fault(error, text))


def _fault(error: ValidationError, text: bytes) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        problem = first["msg"].removeprefix("Invalid JSON: ")
        return f"wanted one command as JSON, found {problem}; the line is skipped"
    return f"{trace_error(error, text, 'wanted one command')}; the line is skipped"


async def commands(path: Path, stop: Event) -> AsyncIterator[CommandLine | Rejected]:
    """Yield commands as they are appended, from the beginning of the file, until `stop` is set.

    Raises:
        SessionError: the file cannot be read any more, or was removed, so that nobody could be heard.
    """
    reader = CommandReader()
    try:
        with path.open("rb", buffering=0) as file:
            changes = awatch(
                path,
                stop_event=stop,
                debounce=_STEP_MS,
                step=_STEP_MS,
                rust_timeout=_LOOK_AGAIN_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
            )
            for line in _new(file, reader):
                yield line
            async for _ in changes:
                for line in _new(file, reader):
                    yield line
    except OSError as error:
        raise SessionError(f"{path}: the commands cannot be read ({error.strerror}); restore the file") from error


def _new(file: FileIO, reader: CommandReader) -> Iterator[CommandLine | Rejected]:
    """Yield what was appended since; where the file was cut instead, what is left is taken for read."""
    about, read = os.fstat(file.fileno()), file.tell()
    if about.st_nlink == 0:
        raise FileNotFoundError(errno.ENOENT, "it was removed")
    size = about.st_size
    if size < read:
        file.seek(size)
        yield reader.cut(read, size)
    while data := file.read(_CHUNK):
        yield from reader.feed(data)
