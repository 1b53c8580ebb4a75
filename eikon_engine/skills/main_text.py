"""Find the main text of a page and read it block by block.

The score is a simplified Readability: a paragraph scores its parent, and its grandparent with half the weight.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.skills.document import INLINE_TAGS, TEXTLESS_TAGS, is_shadow_root, parent_element, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document

BlockKind: TypeAlias = Literal["heading", "paragraph", "item", "quote", "code", "caption"]

_PARAGRAPHS: Final = "p,pre,blockquote,td,section > br,div > br"
_MIN_TEXT_LENGTH: Final = 25
_MIN_SCORE: Final = 4.0
_MIN_SINGLE_SCORE: Final = 6.0
"""Minimum score if there is only one paragraph."""
_MAX_LENGTH_SCORE: Final = 3
_FURNITURE_TAGS: Final = frozenset({"nav", "aside", "footer", "form", "dialog", "menu", "button", "select", "figure"})
_FURNITURE_ROLES: Final = frozenset({"navigation", "complementary", "contentinfo", "dialog", "search", "menu"})
_FURNITURE_NAME: Final = re.compile(
    r"comment|sidebar|share|social|related|recommend|promo|sponsor|advert|\bads?\b|newsletter|subscribe|breadcrumb"
    r"|cookie|consent|footer|masthead|pagination|disqus|toolbar|byline|author-?(?:box|bio)|tags?\b|meta\b",
    re.IGNORECASE,
)
_CONTENT_NAME: Final = re.compile(r"article|body|content|entry|main|page|post|story|text|blog", re.IGNORECASE)
_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
_KINDS: Final[dict[str, BlockKind]] = {
    "li": "item",
    "dt": "item",
    "dd": "item",
    "pre": "code",
    "figcaption": "caption",
    "caption": "caption",
}
_MAX_LINK_RATIO: Final = 0.5
_COMMAS: Final = ",\u060c\u3001\uff0c"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a text."""

    kind: BlockKind
    level: int | None
    text: str


def find_main_text(document: Document) -> LexborNode | None:
    """Return the element that contains the main text; None if no element scores high enough.

    A single `<article>`, `<main>` or `itemprop=articleBody` with at least half of the best score is preferred.
    """
    points: dict[int, float] = {}
    counts: Counter[int] = Counter()
    nodes: dict[int, LexborNode] = {}
    for paragraph in _paragraphs(document):
        share = _score_paragraph(paragraph)
        parent = parent_element(paragraph) if share else None
        for weight in (1.0, 0.5, 0.25):
            if parent is None:
                break
            nodes[parent.mem_id] = parent
            counts[parent.mem_id] += 1
            points[parent.mem_id] = points.get(parent.mem_id, 0.0) + share * weight
            parent = parent_element(parent)
    enough = {
        key: found + _container_bonus(nodes[key])
        for key, found in points.items()
        if found >= (_MIN_SCORE if counts[key] > 1 else _MIN_SINGLE_SCORE)
    }
    if not enough:
        return None
    best = max(enough, key=lambda key: enough[key])
    return _marked_container(document, nodes[best], points[best], points) or nodes[best]


def read_blocks(root: LexborNode) -> Iterator[Block]:
    """Yield the headings, paragraphs, items, quotes, code and captions of an element in document order.

    Skips navigation, asides, forms and elements named like them, and blocks other than headings that are mostly links.
    """
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    while stack:
        node, quoted = stack.pop()
        tag = node.tag or ""
        if (
            node.mem_id != root.mem_id
            and (tag in TEXTLESS_TAGS or _is_page_furniture(node))
            and not is_shadow_root(node)
        ):
            continue
        inside = quoted or tag == "blockquote"
        if _holds_blocks(node):
            yield from _own_text(node, quoted=inside)
            stack.extend((child, inside) for child in reversed(list(node.iter())) if child.tag not in INLINE_TAGS)
            continue
        block = _block(node, quoted=inside)
        if block is not None:
            yield block


