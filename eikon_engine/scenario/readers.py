"""Several readers of calls as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eikon_engine.completions import Answered
    from eikon_engine.scenario.calls import CallAnswered, CallMade


class CallReader(Protocol):
    """Hear of the calls of tools and models."""

    def called(self, made: CallMade) -> None:
        """Hear of a tool call before anything is executed."""

    def answered(self, answered: CallAnswered) -> None:
        """Hear of the answer of a tool."""

    def completed(self, answered: Answered) -> None:
        """Hear of the answer of a model."""


class CallReaders:
    """Tell each of several readers, in the order in which they came."""

    def __init__(self, *readers: CallReader) -> None:
        """Begin with these."""
        self._readers = list(readers)

    def add(self, reader: CallReader) -> None:
        """Tell one more from now on."""
        self._readers.append(reader)

    def called(self, made: CallMade) -> None:
        """Tell of a tool call."""
        for reader in self._readers:
            reader.called(made)

    def answered(self, answered: CallAnswered) -> None:
        """Tell of the answer of a tool."""
        for reader in self._readers:
            reader.answered(answered)

    def completed(self, answered: Answered) -> None:
        """Tell of the answer of a model."""
        for reader in self._readers:
            reader.completed(answered)
