"""Compute the identity of the elements of a stored document, as target binding does for live elements."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

from eikon_engine.dom.paths import append_step, sibling_steps
from eikon_engine.dom.roles import (
    FIELD_TAGS,
    MAX_TEXT_LENGTH,
    ROLES_NAMED_BY_CONTENT,
    collapse_whitespace,
    is_labelable,
    is_named_by_value,
    role_of,
)
from eikon_engine.dom.tree import is_significant
from eikon_engine.trace.target import Ancestor, Identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.dom.tree import DomNode, FrameSnapshot

IDENTIFYING_ATTRIBUTES: Final = frozenset(
    {"action", "alt", "data-id", "data-test", "data-testid", "for", "formaction", "href", "id", "method", "name"}
    | {"placeholder", "role", "src", "target", "title", "type"}
)
"""Attributes that identify an element; `inspect_elements.js` has the same list."""
MAX_ANCESTORS: Final = 5
_SPACES: Final = re.compile(r"[\s\ufeff]+")


@dataclass(slots=True)
class _AlikeElements:
    """Elements with the same tag and text, in document order."""

    elements: list[LocatedElement] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    """Positions of the first ones among those of their kind; extended on demand."""
    counts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """Number of the first ones by kind."""

    def position(self, ordinal: int) -> int:
        """Return the position of an element among those of its kind."""
        while len(self.positions) <= ordinal:
            kind = self.elements[len(self.positions)].kind
            self.positions.append(self.counts[kind])
            self.counts[kind] += 1
        return self.positions[ordinal]


@dataclass(slots=True)
class _Scope:
    """A document or shadow root: the scope of ids and labels."""

    texts: dict[int, str]
    """Text of every node of the document, by `id(node)`."""
    ids: dict[str, DomNode] = field(default_factory=dict)
    labels: dict[str, list[DomNode]] = field(default_factory=dict)
    """Labels by their `for` attribute."""
    alike: defaultdict[tuple[str, str], _AlikeElements] = field(default_factory=lambda: defaultdict(_AlikeElements))
    """Elements so far, by tag and text."""
    names: dict[int, dict[int, str]] = field(default_factory=dict)
    """Path steps, by `id(siblings)` and `id(node)`."""

    def step(self, siblings: tuple[DomNode, ...], node: DomNode) -> str:
        """Return the path step of a node among its siblings."""
        names = self.names.get(id(siblings))
        if names is None:
            shown = tuple(each for each in siblings if is_significant(each))
            names = {id(each): step for each, step in zip(shown, sibling_steps(shown), strict=True)}
            self.names[id(siblings)] = names
        return names[id(node)]


@dataclass(eq=False, slots=True, kw_only=True)
class LocatedElement:
    """An element of a stored document, with its location.

    A document has thousands of them, so everything but text and ordinal is computed on demand.
    """

    frame: str
    """Frame path; empty for the main frame."""
    node: DomNode
    parent: LocatedElement | None
    """Parent element, or host of the shadow root."""
    siblings: tuple[DomNode, ...]
    label: DomNode | None
    """Enclosing label."""
    scope: _Scope
    text: str = ""
    ordinal: int = 0

    @property
    def role(self) -> str:
        """Return the ARIA role."""
        return role_of(self.node)

    @property
    def name(self) -> str:
        """Return the accessible name."""
        return _accessible_name(self)

    @property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        """Return the identifying attributes, sorted by name."""
        return tuple(pair for pair in self.node.attributes if pair[0] in IDENTIFYING_ATTRIBUTES)

    @property
    def ancestors(self) -> tuple[Ancestor, ...]:
        """Return the nearest ancestors, closest first."""
        found: list[Ancestor] = []
        above = self.parent
        while above is not None and len(found) < MAX_ANCESTORS:
            identity = above.node.attribute("id") or ""
            found.append(Ancestor.model_construct(tag=above.node.tag, id=identity, role=above.role))
            above = above.parent
        return tuple(found)

    @property
    def ordinal_of_kind(self) -> int:
        """Return its position among the elements with the same tag, text, role, and tags and roles of ancestors."""
        return self.scope.alike[self.node.tag, self.text].position(self.ordinal)

    @property
    def kind(self) -> tuple[str, ...]:
        """Return the role, and the tags and roles of the nearest ancestors."""
        parts = [self.role]
        above = self.parent
        while above is not None and len(parts) < 1 + 2 * MAX_ANCESTORS:
            parts += (above.node.tag, above.role)
            above = above.parent
        return tuple(parts)

    @property
    def is_shadow_child(self) -> bool:
        """Return whether the element is a direct child of its parent's shadow root."""
        return self.parent is not None and self.siblings is not self.parent.node.children

    @property
    def path(self) -> str:
        """Return the path in the document."""
        names: list[str] = []
        each: LocatedElement | None = self
        while each is not None:
            names.append(each.step)
            if each.is_shadow_child:
                names.append("#shadow")
            each = each.parent
        return reduce(append_step, reversed(names))

    @property
    def step(self) -> str:
        """Return the last step of the path."""
        return self.scope.step(self.siblings, self.node)

    @property
    def identity(self) -> Identity:
        """Return the identity."""
        return Identity.model_construct(  # no validation needed: all parts are computed here
            tag=self.node.tag,
            role=self.role,
            name=self.name,
            text=self.text,
            attributes=self.attributes,
            ancestors=self.ancestors,
            ordinal=self.ordinal,
            ordinal_of_kind=self.ordinal_of_kind,
        )


