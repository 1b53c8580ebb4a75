"""Record new responses beside the old ones and swap them in once complete."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from eikon_engine.completions.folder import STATE_FILE, RecordingState, read_state, response_files
from eikon_engine.completions.model_response import parse_response
from eikon_engine.errors import OutputError, ResponseCorruptError
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from pathlib import Path

STAGING_FOLDER: Final = ".refresh"
"""Subfolder of the new responses until they are complete."""
READY_FOLDER: Final = ".refreshed"
"""Its name once they are complete."""


def start_refresh(root: Path) -> Path:
    """Create an empty staging folder; leftovers of an interrupted refresh are deleted.

    Raises:
        ResponseFolderError: the folder contains other files, which would be lost.
        OutputError: the folder cannot be written.
    """
    response_files(root)
    staging = root / STAGING_FOLDER
    try:
        if staging.exists():
            shutil.rmtree(staging)
        staging.mkdir(parents=True)
    except OSError as error:
        raise OutputError(write_error_message(staging, error)) from error
    return staging


def count_stale_responses(root: Path) -> int:
    """Count the unused responses an interrupted refresh left behind."""
    return len(response_files(root / STAGING_FOLDER))


def commit_refresh(root: Path) -> None:
    """Replace the old responses by the staged ones.

    Raises:
        ResponseFolderError: one of the folders contains other files.
        OutputError: a file cannot be moved.
    """
    try:
        (root / STAGING_FOLDER).rename(root / READY_FOLDER)
    except OSError as error:
        raise OutputError(write_error_message(root, error)) from error
    finish_refresh(root)


def is_refresh_ready(root: Path) -> bool:
    """Return whether complete new responses wait to replace the old ones."""
    return (root / READY_FOLDER).is_dir()


def finish_refresh(root: Path) -> None:
    """Replace the old responses if new ones are ready; completes the swap of a killed process.

    Raises:
        ResponseFolderError: one of the folders contains other files.
        OutputError: a file cannot be moved.
    """
    if not is_refresh_ready(root):
        return
    ready = root / READY_FOLDER
    mark = read_state(ready / STATE_FILE)
    try:
        if mark is not None:
            _replace(root, ready, mark)
        shutil.rmtree(ready)
    except OSError as error:
        raise OutputError(write_error_message(root, error)) from error


def _replace(root: Path, ready: Path, state: RecordingState) -> None:
    """Move the state file last: until then, files of another recording are old and files of this one are new."""
    for path in response_files(root):
        if not _is_of_recording(path, state):
            path.unlink()
    for path in response_files(ready):
        path.replace(root / path.name)
    (ready / STATE_FILE).replace(root / STATE_FILE)


def _is_of_recording(path: Path, state: RecordingState) -> bool:
    """Return whether a response belongs to a recording; an unreadable one belongs to none."""
    try:
        return parse_response(path.read_bytes(), path).recording == state.recording
    except (OSError, ResponseCorruptError):
        return False
