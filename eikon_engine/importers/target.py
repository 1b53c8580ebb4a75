"""Build targets of imported actions: the best selector, the others as alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.importers.mission import MissionBuilder
    from eikon_engine.importers.selectors import RankedSelector


def build_target(
    selector: RankedSelector,
    others: Iterable[RankedSelector],
    builder: MissionBuilder,
    step: int,
    frames: tuple[str, ...] = (),
) -> Target:
    """Return the target of a step, and note a weak selector."""
    if selector.is_weak:
        builder.add_note(step, f"the target {selector.text} is weak: it depends on position only")
    alternatives = dict.fromkeys(each.text for each in others if each.text != selector.text)
    return Target(selector=selector.text, frames=frames, alternatives=tuple(alternatives))
