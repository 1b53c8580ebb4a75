"""Find the nodes that masks select with CSS selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from eikon_engine.trace.dom.css import CssSelector, element_positions
from eikon_engine.trace.mask import SelectorPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.trace.dom.css import ElementPosition
    from eikon_engine.trace.dom.tree import DomNode
    from eikon_engine.trace.mask import Mask

NodeRoute: TypeAlias = tuple[tuple[Literal["child", "shadow"], int], ...]
"""Path from the root to a node: at each level, the list of nodes and the index in it."""


def select_nodes(root: DomNode, masks: Sequence[Mask]) -> Iterator[tuple[NodeRoute, list[Mask]]]:
    """Yield each node that masks select, with its masks; shadow roots are included."""
    selectors = [(mask, CssSelector(mask.part.selector)) for mask in masks if isinstance(mask.part, SelectorPart)]
    waiting: list[tuple[NodeRoute, Literal["child", "shadow"], tuple[DomNode, ...], ElementPosition | None]]
    waiting = [((), "child", (root,), None)] if selectors else []
    while waiting:
        route, kind, nodes, parent = waiting.pop()
        places = [place for place, node in enumerate(nodes) if not node.is_text]
        for place, spot in zip(places, element_positions(nodes, parent), strict=True):
            way = (*route, (kind, place))
            here = [mask for mask, selector in selectors if selector.matches(spot)]
            if here:
                yield way, here
            if spot.node.children:
                waiting.append((way, "child", spot.node.children, spot))
            if spot.node.shadow:
                waiting.append((way, "shadow", spot.node.shadow, None))
