"""Answer from recorded responses, and ask a model for what was not recorded."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.completions.client import CompletionClient
    from eikon_engine.completions.completion import Completion, CompletionRequest
    from eikon_engine.completions.replay import ReplayExecutor


class AppendingClient:
    """Give what is recorded first; a recorded failure is one, and is not asked for again."""

    def __init__(self, recorded: ReplayExecutor, capturing: CompletionClient) -> None:
        """Ask `capturing` when `recorded` has nothing left for a prompt."""
        self._recorded = recorded
        self._capturing = capturing

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded answer, else a new one.

        Raises:
            CompletionError: the model failed, then or now.
        """
        found = self._recorded.find(request)
        return self._capturing.complete(request) if found is None else found


class ClientOnDemand:
    """Make a client when it is asked for the first time: a run that asks nothing needs neither key nor library."""

    def __init__(self, make: Callable[[], CompletionClient]) -> None:
        """Make it with `make`, once."""
        self._make = make
        self._made: CompletionClient | None = None
        self._lock = threading.Lock()

    def complete(self, request: CompletionRequest) -> Completion:
        """Ask the client.

        Raises:
            ModelClientMissingError: there is none.
            CompletionError: it gave no answer.
        """
        with self._lock:
            client = self._made = self._made or self._make()
        return client.complete(request)
