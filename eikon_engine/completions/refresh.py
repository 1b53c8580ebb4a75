"""Write new responses beside the old ones, and put them in their place when all of them are there."""

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
"""Folder of the new responses, inside that of the old ones, until all of them are there."""
READY: Final = ".refreshed"
"""Its name from then on."""


def begin_refresh(root: Path) -> Path:
    """Return an empty place for new responses; what a stopped refresh left there goes.

    Raises:
        ResponsesError: the folder holds something else than responses, which would be lost.
        OutputError: it cannot be written.
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
    """Count the responses that a stopped refresh left; they are used by nobody."""
    return len(response_files(root / STAGING))


def commit_refresh(root: Path) -> None:
    """Say that all new responses are there, and put them in the place of the old ones.

    Raises:
        ResponsesError: one of the folders holds something else.
        OutputError: something cannot be moved.
    """
    try:
        (root / STAGING).rename(root / READY)
    except OSError as error:
        raise OutputError(cannot_write(root, error)) from error
    finish_refresh(root)


def is_ready(root: Path) -> bool:
    """Say whether new responses wait, all of them, to be put into the place of the old ones."""
    return (root / READY).is_dir()


def finish_refresh(root: Path) -> None:
    """Put new responses in the place of the old ones, if they wait; what a killed process left is finished so.

    Raises:
        ResponsesError: one of the folders holds something else.
        OutputError: something cannot be moved.
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
    """Move the mark last: until then, what is of another recording is old, and what is of this one is new."""
    for path in response_files(root):
        if not _is_of(path, mark):
            path.unlink()
    for path in response_files(ready):
        path.replace(root / path.name)
    (ready / MARK_FILE).replace(root / MARK_FILE)


def _is_of(path: Path, mark: RecordingMark) -> bool:
    """Say whether a response belongs to a recording; one that cannot be read belongs to none."""
    try:
        return parse_response(path.read_bytes(), path).recording == mark.recording
    except (OSError, ResponseCorruptError):
        return False
