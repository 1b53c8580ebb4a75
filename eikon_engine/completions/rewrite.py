"""Rewrite recorded responses without the known secrets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.completions.cleaned import redact_request
from eikon_engine.completions.digest import prompt_digest
from eikon_engine.completions.folder import RecordingState, read_folder, write_state
from eikon_engine.completions.model_response import response_bytes
from eikon_engine.completions.refresh import commit_refresh, finish_refresh, start_refresh
from eikon_engine.completions.sole_writer import try_lock
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.completions.cleaned import RedactText
    from eikon_engine.completions.model_response import ModelResponse, ResponseKey


def redact_responses(root: Path, redact: RedactText) -> bool:
    """Redact a folder of responses; return whether anything changed.

    A folder in use by another run is skipped: that run redacts it when it ends.

    Raises:
        ResponseFolderError: the folder cannot be read.
        OutputError: the folder cannot be written.
    """
    if not root.is_dir():
        return False
    with try_lock(root) as is_ours:
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
