"""Write Playwright locators: by role and name if unique in the recorded document, else by the next best attribute.

https://playwright.dev/python/docs/locators
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.roles import FIELDS, squeezed
from eikon_engine.exporters.python_source import call, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.divergence.identities import Located
    from eikon_engine.exporters.recorded_document import RecordedDocument
    from eikon_engine.trace.dom.tree import DomNode
    from eikon_engine.trace.target import Target

_SIMPLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN_VALUE: Final = re.compile(r"[\w ./:?=&%#-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The source of a locator."""

    code: str
    tells_who: bool
    """Whether the locator identifies the element by its name, so that no other element could match."""


def page_name(page: int) -> str:
    """Return the variable of a page."""
    return "page" if page == 0 else f"page_{page}"


def plain_locator(page: int, target: Target) -> str:
    """Write the recorded selector of a target."""
    return call(f"{in_frames(page, target)}.locator", quoted(target.selector))


def in_frames(page: int, target: Target) -> str:
    """Write the page or frame locator around a target."""
    written = page_name(page)
    for frame in target.frames:
        written = call(f"{written}.frame_locator", quoted(frame))
    return written


def action_locator(page: int, target: Target, documents: Mapping[str, RecordedDocument]) -> Written:
    """Write the best locator of a target, using the documents of the page before the action."""
    plain = Written(code=plain_locator(page, target), tells_who=False)
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
    named = by_name(document, element) or by_mark(document, element)
    if named is None:
        return plain
    return Written(
        code=f"{in_frames(page, target)}.{named}", tells_who=named.startswith(("get_by_role", "get_by_label"))
    )


def by_name(document: RecordedDocument, element: Located) -> str | None:
    """Write a locator by role and name, or by label; None if it would not be unique."""
    role, name = document.role(element), document.name(element)
    if name is None or not document.is_shown(element):
        return None
    if role is None:
        return _by_label(document, element, name)
    others = [each for each in document.elements if role in {each.role, document.role(each)}]
    if sum(_without_blanks(name) in _without_blanks(each.name) for each in others) == 1:
        return call("get_by_role", quoted(role), name=name)
    alone = sum(each.name == name for each in others) == 1
    return call("get_by_role", quoted(role), name=name, exact=True) if alone else None


def _by_label(document: RecordedDocument, element: Located, name: str) -> str | None:
    alike = sum(_without_blanks(name) in _without_blanks(each.name) for each in document.elements)
    labelled = element.label is not None or element.root.labels.get(element.node.attribute("id") or "")
    return call("get_by_label", quoted(name)) if element.node.tag in FIELDS and labelled and alike == 1 else None


def by_mark(document: RecordedDocument, element: Located) -> str | None:
    """Write a locator by test id or id; None if neither is unique."""
    mark = element.node.attribute("data-testid")
    if mark and sum(each.node.attribute("data-testid") == mark for each in document.elements) == 1:
        return call("get_by_test_id", quoted(mark))
    selector = by_id(document, element)
    return call("locator", quoted(selector)) if selector is not None else None


def by_id(document: RecordedDocument, element: Located) -> str | None:
    """Write a CSS selector by id; None if it is missing or not unique."""
    name = element.node.attribute("id") or ""
    return f"#{name}" if _SIMPLE.fullmatch(name) and document.ids.get(name) == 1 else None


def by_kind(document: RecordedDocument, element: Located) -> str | None:
    """Write a locator by test id, id, or a unique role or tag, never by name."""
    mark = by_mark(document, element)
    if mark is not None:
        return mark
    role = document.role(element)
    if role in {"alert", "status"} and sum(role in {each.role, document.role(each)} for each in document.elements) == 1:
        return call("get_by_role", quoted(role))
    alone = sum(each.node.tag == element.node.tag for each in document.elements) == 1
    return call("locator", quoted(element.node.tag)) if alone and element.node.tag in {"table", "ol", "ul"} else None


def frame_path_locator(page: int, path: str, documents: Mapping[str, RecordedDocument]) -> str | None:
    """Write the frame locator of a frame path; None if an iframe on the path has no unique selector."""
    written, here = page_name(page), ""
    for step in path.split(".") if path else ():
        document = documents.get(here)
        node = None if document is None else _frame_element(document, int(step))
        selector = None if document is None or node is None else _frame_selector(document, node)
        if selector is None:
            return None
        written = call(f"{written}.frame_locator", quoted(selector))
        here = f"{here}.{step}" if here else step
    return written


def _frame_element(document: RecordedDocument, place: int) -> DomNode | None:
    slots = {number: slot for slot, number in document.frame.extras.frames}
    nodes = list(document.frame.root.walk()) if place in slots else []
    return nodes[slots[place]] if place in slots and slots[place] < len(nodes) else None


def _frame_selector(document: RecordedDocument, node: DomNode) -> str | None:
    name = node.attribute("id") or ""
    if _SIMPLE.fullmatch(name) and document.ids.get(name) == 1:
        return f"#{name}"
    for attribute in ("name", "title", "src"):
        value = node.attribute(attribute) or ""
        alike = sum(each.node.tag == node.tag and each.node.attribute(attribute) == value for each in document.elements)
        if _PLAIN_VALUE.fullmatch(value) and "://" not in value and alike == 1:
            return f'{node.tag}[{attribute}="{value}"]'
    return None


def _without_blanks(text: str) -> str:
    return squeezed(text).replace(" ", "").casefold()
