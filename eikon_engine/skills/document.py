"""A stored page, parsed: selectors, text and absolute URLs for skills."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from eikon_engine.errors import SkillError

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.skill import SkillInput

SHADOW_ATTRIBUTE: Final = "shadowrootmode"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_ABSOLUTE_URL: Final = re.compile(r"https?://[^\s/?#\[\]]", re.IGNORECASE)
_ORIGIN: Final = re.compile(r"https?://[^\s/?#\[\]]+(?=[/?#]|$)")
_ROOT_RELATIVE_URL: Final = re.compile(r"(?:/[\w%~+,=-][\w%~+,=.-]*)+/?(?:\?[\w%~+,=&.-]+)?")
"""URL paths that only need the origin prepended; all others go through `urljoin`."""
_INVISIBLE: Final = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]")
TEXTLESS_TAGS: Final = frozenset({"script", "style", "noscript", "template", "head"})
INLINE_TAGS: Final = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "output",
        "q",
        "s",
        "samp",
        "slot",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
        "template",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One parsed page: its tree with shadow roots inlined, and the base URL of its links."""

    tree: LexborHTMLParser
    url: str
    """URL of the page."""
    base_url: str
    """Base URL of relative URLs."""
    origin: str
    """Scheme and host of the base URL; empty if it has none."""
    site_prefix: str
    """Prefix of URLs of the page's own site; empty if relative URLs lead to another site."""

    def select(self, css: str, purpose: str) -> tuple[LexborNode, ...]:
        """Return the elements a CSS selector matches, in document order.

        Raises:
            SkillError: the selector is not standard CSS; `purpose` names its origin in the message.
        """
        try:
            return tuple(self.tree.css(css))
        except SelectolaxError as error:
            raise SkillError(_selector_error(css, purpose)) from error

    def absolute(self, address: str | None) -> str | None:
        """Resolve a URL of the page; None if it is missing or malformed."""
        if address is None:
            return None
        expected = address.strip()
        if _ABSOLUTE_URL.match(expected):
            return expected
        if self.origin and _ROOT_RELATIVE_URL.fullmatch(expected):
            return f"{self.origin}{expected}"
        try:
            return urljoin(self.base_url, expected)
        except ValueError:
            return None


def parse_document(page: SkillInput) -> Document:
    """Parse a page. Declarative shadow roots become children of their `<template>`; other templates stay inert."""
    tree = LexborHTMLParser(page.html.encode("utf-8", "replace"))
    _inline_shadow_roots(tree)
    url = page.url.encode("utf-8", "replace").decode()
    base_url = _base_url(tree, url)
    found = _ORIGIN.match(base_url)
    origin = "" if found is None else found.group()
    own_start = f"{origin}/" if origin and url.startswith(f"{origin}/") else ""
    return Document(tree=tree, url=url, base_url=base_url, origin=origin, site_prefix=own_start)


def select_descendants(node: LexborNode, css: str, purpose: str) -> tuple[LexborNode, ...]:
    """Return the descendants of an element that a CSS selector matches, in document order.

    Raises:
        SkillError: the selector is not standard CSS.
    """
    try:
        return tuple(found for found in node.css(css) if found.mem_id != node.mem_id)
    except SelectolaxError as error:
        raise SkillError(_selector_error(css, purpose)) from error


