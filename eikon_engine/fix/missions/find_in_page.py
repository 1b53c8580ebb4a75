"""Find the matches of a selector in a stored page: CSS, or role with name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.divergence.identities import locate_all
from eikon_engine.divergence.selected import select
from eikon_engine.trace.mask import Mask, SelectorPart

if TYPE_CHECKING:
    from eikon_engine.divergence.identities import Located
    from eikon_engine.divergence.selected import Route
    from eikon_engine.trace.dom.tree import DomNode, FrameSnapshot

_ROLE: Final = re.compile(r'role=([a-z]+)\[name=(?:"([^"\\]+)"|\'([^\'\\]+)\')\]')


def matches(frame: FrameSnapshot, selector: str) -> tuple[Located, ...] | None:
    """Return the elements that a selector matches; None if its kind is unsupported."""
    role = _ROLE.fullmatch(selector)
    if role is not None:
        wanted = (role[1], role[2] or role[3])
        return tuple(each for each in locate_all(frame) if (each.role, each.name) == wanted)
    try:
        mask = Mask(name="wanted", reason="looked for", part=SelectorPart(selector=selector))
    except ValidationError:
        return None
    nodes = {id(_node(frame.root, route)) for route, _ in select(frame.root, [mask])}
    return tuple(each for each in locate_all(frame) if id(each.node) in nodes)


def _node(root: DomNode, route: Route) -> DomNode:
    for kind, place in route[1:]:  # the first part is the root
        root = ((root.shadow or ()) if kind == "shadow" else root.children)[place]
    return root
