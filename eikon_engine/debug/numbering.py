"""The iteration shown with each event of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.iterations import Iterations, tells_where
from eikon_engine.outcome.read_events import EventsReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.events import JournalLine


class Numbering:
    """Number the events of a session as they arrive."""

    def __init__(self, events: Path | None = None) -> None:
        """Start with the first event, or, given a file, in the middle of its stream."""
        self._events = events
        self._iterations: Iterations | None = None

    def of(self, line: JournalLine) -> int:
        """Return the iteration of a line; pass every line, in order.

        Raises:
            EventsError: the earlier events cannot be read.
        """
        if self._iterations is None:
            self._iterations = Iterations()
            for earlier in self._before(line):
                self._iterations.at(earlier.event)
        return self._iterations.at(line.event)

    def _before(self, line: JournalLine) -> Iterator[JournalLine]:
        """Yield the earlier events, unless the line itself states the iteration."""
        if self._events is None or tells_where(line.event):
            return
        for read in EventsReader(str(self._events)).feed(self._events.read_bytes()):
            for earlier in read.lines:
                if earlier.sequence >= line.sequence:
                    return
                yield earlier
