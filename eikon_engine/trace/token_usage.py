"""What an answer of a language model cost."""

from __future__ import annotations

from pydantic import Field

from eikon_engine.trace.record import Record


class TokenUsage(Record):
    """Tokens of one answer; None where the model did not say."""

    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
