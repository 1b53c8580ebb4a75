"""A zip archive of somebody else: nothing in it is believed, and nothing is unpacked to a place it names."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError
from eikon_engine.trace.bundle_path import leads_out

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

MARK: Final = b"PK"
MAX_ENTRIES: Final = 200_000
MAX_TOTAL: Final = 8 * 1024**3
MAX_FILE: Final = 256 * 1024**2
"""Bytes of a file that is read as a whole."""
MAX_LINE: Final = 64 * 1024**2
MAX_GROWTH: Final = 200
"""How much bigger a file may become than it is packed: text of traces grows some 20 times, a bomb 1,000 times."""
SMALL: Final = 16 * 1024**2
"""Bytes up to which the growth does not matter."""
_BROKEN: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, OSError, ValueError),
)
"""What reading an archive raises: damaged, cut off, packed in an unknown way, encrypted."""
_BUFFER: Final = 1024 * 1024


class Archive:
    """An open archive whose directory was checked."""

    def __init__(self, path: Path, packed: zipfile.ZipFile) -> None:
        """Check the directory.

        Raises:
            ForeignFormatError: it names too much, or a file twice, or one that leads out.
        """
        self._path = path
        self._packed = packed
        self._sizes = _checked(path, packed.infolist())

    @property
    def names(self) -> tuple[str, ...]:
        """Name the files, in the order of the directory."""
        return tuple(self._sizes)

    def has(self, name: str) -> bool:
        """Say whether there is a file of this name."""
        return name in self._sizes

    def read(self, name: str) -> bytes:
        """Read a file as a whole; it has to be there.

        Raises:
            ForeignFormatError: it is too big, or damaged.
        """
        size = self._sizes[name]
        if size > MAX_FILE:
            message = (
                f"{self._path}/{name}: wanted a file of at most {_mib(MAX_FILE)} to read whole, found {_mib(size)}"
            )
            raise ForeignFormatError(message)
        with self._readable(name):
            return self._packed.read(name)

    def lines(self, name: str) -> Generator[tuple[int, bytes]]:
        """Read the lines of a file one after the other, each with its number from 1; empty ones are left out.

        Whoever does not read to the end closes them.

        Raises:
            ForeignFormatError: a line is too long, or the file damaged.
        """
        with self._readable(name), io.BufferedReader(self._packed.open(name), _BUFFER) as file:  # type: ignore[type-var] # ZipExtFile reads into buffers
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    message = f"{self._path}/{name}, line {number}: wanted at most {_mib(MAX_LINE)}, found more"
                    raise ForeignFormatError(message)
                if not line.isspace():
                    yield number, line

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            raise _unreadable(self._path, f"{name}: {error}") from error


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive for as long as the block runs.

    Raises:
        ForeignFormatError: it is cut off, damaged, or not to be trusted.
    """
    try:
        packed = zipfile.ZipFile(path)
    except _BROKEN as error:
        raise _unreadable(path, str(error)) from error
    with packed:
        yield Archive(path, packed)


def _checked(path: Path, entries: list[zipfile.ZipInfo]) -> dict[str, int]:
    """Return the sizes of the files by their names."""
    if len(entries) > MAX_ENTRIES:
        message = f"{path}: wanted at most {MAX_ENTRIES:,} files in an archive, found {len(entries):,}"
        raise ForeignFormatError(message)
    sizes: dict[str, int] = {}
    for entry in entries:
        if leads_out(entry.orig_filename):
            message = f"{path}: wanted names inside the archive, found {entry.orig_filename!r}, which leads out of it"
            raise ForeignFormatError(message)
        if entry.filename in sizes:
            message = f"{path}: wanted each file once, found {entry.filename!r} twice; which one counts is not known"
            raise ForeignFormatError(message)
        if entry.file_size > max(SMALL, MAX_GROWTH * entry.compress_size):
            message = (
                f"{path}/{entry.filename}: wanted a file that grows at most {MAX_GROWTH} times, found "
                f"{entry.compress_size:,} bytes for {_mib(entry.file_size)}; it may be made to fill the memory"
            )
            raise ForeignFormatError(message)
        sizes[entry.filename] = entry.file_size
    total = sum(sizes.values())
    if total > MAX_TOTAL:
        message = f"{path}: wanted at most {_mib(MAX_TOTAL)} unpacked, found {_mib(total)}"
        raise ForeignFormatError(message)
    return sizes


def _unreadable(path: Path, problem: str) -> ForeignFormatError:
    message = f"{path}: wanted a whole zip archive, found one that cannot be read ({problem}); save it again"
    return ForeignFormatError(message)


def _mib(size: int) -> str:
    return f"{size / 1024**2:,.0f} MiB"
