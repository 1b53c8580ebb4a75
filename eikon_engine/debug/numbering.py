"""The number that each event of a session is shown with: the iteration it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.iterations import Iterations, tells_where
from eikon_engine.outcome.read_events import EventsReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.events import JournalLine


class Numbering:
    """Number the events of a session as they come; mutable, because it counts."""

    def __init__(self, events: Path | None = None) -> None:
        """Begin with the first event, or, where there is a file, in the midst of what is written to it."""
        self._events = events
        self._iterations: Iterations | None = None

    def of(self, line: JournalLine) -> int:
        """Return the iteration that a line belongs to; each line is to be given, in their order.

        Raises:
            EventsError: what happened before the first one cannot be read.
        """
        if self._iterations is None:
            self._iterations = Iterations()
            for earlier in self._before(line):
                self._iterations.at(earlier.event)
        return self._iterations.at(line.event)

    def _before(self, line: JournalLine) -> Iterator[JournalLine]:
        """Yield what happened before, unless the line tells by itself where the session is."""
        if self._events is None or tells_where(line.event):
            return
        for read in EventsReader(str(self._events)).feed(self._events.read_bytes()):
            for earlier in read.lines:
                if earlier.sequence >= line.sequence:
                    return
                yield earlier
