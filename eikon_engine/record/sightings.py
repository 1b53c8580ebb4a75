"""What one target of a call was before the call had its effect, where it was not ready when the call began.

It was looked for again and again while the call was under way, and once when it had ended. An element that was hit in
its document is what the call acted on; as it was seen last before that, or as its document remembers it. An element
whose document has gone was acted on if no other one can have been. What is not certain is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.browser.attached.element import Element, Sought


@dataclass(slots=True)
class Sightings:
    """Everything that was seen of a target, by the document it was seen in; mutable, because each look adds to it."""

    _early: dict[float, Element] = field(default_factory=dict)
    """As it was seen last before anything was hit."""
    _before: dict[float, Element] = field(default_factory=dict)
    """As it was before it was hit, where its document remembers it."""
    _hit: set[float] = field(default_factory=set)
    """Documents in which it was hit."""

    is_blind: bool = True
    """Whether no document could be asked."""

    def add(self, seen: Sought) -> None:
        """Take what was seen while the call was under way."""
        self._add_hit(seen)
        if seen.element.count and seen.is_early:
            self._early[seen.document] = seen.element

    def settle(self, last: Sought | None, *, is_felt: bool) -> Element | None:
        """Return what the target was; None if that is not certain.

        `last` is what was seen after the call, None if nothing could be. `is_felt` says that the call did something
        that its element cannot have missed, so that one which is still there and was not hit was not acted on.
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
