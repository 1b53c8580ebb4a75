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


def nodes_on_path(root: DomNode, path: str) -> tuple[DomNode, ...]:
    """Return the nodes from the root of a document to the one at a path, without shadow roots; empty if it has none."""
    nodes: list[DomNode] = []
    siblings: tuple[DomNode, ...] = (root,)
    for step in path.split(" > "):
        if step == "#shadow" and nodes:
            siblings = nodes[-1].shadow or ()
            continue
        counting = tuple(filter(is_significant, siblings))
        named = dict(zip(sibling_steps(counting), counting, strict=True))
        if step not in named:
            return ()
        nodes.append(named[step])
        siblings = nodes[-1].children
    return tuple(nodes)


def append_step(path: str, step: str) -> str:
    """Append a step to a path; the only text of an element has the path of the element."""
    return path if step == "text()" else f"{path} > {step}"
