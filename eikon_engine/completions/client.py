"""What can be asked for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eikon_engine.completions.completion import Completion, CompletionRequest


class CompletionClient(Protocol):
    """Answer prompts, from any number of threads at a time."""

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the answer; it is asked for once, whatever happens.

        Raises:
            CompletionError: the model gave none; its subclasses say why.
            NoReplayDataError: answers come from a recording, which has none for this request.
        """
