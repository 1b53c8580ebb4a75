"""Open and validate untrusted files to import: zip archives, JSON, and models of the objects in them."""

from __future__ import annotations

import io
import json
import lzma
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, model_validator

from eikon_engine.errors import ForeignFormatError
from eikon_engine.files.paths import escapes_bundle

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


MAX_JSON_BYTES: Final = 512 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFile:
    """An open file to import."""

    path: Path
    archive: Archive | None = None
    """None unless the file is a zip archive."""
    data: object = None
    """Parsed JSON; None for archives and folders."""


@contextmanager
def open_foreign_file(path: Path) -> Iterator[ForeignFile]:
    """Open a file to import, as a context manager.

    Raises:
        ForeignFormatError: the file does not exist, or is neither JSON nor a valid archive.
    """
    try:
        if path.is_dir():
            yield ForeignFile(path=path)
            return
        with path.open("rb") as file:
            is_archive = file.read(len(ZIP_MAGIC)) == ZIP_MAGIC
        content = None if is_archive else _read_limited(path)
    except OSError as error:
        message = f"{path}: cannot read the recording: {error.strerror}"
        raise ForeignFormatError(message) from error
    if content is None:
        with open_archive(path) as archive:
            yield ForeignFile(path=path, archive=archive)
    else:
        yield ForeignFile(path=path, data=parse_json(content, str(path)))


def parse_json(content: bytes, where: str) -> object:
    """Parse JSON, with an optional byte order mark.

    Raises:
        ForeignFormatError: the content is not JSON.
    """
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        message = f"{where}: expected JSON or a zip archive, got {error}. Export it again."
        raise ForeignFormatError(message) from error


def _read_limited(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MAX_JSON_BYTES:
        message = f"{path}: expected JSON of at most {MAX_JSON_BYTES // 1024**2} MiB, got {size // 1024**2} MiB"
        raise ForeignFormatError(message)
    return path.read_bytes()


class ForeignModel(BaseModel):
    """Base model: frozen and strict. Fields that an importer does not declare are dropped before validation."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _drop_unknown_fields(cls, data: object) -> object:
        """Keep the declared fields, and convert lists up to two levels deep to tuples, as strict mode requires."""
        if not isinstance(data, dict):
            return data
        return {name: _as_tuples(value) for name, value in data.items() if name in cls.model_fields}


def unknown_fields(shape: type[ForeignModel], data: dict[str, object]) -> tuple[str, ...]:
    """Return the fields of an object that its model does not declare."""
    return tuple(name for name in data if name not in shape.model_fields)


def _as_tuples(value: object) -> object:
    if not isinstance(value, list):
        return value
    return tuple(tuple(each) if isinstance(each, list) else each for each in value)
