"""A stored document as Playwright sees it: reachable elements, visibility, texts, roles and accessible names.

Results are None where Playwright may compute something different from the stored document: a wrong assertion would
fail on the recorded site. https://playwright.dev/python/docs/locators#locate-by-role
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.identities import locate_all
from eikon_engine.divergence.roles import FIELDS, LONGEST, NAMED_BY_CONTENT, input_type, names_itself, squeezed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.identities import Located
    from eikon_engine.trace.dom.tree import DomNode, FrameSnapshot
    from eikon_engine.trace.target import Identity

_INPUT_ROLES: Final = {
    "button": "button", "checkbox": "checkbox", "email": "textbox", "image": "button", "number": "spinbutton",
    "radio": "radio", "range": "slider", "reset": "button", "search": "searchbox", "submit": "button",
    "tel": "textbox", "text": "textbox", "url": "textbox",
}  # fmt: skip
_ROLES: Final = {
    "article": "article", "button": "button", "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading",
    "h5": "heading", "h6": "heading", "output": "status", "textarea": "textbox",
}  # fmt: skip
_EXPLICIT: Final = frozenset(
    {"alert", "button", "checkbox", "combobox", "heading", "link", "menuitem", "menuitemcheckbox", "menuitemradio"}
    | {"option", "radio", "searchbox", "slider", "spinbutton", "status", "switch", "tab", "textbox", "treeitem"}
)
_INLINE: Final = frozenset(
    {"a", "abbr", "b", "bdi", "cite", "code", "em", "font", "i", "kbd", "label", "mark", "q", "s", "samp", "small"}
    | {"span", "strong", "sub", "sup", "time", "u", "var"}
)
_SILENT: Final = frozenset({"canvas", "img", "picture", "source", "wbr"})
_WORDLESS: Final = frozenset({"iframe", "noscript", "object", "script", "slot", "style", "template"})
_NAMING: Final = frozenset({"aria-hidden", "aria-label", "aria-labelledby", "role", "title"})
_LONGEST_NAME: Final = 80


@dataclass(frozen=True, eq=False)
class RecordedDocument:
    """The document of one frame, with cached lookups."""

    frame: FrameSnapshot

    @cached_property
    def elements(self) -> tuple[Located, ...]:
        """The elements that a locator can reach, in document order."""
        return tuple(each for each in locate_all(self.frame) if id(each.node) not in self._closed)

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

    def is_shown(self, element: Located) -> bool:
        """Whether an element is visible and not `aria-hidden`."""
        if id(element.node) in self._hidden:
            return False
        return not any(each.node.attribute("aria-hidden") == "true" for each in _upwards(element))

    def find(self, identity: Identity) -> Located | None:
        """Return the element with this identity; None unless there is exactly one."""
        found = [each for each in self.elements if each.node.tag == identity.tag and _is(each, identity)]
        return found[0] if len(found) == 1 else None

    def role(self, element: Located) -> str | None:
        """Return the role of an element if Playwright is certain to compute the same, else None."""
        node = element.node
        explicit = squeezed(node.attribute("role"))
        if explicit:
            return explicit if explicit in _EXPLICIT else None
        match node.tag:
            case "a":
                return "link" if node.attribute("href") is not None else None
            case "input":
                return _INPUT_ROLES.get(input_type(node)) if node.attribute("list") is None else None
            case "select":
                return element.role
            case _:
                return _ROLES.get(node.tag)

    def name(self, element: Located) -> str | None:
        """Return the accessible name of an element if Playwright is certain to compute the same, else None."""
        has = dict(element.node.attributes)
        if squeezed(has.get("aria-labelledby")):
            return None
        label = squeezed(has.get("aria-label"))
        if not label:
            label = self._labelled(element) or ""
        same = label and label == element.name and len(label) <= _LONGEST_NAME and label.isprintable()
        return label if same else None

    def _labelled(self, element: Located) -> str | None:
        """Compute the name of an element without ARIA attributes."""
        node = element.node
        has = dict(node.attributes)
        if node.tag in FIELDS:
            named = element.root.labels.get(has.get("id", ""), []) if has.get("id") else []
            labels = [*([] if element.label is None else [element.label]), *named]
            if labels:
                return self._spoken(labels[0], node) if len(labels) == 1 else None
        if names_itself(node) or (node.tag == "input" and "alt" in has):
            return element.name
        if element.role in NAMED_BY_CONTENT and node.tag not in FIELDS:
            return self._spoken(node, None)
        return element.name if node.tag in FIELDS else None

    def text(self, node: DomNode) -> str | None:
        """Return the text content of an element, whitespace collapsed; None if the live text may differ.

        A snapshot omits whitespace between blocks.
        """
        return _joined(self._words(node, None, spoken=False))

    def _spoken(self, node: DomNode, without: DomNode | None) -> str | None:
        """Return the text of an element as in the computation of names; None if it depends on more than text."""
        return _joined(self._words(node, without, spoken=True))

    def _words(self, node: DomNode, without: DomNode | None, *, spoken: bool) -> Iterator[str | None]:
        """Yield the texts of an element, a NUL at the edges of blocks, and None for unknown text."""
        if node.shadow is not None:
            yield None
        for each in node.children:
            if each.text is not None:
                yield each.text
            elif each.tag in _SILENT:
                yield None if spoken and squeezed(each.attribute("alt")) else ""
            elif each is not without:
                named = not _NAMING.isdisjoint(name for name, _ in each.attributes)
                odd = spoken and (named or each.namespace or id(each) in self._hidden)
                if odd or each.tag in _WORDLESS or (each.tag in FIELDS and (spoken or each.tag != "input")):
                    yield None
                else:
                    edge = "" if each.tag in _INLINE else "\0"
                    yield edge
                    yield from self._words(each, without, spoken=spoken)
                    yield edge


def _joined(words: Iterator[str | None]) -> str | None:
    """Join texts; None if one is unknown, or if whitespace at block edges would matter."""
    parts = list(words)
    known = [part for part in parts if part is not None]
    together = squeezed("".join(known).replace("\0", ""))
    apart = squeezed("".join(known).replace("\0", " "))
    same = len(known) == len(parts) and together == apart
    return together if same and len(together) < LONGEST and together.isprintable() else None


def _upwards(element: Located) -> Iterator[Located]:
    here: Located | None = element
    while here is not None:
        yield here
        here = here.above


def _is(element: Located, identity: Identity) -> bool:
    return (
        element.text == identity.text
        and element.ordinal == identity.ordinal
        and element.attributes == identity.attributes
        and element.ancestors == identity.ancestors
    )


def stands_in(element: Located, tags: frozenset[str]) -> bool:
    """Whether an element has an ancestor with one of these tags or roles."""
    return any(each.node.tag in tags or each.role in tags for each in _upwards(element) if each is not element)
