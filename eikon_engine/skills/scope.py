"""The parts of a page that a skill reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import SkillError
from eikon_engine.skills.document import parent_element

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document


def select_scopes(document: Document, selector: str | None, skill: str) -> tuple[LexborNode, ...]:
    """Return the outermost elements that match the selector, or the root of the page if it is None.

    Raises:
        SkillError: the selector is not standard CSS, or matches nothing.
    """
    if selector is None:
        root = document.tree.root
        return () if root is None else (root,)
    found = document.select(selector, f"{skill}: parameter 'selector'")
    if not found:
        message = f"{skill}: no element matches selector {selector!r}"
        raise SkillError(message)
    chosen = {node.mem_id for node in found}
    return tuple(node for node in found if not _is_inside(node, chosen))


def _is_inside(node: LexborNode, chosen: set[int]) -> bool:
    current = parent_element(node)
    while current is not None:
        if current.mem_id in chosen:
            return True
        current = parent_element(current)
    return False
