"""Build targets of imported actions: the best selector, the others as alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.importers.mission import Gathering
    from eikon_engine.importers.selectors import Converted


def target_of(
    chosen: Converted, others: Iterable[Converted], gathered: Gathering, step: int, frames: tuple[str, ...] = ()
) -> Target:
    """Return the target of a step, and note a weak selector."""
    if chosen.is_weak:
        gathered.note(step, f"the target {chosen.text} is weak: it depends on position only")
    alternatives = dict.fromkeys(each.text for each in others if each.text != chosen.text)
    return Target(selector=chosen.text, frames=frames, alternatives=tuple(alternatives))
