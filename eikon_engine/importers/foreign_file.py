"""Open a file to import: a zip archive, JSON, or a folder."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.archive import ZIP_MAGIC, Archive, open_archive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
