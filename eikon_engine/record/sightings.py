"""Determine which element a call acted on when its target was not ready at the start of the call.

The target is probed repeatedly while the call runs and once more after it ended. An element that received an event is
the one the call acted on; it is described as it was last seen before that event, or as its document remembers it. If
the document is gone, its element counts only if no other element qualifies. An ambiguous result is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.browser.attached.element import ElementSnapshot, TargetSnapshot


@dataclass(slots=True)
class TargetCandidates:
    """Collect what the probes saw of one target, by document; mutable, every probe adds to it."""

    _before_events: dict[float, ElementSnapshot] = field(default_factory=dict)
    """Last description before any event in the document."""
    _before_hit: dict[float, ElementSnapshot] = field(default_factory=dict)
    """Description before the element was hit, where its document remembers it."""
    _hit_documents: set[float] = field(default_factory=set)
    """Documents in which the target received an event."""

    is_unprobed: bool = True
    """Whether no document could be probed."""

    def add(self, snapshot: TargetSnapshot) -> None:
        """Add what a probe saw while the call was running."""
        self._add_hit(snapshot)
        if snapshot.element.count and snapshot.is_before_any_hit:
            self._before_events[snapshot.document] = snapshot.element

    def resolve(self, final: TargetSnapshot | None, *, must_be_hit: bool) -> ElementSnapshot | None:
        """Return the element the call acted on; None if that is ambiguous.

        `last` is the probe after the call, None if it failed. `is_felt` means that a successful call always dispatches
        an event to its element, so an element that is still there without one was not the target.
        """
        if final is not None:
            self._add_hit(final)
        found = self._hit_documents or set(self._before_events)
        if not self._hit_documents and must_be_hit and final is not None:
            found.discard(final.document)
        if len(found) != 1:
            return None
        document = found.pop()
        return self._before_events.get(document) or self._before_hit.get(document)

    def _add_hit(self, snapshot: TargetSnapshot) -> None:
        self.is_unprobed = False
        if snapshot.was_hit:
            self._hit_documents.add(snapshot.document)
        if snapshot.identity_before_hit is not None and snapshot.element.count == 1:
            self._before_hit[snapshot.document] = replace(snapshot.element, identity=snapshot.identity_before_hit)
