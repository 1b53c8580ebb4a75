"""Record anew beside the old responses, and put the new ones in their place when all of them are there."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from eikon_engine.completions.folder import MARK_FILE, RecordingMark, read_mark, response_files
from eikon_engine.completions.model_response import parse_response
from eikon_engine.errors import OutputError, ResponseCorruptError
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

STAGING: Final = ".refresh"
"""Folder of the new responses, inside that of the old ones."""


def staging_of(root: Path) -> Path:
    """Return the folder in which new responses wait."""
    return root / STAGING


def is_ready(root: Path) -> bool:
    """Say whether new responses wait, all of them, to be put into the place of the old ones."""
    mark = read_mark(staging_of(root) / MARK_FILE)
    return mark is not None and mark.state == "complete"


def begin_refresh(root: Path) -> Path:
    """Return an empty place for new responses; what a stopped refresh left there goes.

    Raises:
        ResponsesError: the folder holds something else than responses, which would be lost.
        OutputError: it cannot be written.
    """
    response_files(root)
    staging = staging_of(root)
    try:
        if staging.exists():
            shutil.rmtree(staging)
        staging.mkdir(parents=True)
    except OSError as error:
        raise OutputError(cannot_write(staging, error)) from error
    return staging


def left_by_refresh(root: Path) -> int:
    """Count the responses that a stopped refresh left; they are used by nobody."""
    return len(response_files(staging_of(root)))


def finish_refresh(root: Path) -> None:
    """Put new responses in the place of the old ones, if all of them are there.

    The mark of the new recording is moved last, so that a process that is killed meanwhile is finished by the next.

    Raises:
        ResponsesError: one of the folders holds something else.
        OutputError: something cannot be moved.
    """
    staging = staging_of(root)
    mark = read_mark(staging / MARK_FILE)
    if mark is None or not is_ready(root):
        return
    old = [each for each in response_files(root) if not _is_of(each, mark)]
    try:
        _replace(root, staging, old, response_files(staging))
    except OSError as error:
        raise OutputError(cannot_write(root, error)) from error


def _replace(root: Path, staging: Path, old: Iterable[Path], new: Iterable[Path]) -> None:
    for path in old:
        path.unlink()
    for path in new:
        path.replace(root / path.name)
    (staging / MARK_FILE).replace(root / MARK_FILE)
    shutil.rmtree(staging)


def _is_of(path: Path, mark: RecordingMark) -> bool:
    """Say whether a response belongs to a recording; one that cannot be read belongs to none."""
    try:
        return parse_response(path.read_bytes(), path).recording == mark.recording
    except (OSError, ResponseCorruptError):
        return False
