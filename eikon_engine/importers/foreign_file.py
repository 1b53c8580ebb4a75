"""Open and validate untrusted files to import: zip archives, JSON, and models of the objects in them."""

from __future__ import annotations

import codecs
import io
import lzma
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, model_validator

from eikon_engine.errors import ForeignFormatError
from eikon_engine.files.limits import (
    MAX_ARCHIVE_FILE_BYTES,
    MAX_LINE_BYTES,
    MAX_PLAIN_VALUES,
    archive_sizes,
    parse_json,
    read_file,
    require_size,
    require_values,
)
from eikon_engine.files.paths import escapes_bundle

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

ZIP_MAGIC: Final = b"PK"
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
            ForeignFormatError: it has duplicate names, or paths outside the archive.
            TooLargeError: it has too many or too large files.
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
            ForeignFormatError: the file is damaged.
            TooLargeError: it is too large.
        """
        require_size(self._sizes[name], MAX_ARCHIVE_FILE_BYTES, f"{self._path}/{name}")
        with self._translate_errors(name):
            return self._packed.read(name)

    def lines(self, name: str) -> Generator[tuple[int, bytes]]:
        """Yield the non-blank lines of a file with their numbers, from 1.

        Close the generator if you do not exhaust it.

        Raises:
            ForeignFormatError: the file is damaged.
            TooLargeError: a line is too long or has too many values.
        """
        with self._translate_errors(name), io.BufferedReader(self._packed.open(name), _BUFFER_BYTES) as file:  # type: ignore[type-var] # ZipExtFile reads into buffers
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                where = f"{self._path}/{name}, line {number}"
                require_size(len(line), MAX_LINE_BYTES, where)
                require_values(line, where)
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
        ForeignFormatError: the archive is truncated or damaged.
        TooLargeError: it exceeds a limit.
    """
    try:
        packed = zipfile.ZipFile(path)
    except _ZIP_ERRORS as error:
        raise _unreadable_archive(path, str(error)) from error
    with packed:
        yield Archive(path, packed)


def _checked_sizes(path: Path, entries: list[zipfile.ZipInfo]) -> dict[str, int]:
    """Return the size of each file by name."""
    sizes = archive_sizes(entries, str(path))
    seen: set[str] = set()
    for entry in entries:
        if escapes_bundle(entry.orig_filename):
            message = f"{path}: the file name {entry.orig_filename!r} leads outside the archive"
            raise ForeignFormatError(message)
        if entry.filename in seen:
            message = f"{path}: the archive contains {entry.filename!r} twice"
            raise ForeignFormatError(message)
        seen.add(entry.filename)
    return sizes


def _unreadable_archive(path: Path, problem: str) -> ForeignFormatError:
    message = f"{path}: cannot read the zip archive ({problem}). Save it again."
    return ForeignFormatError(message)


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
        TooLargeError: it exceeds a limit.
    """
    try:
        if path.is_dir():
            yield ForeignFile(path=path)
            return
        with path.open("rb") as file:
            is_archive = file.read(len(ZIP_MAGIC)) == ZIP_MAGIC
        content = None if is_archive else read_file(path)
    except OSError as error:
        message = f"{path}: cannot read the recording: {error.strerror}"
        raise ForeignFormatError(message) from error
    if content is None:
        with open_archive(path) as archive:
            yield ForeignFile(path=path, archive=archive)
    else:
        yield ForeignFile(path=path, data=parse_foreign_json(content, str(path)))


def parse_foreign_json(content: bytes, where: str) -> object:
    """Parse JSON, with an optional byte order mark.

    Raises:
        ForeignFormatError: the content is not JSON.
        TooLargeError: it has too many values.
    """
    require_values(content, where, MAX_PLAIN_VALUES)
    try:
        return parse_json(content.removeprefix(codecs.BOM_UTF8))
    except ValueError as error:
        message = f"{where}: expected JSON or a zip archive, got {error}. Export it again."
        raise ForeignFormatError(message) from error


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
