"""Digests of prompts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.completions.completion import CompletionRequest

DIGITS_SHOWN: Final = 12
"""Digest digits shown in messages."""
_DIGITS_IN_FILE_NAMES: Final = 16


def prompt_digest(request: CompletionRequest) -> str:
    """Return the SHA-256 of a request, in hexadecimal.

    It covers the UTF-8 canonical JSON (`trace/json_value.py`) of an object with exactly the members `messages` (a list
    of objects with `content` and `role`), `model` (text or null) and `parameters` (an object); `metric_id` and
    `file_path` are not included. Number types are significant: `1` and `1.0` differ.
    """
    messages: list[JsonValue] = [{"content": each.content, "role": each.role} for each in request.messages]
    return _sha256({"messages": messages, "model": request.model, "parameters": request.parameters})


def file_name_digest(metric_id: str, digest: str) -> str:
    """Return the part of a file name that distinguishes metrics whose readable names are equal."""
    return _sha256([metric_id, digest])[:_DIGITS_IN_FILE_NAMES]


def _sha256(value: JsonValue) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
