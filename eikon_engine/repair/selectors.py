"""Find elements of a stored page by selector, and generate selectors that match only one element."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.divergence.masks import select_nodes
from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.trace.masks import Mask, SelectorPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.divergence.masks import NodeRoute
    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import DomNode, FrameSnapshot

_TEST_ID_ATTRIBUTES: Final = ("data-testid", "data-test", "data-id")
_NAMING_ATTRIBUTES: Final = ("name", "placeholder", "href", "alt", "title")
_PLAIN_ID: Final = re.compile(r"[A-Za-z_][\w\-]*")
_UNQUOTABLE: Final = re.compile(r"[\"\\\x00-\x1f]")
_NUMBERED: Final = re.compile(r":nth\((\d+)\)")


def unique_selectors(element: LocatedElement, document: Sequence[LocatedElement], recorded: str) -> tuple[str, ...]:
    """Return the selectors that match only `element`, those of the kind `recorded` first."""
    found = [selector for selector, matches in _candidates(element, document) if matches == 1]
    found.sort(key=lambda each: _selector_kind(each) != _selector_kind(recorded))
    path = _css_path(element)
    if path is not None and (element.name or element.text):
        found.append(path)
    return tuple(dict.fromkeys(found))


def _candidates(element: LocatedElement, document: Sequence[LocatedElement]) -> Iterator[tuple[str, int]]:
    """Yield selectors with their number of matches."""
    own = dict(element.attributes)
    for name in _TEST_ID_ATTRIBUTES:
        if own.get(name) and not _UNQUOTABLE.search(own[name]):
            yield f'[{name}="{own[name]}"]', _count_attribute(document, name, own[name])
    identity = own.get("id", "")
    if _PLAIN_ID.fullmatch(identity):
        yield f"#{identity}", _count_attribute(document, "id", identity)
    if element.role and element.name and not _UNQUOTABLE.search(element.name):
        alike = sum(each.role == element.role and each.name == element.name for each in document)
        yield f'role={element.role}[name="{element.name}"]', alike
    for name in _NAMING_ATTRIBUTES:
        if own.get(name) and not _UNQUOTABLE.search(own[name]):
            alike = sum(each.node.tag == element.node.tag and dict(each.attributes).get(name) == own[name]
                        for each in document)  # fmt: skip
            yield f'{element.node.tag}[{name}="{own[name]}"]', alike


def _count_attribute(document: Sequence[LocatedElement], name: str, value: str) -> int:
    return sum(dict(each.attributes).get(name) == value for each in document)


def _css_path(element: LocatedElement) -> str | None:
    """Return the CSS path of an element; None if it crosses a shadow root."""
    path = element.path
    return None if "#shadow" in path else _NUMBERED.sub(r":nth-of-type(\1)", path)


def _selector_kind(selector: str) -> str:
    if selector.startswith(("role=", "internal:role=")):
        return "role"
    if re.match(r"\[data-|internal:testid=", selector):
        return "test id"
    return "id" if re.fullmatch(r"\w*#[\w\-]+", selector) else "css"


_ROLE_SELECTOR: Final = re.compile(r'role=([a-z]+)\[name=(?:"([^"\\]+)"|\'([^\'\\]+)\')\]')


def find_matches(frame: FrameSnapshot, selector: str) -> tuple[LocatedElement, ...] | None:
    """Return the elements that a selector matches; None if its kind is unsupported."""
    role = _ROLE_SELECTOR.fullmatch(selector)
    if role is not None:
        role_and_name = (role[1], role[2] or role[3])
        return tuple(each for each in locate_elements(frame) if (each.role, each.name) == role_and_name)
    try:
        mask = Mask(name="selected", reason="selector to match", part=SelectorPart(selector=selector))
    except ValidationError:
        return None
    nodes = {id(_node_at(frame.root, route)) for route, _ in select_nodes(frame.root, [mask])}
    return tuple(each for each in locate_elements(frame) if id(each.node) in nodes)


def _node_at(root: DomNode, route: NodeRoute) -> DomNode:
    for kind, place in route[1:]:  # the first part is the root
        root = ((root.shadow or ()) if kind == "shadow" else root.children)[place]
    return root
