"""Requests to language models and their completions, the same for every client; redaction and digests of requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from pydantic import Field

from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.trace.execution import TokenUsage

if TYPE_CHECKING:
    from pydantic import JsonValue

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Message(FileModel):
    """One message of a prompt."""

    role: Role
    content: str


class CompletionRequest(FileModel):
    """One request to a model."""

    metric_id: str = Field(min_length=1)
    """What the completion is for: a step id, a skill name."""
    messages: tuple[Message, ...] = Field(min_length=1)
    model: str | None = None
    """None lets the client choose."""
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    """Model parameters: temperature, max_tokens, seed …"""
    file_path: str = ""
    """File or URL of the page that the request is about, for display only; it is not read."""


class Completion(FileModel):
    """One completion of a model."""

    text: str
    model: str | None = None
    """The model that responded; may differ from the requested name."""
    usage: TokenUsage = TokenUsage()
    finish_reason: str | None = None
    """Why the completion ends, as reported by the model: stop, length …"""


class CompletionClient(Protocol):
    """Complete prompts; thread-safe."""

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the completion; the model is asked at most once.

        Raises:
            CompletionError: the model failed; subclasses give the reason.
            NoReplayDataError: completions come from a recording that has none for this request.
        """


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


DIGITS_SHOWN: Final = 12
"""Digest digits shown in messages."""
_DIGITS_IN_FILE_NAMES: Final = 16


def prompt_digest(request: CompletionRequest) -> str:
    """Return the SHA-256 of a request, in hexadecimal.

    It covers the UTF-8 canonical JSON (`files/json_text.py`) of an object with exactly the members `messages` (a list
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
