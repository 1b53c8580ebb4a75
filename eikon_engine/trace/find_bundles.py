"""Find bundles in files and folders."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import TraceError
from eikon_engine.trace.bundle import DOM_FOLDER
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.journal import is_moved_aside
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_BLOB: Final = re.compile(r"[0-9a-f]{64}\.zst")
_BUNDLE_FILES: Final = frozenset({TRACE_FILE, JOURNAL_FILE, CERTIFICATE_FILE})
"""Files that identify a bundle."""


def find_bundles(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the named bundles and those below folders, without duplicates: in argument order, then by path.

    Includes bundles whose trace is missing, so that they are reported. Follows links to bundles, but not to other
    folders. Unfinished recordings that were moved aside are found only by name.

    Raises:
        TraceError: a path does not exist, or a folder contains no bundle.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            message = f"{path}: expected a bundle or a folder of bundles, but the path does not exist"
            raise TraceError(message, code="trace-missing")
        below = list(_walk_bundles(path)) if path.is_dir() else [path]
        if not below:
            message = f"{path}: the folder contains no bundle. Pass a folder with {TRACE_FILE} in or below it."
            raise TraceError(message, code="trace-missing")
        found.update(dict.fromkeys(below))
    return tuple(found)


def find_bundle_folders(names: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of bundles among files, given by their names with `/`; by path, empty for the root.

    What counts as a bundle is as for `find_bundles`.
    """
    folders: set[tuple[str, ...]] = set()
    for name in names:
        *parents, file = name.split("/")
        if file in _BUNDLE_FILES:
            folders.add(tuple(parents))
        elif parents[-1:] == [DOM_FOLDER] and _BLOB.fullmatch(file):
            folders.add(tuple(parents[:-1]))
    outermost = (each for each in folders if not any(each[:depth] in folders for depth in range(len(each))))
    return tuple("/".join(each) for each in sorted(outermost) if not any(map(is_moved_aside, each)))


def _walk_bundles(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        if _are_of_bundle(Path(folder), folders, names):
            folders.clear()
            yield Path(folder)
        folders[:] = sorted(each for each in folders if not is_moved_aside(each))
        yield from (link for each in folders if (link := Path(folder, each)).is_symlink() and is_bundle(link))


def is_bundle(folder: Path) -> bool:
    """Return whether a folder is a bundle, also one whose trace is missing."""
    has_dom = False
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in _BUNDLE_FILES and not entry.is_dir():
                    return True
                has_dom = has_dom or (entry.name == DOM_FOLDER and entry.is_dir())
    except OSError:
        return False
    return has_dom and _has_blobs(Path(folder, DOM_FOLDER))


def _are_of_bundle(folder: Path, folders: Collection[str], names: Collection[str]) -> bool:
    has_file = not _BUNDLE_FILES.isdisjoint(names)
    return has_file or (DOM_FOLDER in folders and _has_blobs(Path(folder, DOM_FOLDER)))


def _has_blobs(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return any(_BLOB.fullmatch(entry.name) for entry in entries)
