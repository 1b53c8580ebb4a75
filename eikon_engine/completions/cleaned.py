"""Redact requests for writing and matching."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.completions.completion import CompletionRequest, Message

if TYPE_CHECKING:
    from pydantic import JsonValue

RedactText: TypeAlias = Callable[[str], str]
"""Redacts a text, as `Redactor.text` does; idempotent."""


def no_redaction(text: str) -> str:
    """Return the text unchanged."""
    return text


def redact_request(request: CompletionRequest, redact: RedactText) -> CompletionRequest:
    """Return the request as it is written; its digest is the one that is compared."""
    if redact is no_redaction:
        return request
    return CompletionRequest(
        metric_id=redact(request.metric_id),
        messages=tuple(Message(role=each.role, content=redact(each.content)) for each in request.messages),
        model=None if request.model is None else redact(request.model),
        parameters={redact(name): _redact_json(value, redact) for name, value in request.parameters.items()},
        file_path=redact(request.file_path),
    )


def _redact_json(value: JsonValue, redact: RedactText) -> JsonValue:
    match value:
        case str():
            return redact(value)
        case list():
            return [_redact_json(each, redact) for each in value]
        case dict():
            return {redact(name): _redact_json(each, redact) for name, each in value.items()}
        case _:
            return value
