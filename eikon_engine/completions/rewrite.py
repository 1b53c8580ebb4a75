"""Rewrite recorded responses without the known secrets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.completions.cleaned import cleaned_request
from eikon_engine.completions.digest import prompt_digest
from eikon_engine.completions.folder import RecordingMark, read_folder, write_mark
from eikon_engine.completions.model_response import response_bytes
from eikon_engine.completions.refresh import begin_refresh, commit_refresh, finish_refresh
from eikon_engine.completions.sole_writer import lock
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.completions.cleaned import Clean
    from eikon_engine.completions.model_response import ModelResponse, ResponseKey


def rewrite_responses(root: Path, clean: Clean) -> bool:
    """Redact a folder of responses; return whether anything changed.

    A folder in use by another run is skipped: that run redacts it when it ends.

    Raises:
        ResponsesError: the folder cannot be read.
        OutputError: the folder cannot be written.
    """
    if not root.is_dir():
        return False
    with lock(root) as is_ours:
        if not is_ours:
            return False
        finish_refresh(root)
        return rewrite_own(root, clean)


def rewrite_own(root: Path, clean: Clean) -> bool:
    """Redact a folder we have locked, including digests and file names.

    All responses are swapped at once. An interrupted recording stays interrupted.

    Raises:
        ResponsesError: the folder cannot be read.
        OutputError: the folder cannot be written.
    """
    folder = read_folder(root)
    cleaned = [_cleaned(each, clean) for each in folder.responses]
    if cleaned == list(folder.responses):
        return False
    recording = f"{folder.recording}-redacted"
    staging = begin_refresh(root)
    places: Counter[ResponseKey] = Counter()
    for each in cleaned:
        placed = each.model_copy(update={"recording": recording, "sample_index": places[each.key]})
        places[each.key] += 1
        write_whole(staging / placed.file_name, response_bytes(placed))
    mark = folder.mark or RecordingMark(recording=recording, state="stopped", responses=len(cleaned))
    write_mark(staging, mark.model_copy(update={"recording": recording}))
    commit_refresh(root)
    return True


def _cleaned(response: ModelResponse, clean: Clean) -> ModelResponse:
    request = cleaned_request(response.request, clean)
    error = response.error
    return response.model_copy(
        update={
            "metric_id": request.metric_id,
            "prompt": request.messages,
            "model": request.model,
            "parameters": request.parameters,
            "file_path": request.file_path,
            "prompt_digest": prompt_digest(request),
            "response": _text(response.response, clean),
            "answered_by": _text(response.answered_by, clean),
            "finish_reason": _text(response.finish_reason, clean),
            "error": None if error is None else error.model_copy(update={"message": clean(error.message)}),
        }
    )


def _text(text: str | None, clean: Clean) -> str | None:
    return None if text is None else clean(text)
