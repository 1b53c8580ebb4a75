"""The digest by which a prompt is known again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.completions.completion import CompletionRequest

SHOWN: Final = 12
"""Digits of a digest that are shown to people."""
_IN_NAMES: Final = 16


def prompt_digest(request: CompletionRequest) -> str:
    """Return the SHA-256, in hexadecimal, of what the model is asked.

    It is taken over the UTF-8 bytes of the canonical JSON (`trace/json_value.py`) of an object with exactly the members
    `messages` (a list of objects with `content` and `role`), `model` (text or null) and `parameters` (an object). What
    the answer is for, `metric_id` and `file_path`, is no part of it. Numbers keep their kind: `1` and `1.0` are two
    values.
    """
    messages: list[JsonValue] = [{"content": each.content, "role": each.role} for each in request.messages]
    return _sha256({"messages": messages, "model": request.model, "parameters": request.parameters})


def name_digest(metric_id: str, digest: str) -> str:
    """Return what tells the files of two metrics apart where their names look alike, on every file system."""
    return _sha256([metric_id, digest])[:_IN_NAMES]


def _sha256(value: JsonValue) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
