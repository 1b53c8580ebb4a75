"""Find the matches of a selector in a stored page: CSS, or role with name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.divergence.identities import locate_elements
from eikon_engine.divergence.selected import select_nodes
from eikon_engine.trace.mask import Mask, SelectorPart

if TYPE_CHECKING:
    from eikon_engine.divergence.identities import LocatedElement
    from eikon_engine.divergence.selected import NodeRoute
    from eikon_engine.trace.dom.tree import DomNode, FrameSnapshot

_ROLE_SELECTOR: Final = re.compile(r'role=([a-z]+)\[name=(?:"([^"\\]+)"|\'([^\'\\]+)\')\]')


def find_matches(frame: FrameSnapshot, selector: str) -> tuple[LocatedElement, ...] | None:
    """Return the elements that a selector matches; None if its kind is unsupported."""
    role = _ROLE_SELECTOR.fullmatch(selector)
    if role is not None:
        wanted = (role[1], role[2] or role[3])
        return tuple(each for each in locate_elements(frame) if (each.role, each.name) == wanted)
    try:
        mask = Mask(name="wanted", reason="looked for", part=SelectorPart(selector=selector))
    except ValidationError:
        return None
    nodes = {id(_node_at(frame.root, route)) for route, _ in select_nodes(frame.root, [mask])}
    return tuple(each for each in locate_elements(frame) if id(each.node) in nodes)


def _node_at(root: DomNode, route: NodeRoute) -> DomNode:
    for kind, place in route[1:]:  # the first part is the root
        root = ((root.shadow or ()) if kind == "shadow" else root.children)[place]
    return root
