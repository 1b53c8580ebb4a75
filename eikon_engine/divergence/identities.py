"""Compute the identity of the elements of a stored document, as target binding does for live elements."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.dom_path import join, steps
from eikon_engine.divergence.roles import (
    FIELDS,
    LONGEST,
    NAMED_BY_CONTENT,
    is_labelable,
    names_itself,
    role_of,
    squeezed,
)
from eikon_engine.trace.dom.tree import is_significant
from eikon_engine.trace.target import Ancestor, Identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.dom.tree import DomNode, FrameSnapshot

STABLE: Final = frozenset(
    {"action", "alt", "data-id", "data-test", "data-testid", "for", "formaction", "href", "id", "method", "name"}
    | {"placeholder", "role", "src", "target", "title", "type"}
)
"""Attributes that identify an element; `bind.js` has the same list."""
ANCESTORS: Final = 5
_SPACES: Final = re.compile(r"[\s\ufeff]+")


@dataclass(slots=True)
class _Root:
    """A document or shadow root: the scope of ids and labels."""

    texts: dict[int, str]
    """Text of every node of the document, by `id(node)`."""
    ids: dict[str, DomNode] = field(default_factory=dict)
    labels: dict[str, list[DomNode]] = field(default_factory=dict)
    """Labels by their `for` attribute."""
    alike: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of elements so far, by tag and text."""
    names: dict[int, dict[int, str]] = field(default_factory=dict)
    """Path steps, by `id(siblings)` and `id(node)`."""

    def step(self, siblings: tuple[DomNode, ...], node: DomNode) -> str:
        """Return the path step of a node among its siblings."""
        names = self.names.get(id(siblings))
        if names is None:
            shown = tuple(each for each in siblings if is_significant(each))
            names = {id(each): step for each, step in zip(shown, steps(shown), strict=True)}
            self.names[id(siblings)] = names
        return names[id(node)]


@dataclass(eq=False, slots=True, kw_only=True)
class Located:
    """An element of a stored document, with its location.

    A document has thousands of them, so everything but text and ordinal is computed on demand.
    """

    frame: str
    """Frame path; empty for the main frame."""
    node: DomNode
    above: Located | None
    """Parent element, or host of the shadow root."""
    siblings: tuple[DomNode, ...]
    label: DomNode | None
    """Enclosing label."""
    root: _Root
    text: str = ""
    ordinal: int = 0

    @property
    def role(self) -> str:
        """Return the ARIA role."""
        return role_of(self.node)

    @property
    def name(self) -> str:
        """Return the accessible name."""
        return _name(self)

    @property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        """Return the identifying attributes, sorted by name."""
        return tuple(pair for pair in self.node.attributes if pair[0] in STABLE)

    @property
    def ancestors(self) -> tuple[Ancestor, ...]:
        """Return the nearest ancestors, closest first."""
        found: list[Ancestor] = []
        above = self.above
        while above is not None and len(found) < ANCESTORS:
            identity = above.node.attribute("id") or ""
            found.append(Ancestor.model_construct(tag=above.node.tag, id=identity, role=above.role))
            above = above.above
        return tuple(found)

    @property
    def is_in_shadow(self) -> bool:
        """Return whether the element is a direct child of its parent's shadow root."""
        return self.above is not None and self.siblings is not self.above.node.children

    @property
    def path(self) -> str:
        """Return the path in the document."""
        names: list[str] = []
        each: Located | None = self
        while each is not None:
            names.append(each.step)
            if each.is_in_shadow:
                names.append("#shadow")
            each = each.above
        return reduce(join, reversed(names))

    @property
    def step(self) -> str:
        """Return the last step of the path."""
        return self.root.step(self.siblings, self.node)

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
        )


def locate_all(frame: FrameSnapshot) -> Iterator[Located]:
    """Yield every element of a document in document order, a shadow root before the children of its host."""
    texts = _texts(frame.root)
    top = (frame.root,)
    first = Located(frame=frame.path, node=frame.root, above=None, siblings=top, label=None, root=_root_of(top, texts))
    waiting = [first]
    while waiting:
        here = waiting.pop()
        _count(here)
        yield here
        node = here.node
        if node.children:
            label = node if node.tag == "label" and node.attribute("for") is None else here.label
            waiting.extend(_inner(here, node.children, label, here.root))
        if node.shadow:
            waiting.extend(_inner(here, node.shadow, None, _root_of(node.shadow, texts)))


def _inner(above: Located, nodes: tuple[DomNode, ...], label: DomNode | None, root: _Root) -> Iterator[Located]:
    """Yield the elements among nodes, last first."""
    for node in reversed(nodes):
        if node.text is None:
            yield Located(frame=above.frame, node=node, above=above, siblings=nodes, label=label, root=root)


def _count(here: Located) -> None:
    """Set the text of an element, and its ordinal among elements with the same tag and text."""
    node, root = here.node, here.root
    here.text = "" if node.tag in FIELDS else _text(node, root.texts)
    alike = node.tag, here.text
    here.ordinal = root.alike[alike]
    root.alike[alike] += 1


def _root_of(nodes: tuple[DomNode, ...], texts: dict[int, str]) -> _Root:
    """Index the ids and labels of a root, without nested shadow roots."""
    root = _Root(texts)
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


def _name(here: Located) -> str:
    """Return the accessible name: aria-labelledby, aria-label, labels, value, alt, content, title or placeholder."""
    node, texts, has = here.node, here.root.texts, dict(here.node.attributes)
    referred = squeezed(has.get("aria-labelledby"))
    if referred:
        found = (here.root.ids.get(each) for each in referred.split(" "))
        return squeezed(" ".join("" if each is None else texts[id(each)] for each in found))
    label = squeezed(has.get("aria-label"))
    if label:
        return label
    labels = _labels(here)
    if labels:
        return squeezed(" ".join(texts[id(each)] for each in labels))
    if names_itself(node):
        value = node.state_of("value")
        return squeezed(value if isinstance(value, str) else has.get("value"))
    if "alt" in has:
        return squeezed(has["alt"])
    content = _content_name(here) if here.role in NAMED_BY_CONTENT else ""
    return content or squeezed(has.get("title") or has.get("placeholder"))


def _content_name(here: Located) -> str:
    text = _text(here.node, here.root.texts)
    if text:
        return text
    pictures = (each for each in here.node.walk() if each.tag == "img" and each.attribute("alt") is not None)
    picture = next(pictures, None)
    return "" if picture is None else squeezed(picture.attribute("alt"))


def _labels(here: Located) -> list[DomNode]:
    if not is_labelable(here.node):
        return []
    named = here.root.labels.get(here.node.attribute("id") or "", [])
    return [*([] if here.label is None else [here.label]), *named]


def _text(node: DomNode, texts: dict[int, str]) -> str:
    return texts[id(node)].strip()[:LONGEST]


def _texts(root: DomNode) -> dict[int, str]:
    """Return the text of every node by `id(node)`, with white space collapsed, truncated to twice `LONGEST`."""
    texts: dict[int, str] = {}
    for node in reversed(list(root.walk())):
        text = node.text if node.text is not None else "".join(texts[id(child)] for child in node.children)
        texts[id(node)] = _SPACES.sub(" ", text)[: 2 * LONGEST]
    return texts
