"""Read untrusted zip archives: limits on size and number of files, no extraction to disk."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError
from eikon_engine.trace.bundle_path import escapes_bundle

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

ZIP_MAGIC: Final = b"PK"
MAX_ENTRIES: Final = 200_000
MAX_TOTAL_BYTES: Final = 8 * 1024**3
MAX_FILE_BYTES: Final = 256 * 1024**2
"""Maximum size in bytes of a file that is read into memory."""
MAX_LINE_BYTES: Final = 64 * 1024**2
MAX_COMPRESSION_RATIO: Final = 200
"""Maximum compression ratio: traces reach about 20, zip bombs 1,000."""
RATIO_EXEMPT_BYTES: Final = 16 * 1024**2
"""Size in bytes below which the compression ratio is not checked."""
_ZIP_ERRORS: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, OSError, ValueError),
)
"""Exceptions of `zipfile` for damaged, truncated, encrypted or unsupported archives."""
_BUFFER_BYTES: Final = 1024 * 1024


class Archive:
    """An open archive with a validated directory."""

    def __init__(self, path: Path, packed: zipfile.ZipFile) -> None:
        """Validate the directory.

        Raises:
            ForeignFormatError: it has too many or too large files, duplicate names, or paths outside the archive.
        """
        self._path = path
        self._packed = packed
        self._sizes = _checked_sizes(path, packed.infolist())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the files, in directory order."""
        return tuple(self._sizes)

    def contains(self, name: str) -> bool:
        """Whether the archive contains this file."""
        return name in self._sizes

    def read(self, name: str) -> bytes:
        """Read an existing file into memory.

        Raises:
            ForeignFormatError: the file is too large or damaged.
        """
        size = self._sizes[name]
        if size > MAX_FILE_BYTES:
            message = f"{self._path}/{name}: expected a file of at most {_mib(MAX_FILE_BYTES)}, got {_mib(size)}"
            raise ForeignFormatError(message)
        with self._translate_errors(name):
            return self._packed.read(name)

    def lines(self, name: str) -> Generator[tuple[int, bytes]]:
        """Yield the non-blank lines of a file with their numbers, from 1.

        Close the generator if you do not exhaust it.

        Raises:
            ForeignFormatError: a line is too long, or the file is damaged.
        """
        with self._translate_errors(name), io.BufferedReader(self._packed.open(name), _BUFFER_BYTES) as file:  # type: ignore[type-var] # ZipExtFile reads into buffers
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    message = f"{self._path}/{name}, line {number}: expected at most {_mib(MAX_LINE_BYTES)}, got more"
                    raise ForeignFormatError(message)
                if not line.isspace():
                    yield number, line

    @contextmanager
    def _translate_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except _ZIP_ERRORS as error:
            raise _unreadable_archive(self._path, f"{name}: {error}") from error


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive as a context manager.

    Raises:
        ForeignFormatError: the archive is truncated, damaged, or exceeds a limit.
    """
    try:
        packed = zipfile.ZipFile(path)
    except _ZIP_ERRORS as error:
        raise _unreadable_archive(path, str(error)) from error
    with packed:
        yield Archive(path, packed)


def _checked_sizes(path: Path, entries: list[zipfile.ZipInfo]) -> dict[str, int]:
    """Return the size of each file by name."""
    if len(entries) > MAX_ENTRIES:
        message = f"{path}: expected at most {MAX_ENTRIES:,} files in the archive, got {len(entries):,}"
        raise ForeignFormatError(message)
    sizes: dict[str, int] = {}
    for entry in entries:
        if escapes_bundle(entry.orig_filename):
            message = f"{path}: the file name {entry.orig_filename!r} leads outside the archive"
            raise ForeignFormatError(message)
        if entry.filename in sizes:
            message = f"{path}: the archive contains {entry.filename!r} twice"
            raise ForeignFormatError(message)
        if entry.file_size > max(RATIO_EXEMPT_BYTES, MAX_COMPRESSION_RATIO * entry.compress_size):
            message = (
                f"{path}/{entry.filename}: expected a compression ratio of at most {MAX_COMPRESSION_RATIO}, got "
                f"{entry.compress_size:,} bytes for {_mib(entry.file_size)}. The file may be a zip bomb."
            )
            raise ForeignFormatError(message)
        sizes[entry.filename] = entry.file_size
    total = sum(sizes.values())
    if total > MAX_TOTAL_BYTES:
        message = f"{path}: expected at most {_mib(MAX_TOTAL_BYTES)} uncompressed, got {_mib(total)}"
        raise ForeignFormatError(message)
    return sizes


def _unreadable_archive(path: Path, problem: str) -> ForeignFormatError:
    message = f"{path}: cannot read the zip archive ({problem}). Save it again."
    return ForeignFormatError(message)


def _mib(size: int) -> str:
    return f"{size / 1024**2:,.0f} MiB"
