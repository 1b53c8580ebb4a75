"""Redact requests for writing and matching."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.completions.completion import CompletionRequest, Message

if TYPE_CHECKING:
    from pydantic import JsonValue

Clean: TypeAlias = Callable[[str], str]
"""Redacts a text, as `Redactor.text` does; idempotent."""


def as_it_is(text: str) -> str:
    """Return the text unchanged."""
    return text


def cleaned_request(request: CompletionRequest, clean: Clean) -> CompletionRequest:
    """Return the request as it is written; its digest is the one that is compared."""
    if clean is as_it_is:
        return request
    return CompletionRequest(
        metric_id=clean(request.metric_id),
        messages=tuple(Message(role=each.role, content=clean(each.content)) for each in request.messages),
        model=None if request.model is None else clean(request.model),
        parameters={clean(name): _cleaned(value, clean) for name, value in request.parameters.items()},
        file_path=clean(request.file_path),
    )


def _cleaned(value: JsonValue, clean: Clean) -> JsonValue:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(each, clean) for each in value]
        case dict():
            return {clean(name): _cleaned(each, clean) for name, each in value.items()}
        case _:
            return value
