"""Determine which element a call acted on when its target was not ready at the start of the call.

The target is probed repeatedly while the call runs and once more after it ended. An element that received an event is
the one the call acted on; it is described as it was last seen before that event, or as its document remembers it. If
the document is gone, its element counts only if no other element qualifies. An ambiguous result is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.browser.attached.element import Element, Sought


@dataclass(slots=True)
class Sightings:
    """Collect what the probes saw of one target, by document; mutable, every probe adds to it."""

    _early: dict[float, Element] = field(default_factory=dict)
    """Last description before any event in the document."""
    _before: dict[float, Element] = field(default_factory=dict)
    """Description before the element was hit, where its document remembers it."""
    _hit: set[float] = field(default_factory=set)
    """Documents in which the target received an event."""

    is_blind: bool = True
    """Whether no document could be probed."""

    def add(self, seen: Sought) -> None:
        """Add what a probe saw while the call was running."""
        self._add_hit(seen)
        if seen.element.count and seen.is_early:
            self._early[seen.document] = seen.element

    def settle(self, last: Sought | None, *, is_felt: bool) -> Element | None:
        """Return the element the call acted on; None if that is ambiguous.

        `last` is the probe after the call, None if it failed. `is_felt` means that a successful call always dispatches
        an event to its element, so an element that is still there without one was not the target.
        """
        if last is not None:
            self._add_hit(last)
        found = self._hit or set(self._early)
        if not self._hit and is_felt and last is not None:
            found.discard(last.document)
        if len(found) != 1:
            return None
        document = found.pop()
        return self._early.get(document) or self._before.get(document)

    def _add_hit(self, seen: Sought) -> None:
        self.is_blind = False
        if seen.was_hit:
            self._hit.add(seen.document)
        if seen.before is not None and seen.element.count == 1:
            self._before[seen.document] = replace(seen.element, identity=seen.before)
