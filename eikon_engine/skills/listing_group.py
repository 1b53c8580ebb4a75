"""Detect the listing of a page: the group of similar siblings that is most likely its cards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from eikon_engine.skills.document import Document, is_shadow_root, parent_element, selector_of, text_of

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

CARD_CONTENT: Final = "a[href],h1,h2,h3,h4,h5,h6,[role=heading]"
_PAGE_FURNITURE: Final = "nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],[role=menu]"
_NON_CARD_TAGS: Final = frozenset(
    [
        "html",
        "head",
        "body",
        "a",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "td",
        "th",
        "tbody",
        "thead",
        "tfoot",
        "option",
        "br",
        "input",
        "button",
        "label",
        "img",
        "picture",
    ]
)
_STATE_CLASSES: Final = frozenset({"odd", "even", "first", "last", "active", "selected", "current"})
_PLAIN_CLASS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN_TAG: Final = re.compile(r"[a-z][a-z0-9-]*")
_MIN_CARDS: Final = 2

_Signature = tuple[int, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Group:
    tag: str
    classes: tuple[str, ...]
    members: tuple[LexborNode, ...]
    order: int


def find_listing(document: Document) -> str | None:
    """Return a CSS selector of the cards of a listing; None if the page has no repeated elements.

    Candidates are siblings of one tag and one set of classes (except state and `--modifier` classes) that each
    contain a link or a heading, outside navigation, header, footer and aside. Groups rank by: at least half of the
    members have content besides links; then size; then text length; then document order.
    """
    groups = _groups(document)
    candidates = [group for group in groups if _has_own_content(group)] or groups
    if not candidates:
        return None
    largest = max(len(group.members) for group in candidates)
    tied = [group for group in candidates if len(group.members) == largest]
    best = tied[0] if len(tied) == 1 else max(tied, key=lambda group: (_text_length(group), -group.order))
    return _selector(document, best)


def _groups(document: Document) -> list[_Group]:
    outside = {node.mem_id for node in document.tree.css(_PAGE_FURNITURE)}
    members: dict[_Signature, dict[int, LexborNode]] = {}
    seen: set[int] = set()
    for mark in document.tree.css(CARD_CONTENT):
        chain: dict[int, tuple[LexborNode, LexborNode | None]] = {}
        current: LexborNode | None = mark
        while current is not None and (identity := current.mem_id) not in seen and identity not in outside:
            parent = current.parent
            chain[identity] = (current, parent)
            seen.add(identity)
            current = parent if parent is not None and parent.is_element_node else None
        if current is not None and current.mem_id in outside:
            outside.update(chain)
            continue
        for identity, (node, parent) in chain.items():
            tag = node.tag or ""
            if tag not in _NON_CARD_TAGS and parent is not None and not is_shadow_root(node):
                signature = (parent.mem_id, tag, _stable_classes(node.attributes.get("class") or ""))
                members.setdefault(signature, {})[identity] = node
    alike = [
        (signature, tuple(found.values())) for signature, found in members.items() if _is_repeated(signature, found)
    ]
    return [_Group(tag, classes, found, order) for order, ((_, tag, classes), found) in enumerate(alike)]


def _is_repeated(signature: _Signature, found: dict[int, LexborNode]) -> bool:
    return len(found) >= _MIN_CARDS and bool(_PLAIN_TAG.fullmatch(signature[1]))


@lru_cache(maxsize=1024)
def _stable_classes(classes: str) -> tuple[str, ...]:
    tokens = classes.split()
    return tuple(sorted({token for token in tokens if token not in _STATE_CLASSES and "--" not in token}))


def _has_own_content(group: _Group) -> bool:
    enough = (len(group.members) + 1) // 2
    rich = filter(_has_content_besides_links, group.members)
    return sum(1 for _ in islice(rich, enough)) == enough


def _has_content_besides_links(node: LexborNode) -> bool:
    return bool(node.css_first("img,h1,h2,h3,h4,h5,h6,[role=heading]") or text_of(node, excluded=frozenset({"a"})))


def _text_length(group: _Group) -> int:
    return sum(len(text_of(member)) for member in group.members)


def _selector(document: Document, group: _Group) -> str:
    parent = parent_element(group.members[0])
    classes = "".join(f".{name}" for name in group.classes if _PLAIN_CLASS.fullmatch(name))
    step = f"{group.tag}{classes}"
    if parent is None:
        return step
    joint = " " if is_shadow_root(parent) else " > "
    return f"{selector_of(document, parent, shadow_combinator=' ').removesuffix(' ')}{joint}{step}"
