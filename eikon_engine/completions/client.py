"""The interface of model clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eikon_engine.completions.completion import Completion, CompletionRequest


class CompletionClient(Protocol):
    """Complete prompts; thread-safe."""

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the completion; the model is asked at most once.

        Raises:
            CompletionError: the model failed; subclasses give the reason.
            NoReplayDataError: completions come from a recording that has none for this request.
        """