def locate_elements(frame: FrameSnapshot) -> Iterator[LocatedElement]:
    """Yield every element of a document in document order, a shadow root before the children of its host."""
    texts = _collect_texts(frame.root)
    top = (frame.root,)
    first = LocatedElement(
        frame=frame.path, node=frame.root, parent=None, siblings=top, label=None, scope=_build_scope(top, texts)
    )
    waiting = [first]
    while waiting:
        here = waiting.pop()
        _set_text_and_ordinal(here)
        yield here
        node = here.node
        if node.children:
            label = node if node.tag == "label" and node.attribute("for") is None else here.label
            waiting.extend(_child_elements(here, node.children, label, here.scope))
        if node.shadow:
            waiting.extend(_child_elements(here, node.shadow, None, _build_scope(node.shadow, texts)))


def _child_elements(
    above: LocatedElement, nodes: tuple[DomNode, ...], label: DomNode | None, root: _Scope
) -> Iterator[LocatedElement]:
    """Yield the elements among nodes, last first."""
    for node in reversed(nodes):
        if node.text is None:
            yield LocatedElement(frame=above.frame, node=node, parent=above, siblings=nodes, label=label, scope=root)


def _set_text_and_ordinal(here: LocatedElement) -> None:
    """Set the text of an element, and its ordinal among elements with the same tag and text."""
    node, root = here.node, here.scope
    here.text = "" if node.tag in FIELD_TAGS else _shorten_text(node, root.texts)
    alike = node.tag, here.text
    here.ordinal = len(root.alike[alike].elements)
    root.alike[alike].elements.append(here)


def _build_scope(nodes: tuple[DomNode, ...], texts: dict[int, str]) -> _Scope:
    """Index the ids and labels of a root, without nested shadow roots."""
    root = _Scope(texts)
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if node.text is not None:
            continue
        for name, value in node.attributes:
            if name == "id" and value:
                root.ids.setdefault(value, node)
            elif name == "for" and value and node.tag == "label":
                root.labels.setdefault(value, []).append(node)
        waiting.extend(reversed(node.children))
    return root


def _accessible_name(here: LocatedElement) -> str:
    """Return the accessible name: aria-labelledby, aria-label, labels, value, alt, content, title or placeholder."""
    node, texts, has = here.node, here.scope.texts, dict(here.node.attributes)
    referred = collapse_whitespace(has.get("aria-labelledby"))
    if referred:
        found = (here.scope.ids.get(each) for each in referred.split(" "))
        return collapse_whitespace(" ".join("" if each is None else texts[id(each)] for each in found))
    label = collapse_whitespace(has.get("aria-label"))
    if label:
        return label
    labels = _labels(here)
    if labels:
        return collapse_whitespace(" ".join(texts[id(each)] for each in labels))
    if is_named_by_value(node):
        value = node.state_value("value")
        return collapse_whitespace(value if isinstance(value, str) else has.get("value"))
    if "alt" in has:
        return collapse_whitespace(has["alt"])
    content = _content_name(here) if here.role in ROLES_NAMED_BY_CONTENT else ""
    return content or collapse_whitespace(has.get("title") or has.get("placeholder"))


def _content_name(here: LocatedElement) -> str:
    text = _shorten_text(here.node, here.scope.texts)
    if text:
        return text
    pictures = (each for each in here.node.walk() if each.tag == "img" and each.attribute("alt") is not None)
    picture = next(pictures, None)
    return "" if picture is None else collapse_whitespace(picture.attribute("alt"))


def _labels(here: LocatedElement) -> list[DomNode]:
    if not is_labelable(here.node):
        return []
    named = here.scope.labels.get(here.node.attribute("id") or "", [])
    return [*([] if here.label is None else [here.label]), *named]


def _shorten_text(node: DomNode, texts: dict[int, str]) -> str:
    return texts[id(node)].strip()[:MAX_TEXT_LENGTH]


def _collect_texts(root: DomNode) -> dict[int, str]:
    """Return the text of every node by `id(node)`, with white space collapsed, truncated to twice `MAX_TEXT_LENGTH`."""
    texts: dict[int, str] = {}
    for node in reversed(list(root.walk())):
        text = node.text if node.text is not None else "".join(texts[id(child)] for child in node.children)
        texts[id(node)] = _SPACES.sub(" ", text)[: 2 * MAX_TEXT_LENGTH]
    return texts