def normalize_text(text: str) -> str:
    """Remove invisible characters and collapse whitespace."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    return " ".join(text.split())


def text_of(node: LexborNode, *, excluded: frozenset[str] = frozenset()) -> str:
    """Return the text of an element, whitespace collapsed.

    Blocks and line breaks separate words, inline elements do not. Scripts, styles, inert templates and elements whose
    tag is in `without` have no text.
    """
    only = node.first_child
    if only is None:
        return ""
    if only.is_text_node and only.next is None:
        return normalize_text(only.text_content or "")
    parts: list[str] = []
    _collect_text(node, (TEXTLESS_TAGS | excluded) if excluded else TEXTLESS_TAGS, parts)
    return normalize_text("".join(parts))


def text_with_and_without(node: LexborNode, *, excluded: frozenset[str]) -> tuple[str, str]:
    """Return the text of an element with and without the tags in `apart`, in one traversal."""
    parts: list[str] = []
    cut: list[slice] = []
    _collect_text(node, TEXTLESS_TAGS, parts, _SeparateText(excluded, cut))
    whole = normalize_text("".join(parts))
    if not cut:
        return whole, whole
    for each in reversed(cut):
        del parts[each]
    return whole, normalize_text("".join(parts))


def is_shadow_root(node: LexborNode) -> bool:
    """Whether an element is the inlined `<template>` of a declarative shadow root."""
    return node.tag == "template" and SHADOW_ATTRIBUTE in node.attributes


def parent_element(node: LexborNode) -> LexborNode | None:
    """Return the parent element, or None for the root."""
    parent = node.parent
    return parent if parent is not None and parent.is_element_node else None


def selector_of(document: Document, node: LexborNode, *, shadow_combinator: str = " > ") -> str:
    """Return a CSS path to this element: from the nearest unique id, else from the document root.

    `crossing` is the combinator between a shadow host and its shadow tree. Playwright's CSS engine reads the child
    combinator; `Document.select` needs the descendant combinator (`" "`), which may match more in Playwright.
    """
    path = ""
    current: LexborNode | None = node
    while current is not None:
        if is_shadow_root(current):
            path = f"{shadow_combinator}{path.removeprefix(' > ')}"
        else:
            anchor = _unique_id(document, current)
            if anchor is not None:
                return f"{anchor}{path}"
            step = _path_step(current)
            path = f"{step}{path}" if current.tag == "html" else f" > {step}{path}"
        current = parent_element(current)
    return path.removeprefix(" > ").strip()


def _selector_error(css: str, purpose: str) -> str:
    return f"{purpose}: expected a standard CSS selector, got {css!r}. Playwright selectors need a browser."


def _inline_shadow_roots(tree: LexborHTMLParser) -> None:
    pending = list(tree.template_fragments())
    while pending:
        fragment = pending.pop()
        template, child = fragment.parent, fragment.first_child
        if template is None or child is None or not is_shadow_root(template):
            continue
        while child is not None:
            template.insert_child(child, move=True)
            child = fragment.first_child
        pending.extend(template.template_fragments())


def _base_url(tree: LexborHTMLParser, url: str) -> str:
    base = tree.css_first("base[href]")
    href = base.attributes.get("href") if base is not None else None
    if not href:
        return url
    try:
        return urljoin(url, href.strip())
    except ValueError:
        return url


class _SeparateText(NamedTuple):
    """The elements whose text is collected separately, for `text_with_and_without`."""

    tags: frozenset[str]
    slices: list[slice]
    """Slices of the collected parts that belong to these elements."""


def _collect_text(
    node: LexborNode, textless: frozenset[str], parts: list[str], separate: _SeparateText | None = None
) -> None:
    """Append the text of an element, with a space around each block.

    Iterative, because pages can be deeply nested; recurses one level for elements in `apart`.
    """
    around: list[tuple[LexborNode | None, str]] = []
    child, closing = node.first_child, ""
    while child is not None or around:
        if child is None:
            parts.append(closing)
            child, closing = around.pop()
            continue
        tag, current = child.tag or "", child
        child = current.next
        if tag == "-text":
            parts.append(current.text_content or "")
        elif tag != "-comment" and (tag not in textless or is_shadow_root(current)):
            space = "" if tag in INLINE_TAGS else " "
            if separate and tag in separate.tags:
                begin = len(parts)
                parts.append(space)
                _collect_text(current, textless, parts)
                parts.append(space)
                separate.slices.append(slice(begin, len(parts)))
            elif (first := current.first_child) is not None:
                parts.append(space)
                around.append((child, closing))
                child, closing = first, space
            else:
                parts.append(space)


def _unique_id(document: Document, node: LexborNode) -> str | None:
    name = node.attributes.get("id") or ""
    if not _PLAIN_NAME.fullmatch(name):
        return None
    return f"#{name}" if len(document.tree.css(f"#{name}")) == 1 else None


def _path_step(node: LexborNode) -> str:
    tag = node.tag or ""
    if tag in {"html", "body"}:
        return tag
    alike = [sibling.mem_id for sibling in _siblings(node) if sibling.tag == tag]
    if not _PLAIN_NAME.fullmatch(tag):
        everyone = [sibling.mem_id for sibling in _siblings(node)]
        return f"*:nth-child({everyone.index(node.mem_id) + 1})"
    if len(alike) == 1:
        return tag
    return f"{tag}:nth-of-type({alike.index(node.mem_id) + 1})"


def _siblings(node: LexborNode) -> list[LexborNode]:
    parent = node.parent
    return [node] if parent is None else list(parent.iter())


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
