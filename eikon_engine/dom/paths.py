"""Readable and stable paths of nodes in a stored document, such as `html > body > li:nth(2)`."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from eikon_engine.dom.tree import is_significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.dom.tree import DomNode

_PLAIN_ID: Final = re.compile(r"[A-Za-z_][\w\-]*")


def sibling_steps(siblings: Sequence[DomNode]) -> tuple[str, ...]:
    """Name siblings by tag and id, or by tag and position among siblings of the same tag."""
    total = Counter(node.tag for node in siblings)
    seen: Counter[str] = Counter()
    names: list[str] = []
    for node in siblings:
        seen[node.tag] += 1
        step = "text()" if node.is_text else node.tag
        identity = "" if node.is_text else node.attribute("id") or ""
        if _PLAIN_ID.fullmatch(identity):
            step += f"#{identity}"
        elif total[node.tag] > 1:
            step += f":nth({seen[node.tag]})"
        names.append(step)
    return tuple(names)


class NodesByPath:
    """Finds nodes of one document by their paths; names the children of each node once."""

    def __init__(self, root: DomNode) -> None:
        """Find nodes below, and including, the root of a document."""
        self._root = root
        self._named: dict[tuple[int, bool], dict[str, DomNode]] = {}

    def find(self, path: str) -> tuple[DomNode, ...]:
        """Return the nodes from the root to the one at a path, without shadow roots; empty if there is none."""
        nodes: list[DomNode] = []
        is_shadow = False
        for step in path.split(" > "):
            if step == "#shadow" and nodes:
                is_shadow = True
                continue
            named = self._children(nodes[-1] if nodes else None, in_shadow=is_shadow)
            if step not in named:
                return ()
            nodes.append(named[step])
            is_shadow = False
        return tuple(nodes)

    def _children(self, parent: DomNode | None, *, in_shadow: bool) -> dict[str, DomNode]:
        key = id(parent), in_shadow
        if key not in self._named:
            nodes = (self._root,) if parent is None else (parent.shadow or ()) if in_shadow else parent.children
            counting = tuple(filter(is_significant, nodes))
            self._named[key] = dict(zip(sibling_steps(counting), counting, strict=True))
        return self._named[key]


def append_step(path: str, step: str) -> str:
    """Append a step to a path; the only text of an element has the path of the element."""
    return path if step == "text()" else f"{path} > {step}"
