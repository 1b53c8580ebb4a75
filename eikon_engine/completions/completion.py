"""Requests to language models and their completions, the same for every client."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.record import FileModel, FiniteJson
from eikon_engine.trace.token_usage import TokenUsage

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
    """File the request is about, for display only; it is not read."""


class Completion(FileModel):
    """One completion of a model."""

    text: str
    model: str | None = None
    """The model that responded; may differ from the requested name."""
    usage: TokenUsage = TokenUsage()
    finish_reason: str | None = None
    """Why the completion ends, as reported by the model: stop, length …"""
