"""Replay recorded responses and ask a model for missing ones."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.completions.client import CompletionClient
    from eikon_engine.completions.completion import Completion, CompletionRequest
    from eikon_engine.completions.replay import ReplayClient


class AppendingClient:
    """Serve recorded responses first; a recorded failure is raised and not requested again."""

    def __init__(self, recorded: ReplayClient, live: CompletionClient) -> None:
        """Ask `capturing` when `recorded` has no response left for a prompt."""
        self._recorded = recorded
        self._live = live

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded completion, else a new one.

        Raises:
            CompletionError: the model failed, when recorded or now.
        """
        found = self._recorded.find(request)
        return self._live.complete(request) if found is None else found


class LazyClient:
    """Create a client on first use: a run without requests needs neither key nor library."""

    def __init__(self, create: Callable[[], CompletionClient]) -> None:
        """Create the client with `make`, once."""
        self._create = create
        self._client: CompletionClient | None = None
        self._lock = threading.Lock()

    def complete(self, request: CompletionRequest) -> Completion:
        """Ask the client.

        Raises:
            ModelClientMissingError: the client cannot be created.
            CompletionError: the model failed.
        """
        with self._lock:
            client = self._client = self._client or self._create()
        return client.complete(request)
