"""The file that is imported: an archive, JSON, or a folder."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.archive import MARK, Archive, open_archive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_JSON: Final = 512 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFile:
    """A file that is open."""

    path: Path
    archive: Archive | None = None
    """None where it is no archive."""
    data: object = None
    """Its parsed JSON; None for archives and folders."""


@contextmanager
def open_foreign(path: Path) -> Iterator[ForeignFile]:
    """Open what is to be imported, for as long as the block runs.

    Raises:
        ForeignFormatError: nothing is there, or it is neither JSON nor a whole archive.
    """
    try:
        if path.is_dir():
            yield ForeignFile(path=path)
            return
        with path.open("rb") as file:
            is_archive = file.read(len(MARK)) == MARK
        content = None if is_archive else _read(path)
    except OSError as error:
        message = f"wanted a recording at {path}, found {error.strerror}"
        raise ForeignFormatError(message) from error
    if content is None:
        with open_archive(path) as archive:
            yield ForeignFile(path=path, archive=archive)
    else:
        yield ForeignFile(path=path, data=parse_json(content, str(path)))


def parse_json(content: bytes, where: str) -> object:
    """Parse a whole file; a byte order mark is allowed.

    Raises:
        ForeignFormatError: it is no JSON.
    """
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        message = f"{where}: wanted JSON or a zip archive, found {error}; export it again"
        raise ForeignFormatError(message) from error


def _read(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MAX_JSON:
        message = f"{path}: wanted JSON of at most {MAX_JSON // 1024**2} MiB, found {size // 1024**2} MiB"
        raise ForeignFormatError(message)
    return path.read_bytes()
