"""Name places in a document so that a person finds them, and so that they stay the same where the document does."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.trace.dom.tree import DomNode

_PLAIN_ID: Final = re.compile(r"[A-Za-z_][\w\-]*")


def steps(siblings: Sequence[DomNode]) -> tuple[str, ...]:
    """Name each of some siblings: by tag and id, or by tag and its number among its like."""
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


def join(path: str, step: str) -> str:
    """Go one step down; the only text of an element needs no step of its own."""
    return path if step == "text()" else f"{path} > {step}"
