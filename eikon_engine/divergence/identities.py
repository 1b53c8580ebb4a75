"""Tell who every element of a stored document is, as binding tells it of a live one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
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

STABLE: Final = (
    "action", "alt", "data-id", "data-test", "data-testid", "for", "formaction", "href", "id", "method", "name",
    "placeholder", "role", "src", "target", "title", "type",
)  # fmt: skip
"""Attributes that tell an element from others; `bind.js` has the same list."""
ANCESTORS: Final = 5
_SPACES: Final = re.compile(r"[\s\ufeff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """An element of a stored document, with its place in it."""

    frame: str
    """Path of the frame, empty for the main one."""
    path: str
    identity: Identity


@dataclass(slots=True)
class _Root:
    """A document or shadow root: names and labels are looked up in it alone."""

    ids: dict[str, DomNode] = field(default_factory=dict)
    labels: dict[str, list[DomNode]] = field(default_factory=dict)
    """Labels by what they are for."""
    alike: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Elements so far, by tag and text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    node: DomNode
    path: str
    root: _Root
    above: tuple[Ancestor, ...]
    label: DomNode | None
    """The label it stands in."""


def locate_all(frame: FrameSnapshot) -> Iterator[Located]:
    """Yield every element of a document in document order, those of a shadow root before the children of its host."""
    texts = _texts(frame.root)
    first = _Visit(node=frame.root, path=steps((frame.root,))[0], root=_root_of((frame.root,)), above=(), label=None)
    waiting = [first]
    while waiting:
        visit = waiting.pop()
        yield Located(frame=frame.path, path=visit.path, identity=_identity(visit, texts))
        waiting.extend(reversed(tuple(_below(visit))))


def _below(visit: _Visit) -> Iterator[_Visit]:
    node = visit.node
    here = Ancestor.model_construct(tag=node.tag, id=node.attribute("id") or "", role=role_of(node))
    above = (here, *visit.above)[:ANCESTORS]
    if node.shadow:
        yield from _visits(node.shadow, f"{visit.path} > #shadow", _root_of(node.shadow), above, None)
    label = node if node.tag == "label" and node.attribute("for") is None else visit.label
    yield from _visits(node.children, visit.path, visit.root, above, label)


def _visits(
    nodes: tuple[DomNode, ...], path: str, root: _Root, above: tuple[Ancestor, ...], label: DomNode | None
) -> Iterator[_Visit]:
    shown = tuple(node for node in nodes if is_significant(node))
    for node, step in zip(shown, steps(shown), strict=True):
        if not node.is_text:
            yield _Visit(node=node, path=join(path, step), root=root, above=above, label=label)


def _root_of(nodes: tuple[DomNode, ...]) -> _Root:
    """Look through a root for what names refer to, without the shadow roots in it."""
    root = _Root()
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if node.is_text:
            continue
        identity = node.attribute("id")
        if identity:
            root.ids.setdefault(identity, node)
        wanted = node.attribute("for") if node.tag == "label" else None
        if wanted:
            root.labels.setdefault(wanted, []).append(node)
        waiting.extend(reversed(node.children))
    return root


def _identity(visit: _Visit, texts: dict[int, str]) -> Identity:
    node, root = visit.node, visit.root
    text = "" if node.tag in FIELDS else _text(node, texts)
    role = role_of(node)
    ordinal = root.alike[node.tag, text]
    root.alike[node.tag, text] += 1
    attributes = dict(node.attributes)
    return Identity.model_construct(  # no part comes from outside, and there are thousands
        tag=node.tag,
        role=role,
        name=_name(visit, role, texts),
        text=text,
        attributes=tuple((name, attributes[name]) for name in STABLE if name in attributes),
        ancestors=visit.above,
        ordinal=ordinal,
    )


def _name(visit: _Visit, role: str, texts: dict[int, str]) -> str:
    """Name an element by the first of: what it refers to, its label, its value, its content, its hints."""
    node = visit.node
    referred = squeezed(node.attribute("aria-labelledby"))
    if referred:
        found = (visit.root.ids.get(each) for each in referred.split(" "))
        return squeezed(" ".join("" if each is None else texts[id(each)] for each in found))
    label = squeezed(node.attribute("aria-label"))
    if label:
        return label
    labels = _labels(visit)
    if labels:
        return squeezed(" ".join(texts[id(each)] for each in labels))
    if names_itself(node):
        value = node.state_of("value")
        return squeezed(value if isinstance(value, str) else node.attribute("value"))
    alternative = node.attribute("alt")
    if alternative is not None:
        return squeezed(alternative)
    content = _content_name(node, texts) if role in NAMED_BY_CONTENT else ""
    return content or squeezed(node.attribute("title") or node.attribute("placeholder"))


def _content_name(node: DomNode, texts: dict[int, str]) -> str:
    text = _text(node, texts)
    if text:
        return text
    pictures = (each for each in node.walk() if each.tag == "img" and each.attribute("alt") is not None)
    picture = next(pictures, None)
    return "" if picture is None else squeezed(picture.attribute("alt"))


def _labels(visit: _Visit) -> list[DomNode]:
    if not is_labelable(visit.node):
        return []
    named = visit.root.labels.get(visit.node.attribute("id") or "", [])
    return [*([] if visit.label is None else [visit.label]), *named]


def _text(node: DomNode, texts: dict[int, str]) -> str:
    return squeezed(texts[id(node)])[:LONGEST]


def _texts(root: DomNode) -> dict[int, str]:
    """Return the text of every node by `id(node)`, white space collapsed, no longer than anybody needs."""
    texts: dict[int, str] = {}
    for node in reversed(list(root.walk())):
        text = node.text if node.text is not None else "".join(texts[id(child)] for child in node.children)
        texts[id(node)] = _SPACES.sub(" ", text)[: 2 * LONGEST]
    return texts
