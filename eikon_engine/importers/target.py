"""Targets of imported actions: the best selector, and the others as alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.importers.selectors import best
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.importers.mission import Gathering
    from eikon_engine.importers.selectors import Converted


def target_of(
    selectors: Sequence[Converted], gathered: Gathering, step: int, frames: tuple[str, ...] = ()
) -> Target | None:
    """Return the target of a step; None without a selector."""
    chosen = best(selectors)
    if chosen is None:
        return None
    if chosen.is_weak:
        gathered.note(step, f"the target {chosen.text} is weak: it names an element by its place alone")
    others = dict.fromkeys(each.text for each in selectors if each.text != chosen.text)
    return Target(selector=chosen.text, frames=frames, alternatives=tuple(others))
