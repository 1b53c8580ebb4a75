"""A stored document as Playwright sees it: reachable elements, visibility, texts, roles and accessible names.

Results are None where Playwright may compute something different from the stored document: a wrong assertion would
fail on the recorded site. https://playwright.dev/python/docs/locators#locate-by-role
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.dom.roles import (
    FIELD_TAGS,
    MAX_TEXT_LENGTH,
    ROLES_NAMED_BY_CONTENT,
    collapse_whitespace,
    input_type,
    is_named_by_value,
)
from eikon_engine.trace.target import compared_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import DomNode, FrameSnapshot
    from eikon_engine.trace.target import Identity

_INPUT_ROLES: Final = {
    "button": "button", "checkbox": "checkbox", "email": "textbox", "image": "button", "number": "spinbutton",
    "radio": "radio", "range": "slider", "reset": "button", "search": "searchbox", "submit": "button",
    "tel": "textbox", "text": "textbox", "url": "textbox",
}  # fmt: skip
_TAG_ROLES: Final = {
    "article": "article", "button": "button", "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading",
    "h5": "heading", "h6": "heading", "output": "status", "textarea": "textbox",
}  # fmt: skip
_EXPLICIT_ROLES: Final = frozenset(
    {"alert", "button", "checkbox", "combobox", "heading", "link", "menuitem", "menuitemcheckbox", "menuitemradio"}
    | {"option", "radio", "searchbox", "slider", "spinbutton", "status", "switch", "tab", "textbox", "treeitem"}
)
_INLINE_TAGS: Final = frozenset(
    {"a", "abbr", "b", "bdi", "cite", "code", "em", "font", "i", "kbd", "label", "mark", "q", "s", "samp", "small"}
    | {"span", "strong", "sub", "sup", "time", "u", "var"}
)
_TEXTLESS_TAGS: Final = frozenset({"canvas", "img", "picture", "source", "wbr"})
_UNKNOWN_TEXT_TAGS: Final = frozenset({"iframe", "noscript", "object", "script", "slot", "style", "template"})
_NAMING_ATTRIBUTES: Final = frozenset({"aria-hidden", "aria-label", "aria-labelledby", "role", "title"})
_MAX_NAME_LENGTH: Final = 80


@dataclass(frozen=True, eq=False)
class RecordedDocument:
    """The document of one frame, with cached lookups."""

    frame: FrameSnapshot

    @cached_property
    def elements(self) -> tuple[LocatedElement, ...]:
        """The elements that a locator can reach, in document order."""
        return tuple(each for each in locate_elements(self.frame) if id(each.node) not in self._closed)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The number of elements by id."""
        found: dict[str, int] = {}
        for each in self.elements:
            name = each.node.attribute("id")
            if name:
                found[name] = found.get(name, 0) + 1
        return found

    @cached_property
    def _closed(self) -> set[int]:
        inside: set[int] = set()
        for node in self.frame.root.walk():
            if node.shadow is not None and node.shadow_mode == "closed":
                inside.update(id(below) for each in node.shadow for below in each.walk())
        return inside

    @cached_property
    def _hidden(self) -> set[int]:
        flips = set(self.frame.extras.flips or ())
        hidden: set[int] = set()
        count = 0
        waiting = [(self.frame.root, True)]
        while waiting:
            node, parent_shown = waiting.pop()
            shown = parent_shown != (count in flips)
            count += 1
            if not shown:
                hidden.add(id(node))
            waiting.extend((each, shown) for each in reversed((*(node.shadow or ()), *node.children)))
        return hidden

    def is_shown(self, element: LocatedElement) -> bool:
        """Whether an element is visible and not `aria-hidden`."""
        if id(element.node) in self._hidden:
            return False
        return not any(each.node.attribute("aria-hidden") == "true" for each in _self_and_ancestors(element))

    def find(self, identity: Identity) -> LocatedElement | None:
        """Return the element with this identity; None unless there is exactly one."""
        found = [each for each in self.elements if each.node.tag == identity.tag and _matches_identity(each, identity)]
        return found[0] if len(found) == 1 else None

    def role(self, element: LocatedElement) -> str | None:
        """Return the role of an element if Playwright is certain to compute the same, else None."""
        node = element.node
        explicit = collapse_whitespace(node.attribute("role"))
        if explicit:
            return explicit if explicit in _EXPLICIT_ROLES else None
        match node.tag:
            case "a":
                return "link" if node.attribute("href") is not None else None
            case "input":
                return _INPUT_ROLES.get(input_type(node)) if node.attribute("list") is None else None
            case "select":
                return element.role
            case _:
                return _TAG_ROLES.get(node.tag)

    def name(self, element: LocatedElement) -> str | None:
        """Return the accessible name of an element if Playwright is certain to compute the same, else None."""
        has = dict(element.node.attributes)
        if collapse_whitespace(has.get("aria-labelledby")):
            return None
        label = collapse_whitespace(has.get("aria-label"))
        if not label:
            label = self._name_from_content(element) or ""
        same = label and label == element.name and len(label) <= _MAX_NAME_LENGTH and label.isprintable()
        return label if same else None

    def _name_from_content(self, element: LocatedElement) -> str | None:
        """Compute the name of an element without ARIA attributes."""
        node = element.node
        has = dict(node.attributes)
        if node.tag in FIELD_TAGS:
            named = element.scope.labels.get(has.get("id", ""), []) if has.get("id") else []
            labels = [*([] if element.label is None else [element.label]), *named]
            if labels:
                return self._accessible_text(labels[0], node) if len(labels) == 1 else None
        if is_named_by_value(node) or (node.tag == "input" and "alt" in has):
            return element.name
        if element.role in ROLES_NAMED_BY_CONTENT and node.tag not in FIELD_TAGS:
            return self._accessible_text(node, None)
        return element.name if node.tag in FIELD_TAGS else None

    def text(self, node: DomNode) -> str | None:
        """Return the text content of an element, whitespace collapsed; None if the live text may differ.

        A snapshot omits whitespace between blocks.
        """
        return _join_texts(self._text_parts(node, None, is_name=False))

    def _accessible_text(self, node: DomNode, without: DomNode | None) -> str | None:
        """Return the text of an element as in the computation of names; None if it depends on more than text."""
        return _join_texts(self._text_parts(node, without, is_name=True))

    def _text_parts(self, node: DomNode, without: DomNode | None, *, is_name: bool) -> Iterator[str | None]:
        """Yield the texts of an element, a NUL at the edges of blocks, and None for unknown text."""
        if node.shadow is not None:
            yield None
        for each in node.children:
            if each.text is not None:
                yield each.text
            elif each.tag in _TEXTLESS_TAGS:
                yield None if is_name and collapse_whitespace(each.attribute("alt")) else ""
            elif each is not without:
                named = not _NAMING_ATTRIBUTES.isdisjoint(name for name, _ in each.attributes)
                odd = is_name and (named or each.namespace or id(each) in self._hidden)
                if (
                    odd
                    or each.tag in _UNKNOWN_TEXT_TAGS
                    or (each.tag in FIELD_TAGS and (is_name or each.tag != "input"))
                ):
                    yield None
                else:
                    edge = "" if each.tag in _INLINE_TAGS else "\0"
                    yield edge
                    yield from self._text_parts(each, without, is_name=is_name)
                    yield edge


def _join_texts(words: Iterator[str | None]) -> str | None:
    """Join texts; None if one is unknown, or if whitespace at block edges would matter."""
    parts = list(words)
    known = [part for part in parts if part is not None]
    together = collapse_whitespace("".join(known).replace("\0", ""))
    apart = collapse_whitespace("".join(known).replace("\0", " "))
    same = len(known) == len(parts) and together == apart
    return together if same and len(together) < MAX_TEXT_LENGTH and together.isprintable() else None


def _self_and_ancestors(element: LocatedElement) -> Iterator[LocatedElement]:
    here: LocatedElement | None = element
    while here is not None:
        yield here
        here = here.parent


def _matches_identity(element: LocatedElement, identity: Identity) -> bool:
    recorded, here = compared_positions(identity, element.identity)
    return (
        element.text == identity.text
        and recorded == here
        and element.attributes == identity.attributes
        and element.ancestors == identity.ancestors
    )


def has_ancestor(element: LocatedElement, tags: frozenset[str]) -> bool:
    """Whether an element has an ancestor with one of these tags or roles."""
    return any(
        each.node.tag in tags or each.role in tags for each in _self_and_ancestors(element) if each is not element
    )
