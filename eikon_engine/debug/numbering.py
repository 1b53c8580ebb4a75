"""The iteration shown with each event of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.iterations import IterationCounter, has_iteration
from eikon_engine.outcome.read_events import EventsParser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.events import EventLine


class EventNumbering:
    """Number the events of a session as they arrive."""

    def __init__(self, events: Path | None = None) -> None:
        """Start with the first event, or, given a file, in the middle of its stream."""
        self._events = events
        self._iterations: IterationCounter | None = None

    def iteration_of(self, line: EventLine) -> int:
        """Return the iteration of a line; pass every line, in order.

        Raises:
            EventsError: the earlier events cannot be read.
        """
        if self._iterations is None:
            self._iterations = IterationCounter()
            for earlier in self._earlier_lines(line):
                self._iterations.advance(earlier.event)
        return self._iterations.advance(line.event)

    def _earlier_lines(self, line: EventLine) -> Iterator[EventLine]:
        """Yield the earlier events, unless the line itself states the iteration."""
        if self._events is None or has_iteration(line.event):
            return
        for read in EventsParser(str(self._events)).feed(self._events.read_bytes()):
            for earlier in read.lines:
                if earlier.sequence >= line.sequence:
                    return
                yield earlier
