"""Number what is appended to a recording."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.network.moment import Moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.network.store import NetworkRecording


class NumberAllocator:
    """Allocate ordinals, occurrences and delivery positions after those of a recording; mutable."""

    def __init__(self, *recordings: NetworkRecording) -> None:
        """Start after all of the recordings, which are the same network as stored and as replayed."""
        exchanges = [each for recording in recordings for each in recording.exchanges]
        self._ordinal = max((each.ordinal for each in exchanges), default=-1)
        self._order = max((order for recording in recordings for order in _delivery_orders(recording)), default=-1)
        self._occurrences: Counter[str] = Counter()
        for each in exchanges:
            self._occurrences[each.key] = max(self._occurrences[each.key], each.occurrence + 1)

    def next_ordinal(self) -> int:
        """Return the ordinal of the next request."""
        self._ordinal += 1
        return self._ordinal

    def next_occurrence(self, key: str) -> int:
        """Return the occurrence of the next request with a key."""
        self._occurrences[key] += 1
        return self._occurrences[key] - 1

    def next_moment(self, at_ms: float, phase: int) -> Moment:
        """Return the moment of the next delivery, at a page time and in a phase."""
        self._order += 1
        return Moment(order=self._order, at_ms=max(0, round(at_ms)), phase=phase)


def _delivery_orders(recording: NetworkRecording) -> Iterator[int]:
    for exchange in recording.exchanges:
        if exchange.completion is not None:
            yield exchange.completion
        yield from (piece.moment.order for piece in exchange.pieces)
    yield from (event.moment.order for event in recording.sockets)
