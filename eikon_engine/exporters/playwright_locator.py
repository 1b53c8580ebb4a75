"""Write Playwright locators: by role and name if unique in the recorded document, else by the next best attribute.

https://playwright.dev/python/docs/locators
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.dom.roles import FIELD_TAGS, collapse_whitespace
from eikon_engine.exporters.python_source import call_source, string_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import DomNode
    from eikon_engine.exporters.recorded_document import RecordedDocument
    from eikon_engine.exporters.varying_parts import VaryingParts
    from eikon_engine.trace.target import Target

_PLAIN_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN_VALUE: Final = re.compile(r"[\w ./:?=&%#-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatorSource:
    """The source of a locator."""

    code: str
    is_identifying: bool
    """Whether the locator identifies the element by its name, so that no other element could match."""


def page_variable(page: int) -> str:
    """Return the variable of a page."""
    return "page" if page == 0 else f"page_{page}"


def recorded_locator(page: int, target: Target) -> str:
    """Write the recorded selector of a target."""
    return call_source(f"{frame_source(page, target)}.locator", string_literal(target.selector))


def frame_source(page: int, target: Target) -> str:
    """Write the page or frame locator around a target."""
    written = page_variable(page)
    for frame in target.frames:
        written = call_source(f"{written}.frame_locator", string_literal(frame))
    return written


def best_locator(
    page: int, target: Target, documents: Mapping[str, RecordedDocument], varying: VaryingParts
) -> LocatorSource:
    """Write the best locator of a target, using the documents of the page before the action.

    What the server draws may be any of its kind in a name.
    """
    plain = LocatorSource(code=recorded_locator(page, target), is_identifying=False)
    if target.identity is None:
        return plain
    found = []
    for path, document in documents.items():
        if (path.count(".") + 1 if path else 0) == len(target.frames):
            element = document.find(target.identity)
            found += [] if element is None else [(document, element)]
    if len(found) != 1:
        return plain
    document, element = found[0]
    named = locator_by_name(document, element, varying) or locator_by_id(document, element)
    if named is None:
        return plain
    return LocatorSource(
        code=f"{frame_source(page, target)}.{named}", is_identifying=named.startswith(("get_by_role", "get_by_label"))
    )


def locator_by_name(document: RecordedDocument, element: LocatedElement, varying: VaryingParts) -> str | None:
    """Write a locator by role and name, or by label; None if it would not be unique."""
    role, name = document.role(element), document.name(element)
    if name is None or not document.is_shown(element):
        return None
    if role is None:
        return _locator_by_label(document, element, name, varying)
    others = [each for each in document.elements if role in {each.role, document.role(each)}]
    if varying.are_drawn_in(name):
        is_unique = _is_only_match(varying.drawn_pattern(name), others)
        return f"get_by_role({string_literal(role)}, name={varying.name_source(name)})" if is_unique else None
    if sum(_compact(name) in _compact(each.name) for each in others) == 1:
        return call_source("get_by_role", string_literal(role), name=name)
    alone = sum(each.name == name for each in others) == 1
    return call_source("get_by_role", string_literal(role), name=name, exact=True) if alone else None


def _locator_by_label(
    document: RecordedDocument, element: LocatedElement, name: str, varying: VaryingParts
) -> str | None:
    labelled = element.label is not None or element.scope.labels.get(element.node.attribute("id") or "")
    if element.node.tag not in FIELD_TAGS or not labelled:
        return None
    if varying.are_drawn_in(name):
        is_unique = _is_only_match(varying.drawn_pattern(name), document.elements)
    else:
        is_unique = sum(_compact(name) in _compact(each.name) for each in document.elements) == 1
    return call_source("get_by_label", varying.name_source(name)) if is_unique else None


def _is_only_match(pattern: str, elements: Iterable[LocatedElement]) -> bool:
    return sum(re.fullmatch(pattern, each.name) is not None for each in elements) == 1


def locator_by_id(document: RecordedDocument, element: LocatedElement) -> str | None:
    """Write a locator by test id or id; None if neither is unique."""
    mark = element.node.attribute("data-testid")
    if mark and sum(each.node.attribute("data-testid") == mark for each in document.elements) == 1:
        return call_source("get_by_test_id", string_literal(mark))
    selector = css_by_id(document, element)
    return call_source("locator", string_literal(selector)) if selector is not None else None


def css_by_id(document: RecordedDocument, element: LocatedElement) -> str | None:
    """Write a CSS selector by id; None if it is missing or not unique."""
    name = element.node.attribute("id") or ""
    return f"#{name}" if _PLAIN_ID.fullmatch(name) and document.ids.get(name) == 1 else None


def locator_by_kind(document: RecordedDocument, element: LocatedElement) -> str | None:
    """Write a locator by test id, id, or a unique role or tag, never by name."""
    mark = locator_by_id(document, element)
    if mark is not None:
        return mark
    role = document.role(element)
    if role in {"alert", "status"} and sum(role in {each.role, document.role(each)} for each in document.elements) == 1:
        return call_source("get_by_role", string_literal(role))
    alone = sum(each.node.tag == element.node.tag for each in document.elements) == 1
    return (
        call_source("locator", string_literal(element.node.tag))
        if alone and element.node.tag in {"table", "ol", "ul"}
        else None
    )


def frame_path_locator(page: int, path: str, documents: Mapping[str, RecordedDocument]) -> str | None:
    """Write the frame locator of a frame path; None if an iframe on the path has no unique selector."""
    written, here = page_variable(page), ""
    for step in path.split(".") if path else ():
        document = documents.get(here)
        node = None if document is None else _frame_element(document, int(step))
        selector = None if document is None or node is None else _frame_selector(document, node)
        if selector is None:
            return None
        written = call_source(f"{written}.frame_locator", string_literal(selector))
        here = f"{here}.{step}" if here else step
    return written


def _frame_element(document: RecordedDocument, place: int) -> DomNode | None:
    slots = {number: slot for slot, number in document.frame.extras.frames}
    nodes = list(document.frame.root.walk()) if place in slots else []
    return nodes[slots[place]] if place in slots and slots[place] < len(nodes) else None


def _frame_selector(document: RecordedDocument, node: DomNode) -> str | None:
    name = node.attribute("id") or ""
    if _PLAIN_ID.fullmatch(name) and document.ids.get(name) == 1:
        return f"#{name}"
    for attribute in ("name", "title", "src"):
        value = node.attribute(attribute) or ""
        alike = sum(each.node.tag == node.tag and each.node.attribute(attribute) == value for each in document.elements)
        if _PLAIN_VALUE.fullmatch(value) and "://" not in value and alike == 1:
            return f'{node.tag}[{attribute}="{value}"]'
    return None


def _compact(text: str) -> str:
    return collapse_whitespace(text).replace(" ", "").casefold()
