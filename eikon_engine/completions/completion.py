"""What a language model is asked and what it answers, in the same words for every client."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.record import FiniteJson, Record
from eikon_engine.trace.token_usage import TokenUsage

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Message(Record):
    """One message of a prompt."""

    role: Role
    content: str


class CompletionRequest(Record):
    """One question to a model."""

    metric_id: str = Field(min_length=1)
    """What the answer is for: the id of a step, the name of a skill."""
    messages: tuple[Message, ...] = Field(min_length=1)
    model: str | None = None
    """None where the client chooses it."""
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    """As the model takes them: temperature, max_tokens, seed …"""
    file_path: str = ""
    """File the question is about, as people know it; nothing is read from it."""


class Completion(Record):
    """One answer of a model."""

    text: str
    model: str | None = None
    """The model that answered, which may be another name than was asked for."""
    usage: TokenUsage = TokenUsage()
    finish_reason: str | None = None
    """Why the answer ends where it ends, in the word of the model: stop, length …"""
