"""An offline client that returns the last message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.llm.completion import Completion
from eikon_engine.trace.execution import TokenUsage

if TYPE_CHECKING:
    from eikon_engine.llm.completion import CompletionRequest

ECHO_MODEL = "echo"


class EchoClient:
    """Return the content of the last message; deterministic and offline.

    Tokens are whitespace-separated words.
    """

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the last message."""
        text = request.messages[-1].content
        usage = TokenUsage(
            prompt_tokens=sum(len(each.content.split()) for each in request.messages),
            completion_tokens=len(text.split()),
        )
        return Completion(text=text, model=request.model or ECHO_MODEL, usage=usage, finish_reason="stop")
