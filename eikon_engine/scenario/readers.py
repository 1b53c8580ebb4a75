"""Observers of tool calls and model responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eikon_engine.completions import Answered
    from eikon_engine.scenario.calls import CallAnswered, CallMade


class CallReader(Protocol):
    """Observe the calls of tools and models."""

    def called(self, made: CallMade) -> None:
        """Handle a tool call before its execution."""

    def answered(self, answered: CallAnswered) -> None:
        """Handle a finished tool call."""

    def completed(self, answered: Answered) -> None:
        """Handle the response of a model."""


class CallReaders:
    """Forward calls to several readers, in order."""

    def __init__(self, *readers: CallReader) -> None:
        """Start with these readers."""
        self._readers = list(readers)

    def add(self, reader: CallReader) -> None:
        """Add a reader."""
        self._readers.append(reader)

    def called(self, made: CallMade) -> None:
        """Forward a tool call."""
        for reader in self._readers:
            reader.called(made)

    def answered(self, answered: CallAnswered) -> None:
        """Forward a finished tool call."""
        for reader in self._readers:
            reader.answered(answered)

    def completed(self, answered: Answered) -> None:
        """Forward the response of a model."""
        for reader in self._readers:
            reader.completed(answered)
