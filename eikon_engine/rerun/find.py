"""The bundles among files and folders."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import TraceMissingError
from eikon_engine.trace.bundle import DOM_FOLDER
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.journal import JOURNAL_FILE
from eikon_engine.trace.serializer import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLOB: Final = re.compile(r"[0-9a-f]{64}\.zst")
_MARKS: Final = frozenset({TRACE_FILE, JOURNAL_FILE, CERTIFICATE_FILE})
"""Files that only a bundle has."""


def find_bundles(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return bundles as they are named, and those below folders, each once: in the order of the names, then of paths.

    A bundle whose trace is gone is one of them, so that it is told. Links to folders are not followed.

    Raises:
        TraceMissingError: nothing lies at a path, or the folder there has no bundle in it.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            message = f"{path}: wanted a bundle or a folder of bundles, found nothing; check the path"
            raise TraceMissingError(message)
        below = list(_below(path)) if path.is_dir() else [path]
        if not below:
            message = (
                f"{path}: wanted bundles in the folder, found none; name a folder with {TRACE_FILE} in or below it"
            )
            raise TraceMissingError(message)
        found.update(dict.fromkeys(below))
    return tuple(found)


def _below(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        if not _MARKS.isdisjoint(names) or (DOM_FOLDER in folders and _has_blobs(Path(folder, DOM_FOLDER))):
            folders.clear()
            yield Path(folder)
        folders.sort()


def _has_blobs(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return any(_BLOB.fullmatch(entry.name) for entry in entries)
