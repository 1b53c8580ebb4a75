"""Observers of tool calls and model responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eikon_engine.completions import ServedResponse
    from eikon_engine.scenario.calls import ToolCallEnd, ToolCallStart


class CallObserver(Protocol):
    """Observe the calls of tools and models."""

    def on_call_started(self, made: ToolCallStart) -> None:
        """Handle a tool call before its execution."""

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Handle a finished tool call."""

    def on_completion(self, answered: ServedResponse) -> None:
        """Handle the response of a model."""


class CallObservers:
    """Forward calls to several readers, in order."""

    def __init__(self, *readers: CallObserver) -> None:
        """Start with these readers."""
        self._readers = list(readers)

    def add(self, reader: CallObserver) -> None:
        """Add a reader."""
        self._readers.append(reader)

    def on_call_started(self, made: ToolCallStart) -> None:
        """Forward a tool call."""
        for reader in self._readers:
            reader.on_call_started(made)

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Forward a finished tool call."""
        for reader in self._readers:
            reader.on_call_finished(answered)

    def on_completion(self, answered: ServedResponse) -> None:
        """Forward the response of a model."""
        for reader in self._readers:
            reader.on_completion(answered)
