"""Record new responses beside the old ones and swap them in once complete."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from eikon_engine.completions.folder import MARK_FILE, RecordingMark, read_mark, response_files
from eikon_engine.completions.model_response import parse_response
from eikon_engine.errors import OutputError, ResponseCorruptError
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from pathlib import Path

STAGING: Final = ".refresh"
"""Subfolder of the new responses until they are complete."""
READY: Final = ".refreshed"
"""Its name once they are complete."""


def begin_refresh(root: Path) -> Path:
    """Create an empty staging folder; leftovers of an interrupted refresh are deleted.

    Raises:
        ResponsesError: the folder contains other files, which would be lost.
        OutputError: the folder cannot be written.
    """
    response_files(root)
    staging = root / STAGING
    try:
        if staging.exists():
            shutil.rmtree(staging)
        staging.mkdir(parents=True)
    except OSError as error:
        raise OutputError(cannot_write(staging, error)) from error
    return staging


def left_by_refresh(root: Path) -> int:
    """Count the unused responses an interrupted refresh left behind."""
    return len(response_files(root / STAGING))


def commit_refresh(root: Path) -> None:
    """Replace the old responses by the staged ones.

    Raises:
        ResponsesError: one of the folders contains other files.
        OutputError: a file cannot be moved.
    """
    try:
        (root / STAGING).rename(root / READY)
    except OSError as error:
        raise OutputError(cannot_write(root, error)) from error
    finish_refresh(root)


def is_ready(root: Path) -> bool:
    """Return whether complete new responses wait to replace the old ones."""
    return (root / READY).is_dir()


def finish_refresh(root: Path) -> None:
    """Replace the old responses if new ones are ready; completes the swap of a killed process.

    Raises:
        ResponsesError: one of the folders contains other files.
        OutputError: a file cannot be moved.
    """
    if not is_ready(root):
        return
    ready = root / READY
    mark = read_mark(ready / MARK_FILE)
    try:
        if mark is not None:
            _replace(root, ready, mark)
        shutil.rmtree(ready)
    except OSError as error:
        raise OutputError(cannot_write(root, error)) from error


def _replace(root: Path, ready: Path, mark: RecordingMark) -> None:
    """Move the state file last: until then, files of another recording are old and files of this one are new."""
    for path in response_files(root):
        if not _is_of(path, mark):
            path.unlink()
    for path in response_files(ready):
        path.replace(root / path.name)
    (ready / MARK_FILE).replace(root / MARK_FILE)


def _is_of(path: Path, mark: RecordingMark) -> bool:
    """Return whether a response belongs to a recording; an unreadable one belongs to none."""
    try:
        return parse_response(path.read_bytes(), path).recording == mark.recording
    except (OSError, ResponseCorruptError):
        return False
