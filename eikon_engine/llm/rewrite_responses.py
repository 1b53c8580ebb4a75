"""Replace all responses of a folder at once: by newly recorded ones, or by redacted ones."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, ResponseCorruptError
from eikon_engine.files.limits import read_document
from eikon_engine.files.writing import make_folders, write_atomically, write_error_message
from eikon_engine.llm.completion import prompt_digest, redact_request
from eikon_engine.llm.model_response import parse_response, response_bytes
from eikon_engine.llm.response_folder import (
    STATE_FILE,
    RecordingState,
    lock_folder,
    read_folder,
    read_state,
    response_files,
    write_state,
)

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.llm.completion import RedactText
    from eikon_engine.llm.model_response import ModelResponse, ResponseKey

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
        make_folders(staging)
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
        return parse_response(read_document(path, root=path.parent), path).recording == state.recording
    except (OSError, ResponseCorruptError):
        return False


def redact_responses(root: Path, redact: RedactText) -> bool:
    """Redact a folder of responses; return whether anything changed.

    A folder in use by another run is skipped: that run redacts it when it ends.

    Raises:
        ResponseFolderError: the folder cannot be read.
        OutputError: the folder cannot be written.
    """
    if not root.is_dir():
        return False
    with lock_folder(root) as is_ours:
        if not is_ours:
            return False
        finish_refresh(root)
        return redact_locked_folder(root, redact)


def redact_locked_folder(root: Path, redact: RedactText) -> bool:
    """Redact a folder we have locked, including digests and file names.

    All responses are swapped at once. An interrupted recording stays interrupted.

    Raises:
        ResponseFolderError: the folder cannot be read.
        OutputError: the folder cannot be written.
    """
    folder = read_folder(root)
    cleaned = [_redact_response(each, redact) for each in folder.responses]
    if cleaned == list(folder.responses):
        return False
    recording = f"{folder.recording_id}-redacted"
    staging = start_refresh(root)
    places: Counter[ResponseKey] = Counter()
    for each in cleaned:
        placed = each.model_copy(update={"recording": recording, "sample_index": places[each.key]})
        places[each.key] += 1
        write_atomically(staging / placed.file_name, response_bytes(placed))
    mark = folder.state or RecordingState(recording=recording, state="stopped", responses=len(cleaned))
    write_state(staging, mark.model_copy(update={"recording": recording}))
    commit_refresh(root)
    return True


def _redact_response(response: ModelResponse, redact: RedactText) -> ModelResponse:
    request = redact_request(response.request, redact)
    error = response.error
    return response.model_copy(
        update={
            "metric_id": request.metric_id,
            "prompt": request.messages,
            "model": request.model,
            "parameters": request.parameters,
            "file_path": request.file_path,
            "prompt_digest": prompt_digest(request),
            "response": _redact_optional(response.response, redact),
            "answered_by": _redact_optional(response.answered_by, redact),
            "finish_reason": _redact_optional(response.finish_reason, redact),
            "error": None if error is None else error.model_copy(update={"message": redact(error.message)}),
        }
    )


def _redact_optional(text: str | None, redact: RedactText) -> str | None:
    return None if text is None else redact(text)
