"""Token counts of a response of a language model."""

from __future__ import annotations

from pydantic import Field

from eikon_engine.trace.record import FileModel


class TokenUsage(FileModel):
    """Tokens of one response; None if the model did not report them."""

    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