def _paragraphs(document: Document) -> list[LexborNode]:
    """Return paragraphs, and elements that separate their text by `<br>` instead."""
    found: dict[int, LexborNode] = {}
    for node in document.tree.css(_PARAGRAPHS):
        paragraph = parent_element(node) if node.tag == "br" else node
        if paragraph is not None:
            found.setdefault(paragraph.mem_id, paragraph)
    return list(found.values())


def _score_paragraph(paragraph: LexborNode) -> float:
    """Score a paragraph by its commas, its length and its share of text outside links."""
    text = text_of(paragraph)
    if len(text) < _MIN_TEXT_LENGTH or _is_inside_furniture(paragraph):
        return 0.0
    commas = sum(text.count(comma) for comma in _COMMAS)
    return (1 + commas + min(len(text) // 100, _MAX_LENGTH_SCORE)) * (1 - min(1.0, _link_ratio(paragraph, text)))


def _container_bonus(node: LexborNode) -> float:
    names = _names(node)
    named = (5.0 if _CONTENT_NAME.search(names) else 0.0) - (10.0 if _FURNITURE_NAME.search(names) else 0.0)
    return named + (5.0 if node.tag in {"article", "main"} else 0.0)


def _names(node: LexborNode) -> str:
    attributes = node.attributes
    return f"{attributes.get('class') or ''} {attributes.get('id') or ''}"


def _is_inside_furniture(node: LexborNode) -> bool:
    current: LexborNode | None = node
    while current is not None and current.tag not in {"body", "article", "main"}:
        if _is_page_furniture(current):
            return True
        current = parent_element(current)
    return False


def _is_page_furniture(node: LexborNode) -> bool:
    if node.tag in _FURNITURE_TAGS and node.tag != "figure":
        return True
    attributes = node.attributes
    if (attributes.get("role") or "").lower() in _FURNITURE_ROLES or "hidden" in attributes:
        return True
    names = _names(node)
    return bool(_FURNITURE_NAME.search(names)) and not _CONTENT_NAME.search(names) and node.tag != "body"


def _link_ratio(node: LexborNode, text: str) -> float:
    return sum(len(text_of(link)) for link in node.css("a")) / len(text) if text else 0.0


def _marked_container(document: Document, best: LexborNode, most: float, points: dict[int, float]) -> LexborNode | None:
    for selector in ("[itemprop=articleBody]", "article", "main,[role=main]"):
        found = document.tree.css(selector)
        if len(found) == 1 and points.get(found[0].mem_id, 0.0) >= most / 2:
            return found[0]
    current = parent_element(best)
    while current is not None:
        if current.tag == "article":
            return current
        current = parent_element(current)
    return None


def _holds_blocks(node: LexborNode) -> bool:
    return node.tag not in _LEVELS and any(
        child.tag not in INLINE_TAGS and child.tag != "br" for child in _children_through_inline(node)
    )


def _children_through_inline(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the children of an element, and those of its inline children."""
    for child in node.iter():
        if child.tag in INLINE_TAGS and child.tag != "a":
            yield from child.iter()
        yield child


def _own_text(node: LexborNode, *, quoted: bool) -> Iterator[Block]:
    """Yield the inline text of an element that also contains blocks."""
    parts: list[str] = []
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            parts.append(child.text_content or "")
        elif child.tag in INLINE_TAGS:
            parts.append(text_of(child))
    text = " ".join(" ".join(parts).split())
    if len(text) >= _MIN_TEXT_LENGTH:
        yield Block(kind="quote" if quoted else _KINDS.get(node.tag or "", "paragraph"), level=None, text=text)


def _block(node: LexborNode, *, quoted: bool) -> Block | None:
    tag = node.tag or ""
    text = text_of(node)
    if not text:
        return None
    level = _LEVELS.get(tag)
    if level is not None:
        return Block(kind="heading", level=level, text=text)
    if _link_ratio(node, text) > _MAX_LINK_RATIO:
        return None
    return Block(kind="quote" if quoted else _KINDS.get(tag, "paragraph"), level=None, text=text)
