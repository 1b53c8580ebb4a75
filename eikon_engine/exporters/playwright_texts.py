"""Assert what is new on a page after an action: headings, messages, tables, lists, numbers.

Never asserts masked parts or texts that look like times: the exported test uses the real clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.playwright_locator import css_by_id, locator_by_id, locator_by_kind
from eikon_engine.exporters.python_source import Grid, Statement, call_source, string_literal
from eikon_engine.exporters.recorded_document import has_ancestor
from eikon_engine.trace.redaction import secret_names_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.identities import LocatedElement
    from eikon_engine.exporters.recorded_document import RecordedDocument
    from eikon_engine.trace.dom.tree import DomNode

MAX_ITEMS: Final = 12
"""Maximum number of headings or list items whose texts are asserted; above it, only their count is."""
MAX_CELLS: Final = 60
MAX_MARKED: Final = 4
_FURNITURE: Final = frozenset({"footer", "header", "menu", "menubar", "nav", "navigation", "tablist"})
_GROUPS: Final = frozenset({"article", "h1", "h2", "h3", "h4", "h5", "h6", "label", "li", "table"})
_ASSERTED_ELSEWHERE: Final = _GROUPS | {"alert", "button", "option", "output", "status", "textarea"}
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_TIME_TEXT: Final = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d+\s*(?:ms|s|sec|second|minute|hour|day)s?\s+(?:ago|left)\b|\bjust now\b|\btoday\b|\bago\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-|\b[0-9a-f]{20,}\b",
    re.IGNORECASE,
)
_ANY_TEXT: Final = 're.compile(".*")'


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedDocument:
    """A document after an action, and which of its parts may be asserted."""

    document: RecordedDocument
    before: RecordedDocument | None
    """The document of the same frame before the action."""
    unmasked: frozenset[int] | None
    """Nodes outside masks, by `id(node)`; None if no mask applies to the page."""
    date_spellings: tuple[str, ...]
    """Spellings of the day of the recording."""

    @property
    def is_new_url(self) -> bool:
        """Whether the URL of the frame changed."""
        return self.before is None or self.before.frame.url != self.document.frame.url

    def text(self, node: DomNode) -> str | None:
        """Return the text of a node if it can be asserted, else None."""
        if self.unmasked is not None and id(node) not in self.unmasked:
            return None
        text = self.document.text(node)
        if (
            text is None
            or secret_names_in(text)
            or _TIME_TEXT.search(text)
            or any(day in text for day in self.date_spellings)
        ):
            return None
        return text


def document_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    """Yield assertions on new contents of a document; `frame` is the source of its page or frame locator."""
    yield from _heading_assertions(seen, frame)
    yield from _message_assertions(seen, frame)
    yield from _table_assertions(seen, frame)
    yield from _list_assertions(seen, frame)
    yield from _card_assertions(seen, frame)
    yield from _marked_text_assertions(seen, frame)


def _heading_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    for level, tag in enumerate(_HEADINGS, start=1):
        here = _of_tag(seen.document, tag)
        if _element_texts(here) == _element_texts(_of_tag(seen.before, tag)) and not (seen.is_new_url and level == 1):
            continue
        shown = [each for each in here if seen.document.is_shown(each)]
        odd = any(each.node.attribute("role") or each.is_shadow_child for each in here)
        foreign = any(each.node.attribute("aria-level") for each in seen.document.elements if each.role == "heading")
        if not shown or len(shown) != len(here) or odd or foreign:
            continue
        if len(shown) == 1:
            text = seen.text(shown[0].node)
            heading = call_source("get_by_role", string_literal("heading"), name=text, level=level)
            if text:
                yield f"expect({frame}.{heading}).to_be_visible()"
        else:
            yield from _item_assertions(
                seen, f"{frame}.{call_source('get_by_role', string_literal('heading'), level=level)}", shown
            )


def _item_assertions(seen: ObservedDocument, locator: str, elements: list[LocatedElement]) -> Iterator[Statement]:
    """Assert the texts of elements in order, or their count if they are too many or have no stable text."""
    texts = [seen.text(each.node) for each in elements]
    if len(elements) > MAX_ITEMS or not any(texts):
        yield f"expect({locator}).to_have_count({len(elements)})"
    else:
        yield Grid(f"expect({locator}).to_have_text(", tuple((_cell_source(text),) for text in texts))


def _message_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    before = _by_path(seen.before)
    for each in seen.document.elements:
        if not (each.role in {"alert", "status"} or each.node.tag == "output") or not seen.document.is_shown(each):
            continue
        text = seen.text(each.node)
        locator = locator_by_kind(seen.document, each)
        if text and locator and (seen.is_new_url or before.get(each.path) != each.text):
            yield f"expect({frame}.{locator}).to_have_text({string_literal(text)})"


def _table_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    before = [_raw_cells(each) for each in _of_tag(seen.before, "table")]
    for table in _of_tag(seen.document, "table"):
        locator = locator_by_kind(seen.document, table)
        rows = _raw_cells(table)
        nested = any(each.tag == "table" for each in table.node.walk() if each is not table.node)
        if locator is None or nested or not rows or rows in before or not seen.document.is_shown(table):
            continue
        trs = _table_rows(table.node)
        cells = tuple(tuple(_cell_source(seen.text(cell)) for cell in row.children if _is_cell(cell)) for row in trs)
        if sum(map(len, cells)) <= MAX_CELLS and any(cell != _ANY_TEXT for row in cells for cell in row):
            yield Grid(f'expect({frame}.{locator}.locator("th, td")).to_have_text(', tuple(row for row in cells if row))
        else:
            yield f'expect({frame}.{locator}.locator("tr")).to_have_count({len(rows)})'


def _list_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    before = [
        _element_texts(_items_of(seen.before, each)) for tag in ("ol", "ul") for each in _of_tag(seen.before, tag)
    ]
    for tag in ("ol", "ul"):
        for each in _of_tag(seen.document, tag):
            locator = locator_by_kind(seen.document, each)
            items = _items_of(seen.document, each)
            usual = locator is None or has_ancestor(each, _FURNITURE) or each.role in _FURNITURE
            if usual or not items or _element_texts(items) in before or not seen.document.is_shown(each):
                continue
            selector = css_by_id(seen.document, each)
            inside = (
                call_source("locator", string_literal(f"{selector} > li")) if selector else f'{locator}.locator("> li")'
            )
            yield from _item_assertions(seen, f"{frame}.{inside}", items)


def _card_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    here = [each for each in _of_tag(seen.document, "article") if not each.node.attribute("role")]
    same = _element_texts(here) == _element_texts(_of_tag(seen.before, "article"))
    if len(here) > 1 and not same and all(map(seen.document.is_shown, here)):
        yield f'expect({frame}.get_by_role("article")).to_have_count({len(here)})'


def _marked_text_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    """Assert short texts with an id: those that changed in place, and on a new page those with a number."""
    before = {} if seen.before is None else {each.node.attribute("id"): each.text for each in seen.before.elements}
    found = 0
    for each in seen.document.elements:
        name = each.node.attribute("id")
        leaf = bool(each.node.children) and all(child.is_text for child in each.node.children)
        usual = {each.role, each.node.tag} & _ASSERTED_ELSEWHERE
        if not name or not leaf or usual or before.get(name) == each.text or has_ancestor(each, _GROUPS):
            continue
        text, locator = seen.text(each.node), locator_by_id(seen.document, each)
        telling = not seen.is_new_url or any(letter.isdigit() for letter in each.text)
        if text and locator and telling and seen.document.is_shown(each) and found < MAX_MARKED:
            found += 1
            yield f"expect({frame}.{locator}).to_have_text({string_literal(text)})"


def _cell_source(text: str | None) -> str:
    return _ANY_TEXT if text is None else string_literal(text)


def _of_tag(document: RecordedDocument | None, tag: str) -> list[LocatedElement]:
    return [] if document is None else [each for each in document.elements if each.node.tag == tag]


def _items_of(document: RecordedDocument | None, around: LocatedElement) -> list[LocatedElement]:
    inside = {id(child) for child in around.node.children if child.tag == "li"}
    return [] if document is None else [each for each in document.elements if id(each.node) in inside]


def _element_texts(elements: list[LocatedElement]) -> list[str]:
    return [each.text for each in elements]


def _by_path(document: RecordedDocument | None) -> dict[str, str]:
    return {} if document is None else {each.path: each.text for each in document.elements}


def _raw_cells(table: LocatedElement) -> list[list[str]]:
    return [[_raw_text(cell) for cell in row.children if _is_cell(cell)] for row in _table_rows(table.node)]


def _table_rows(table: DomNode) -> list[DomNode]:
    return [each for each in table.walk() if each.tag == "tr"]


def _is_cell(node: DomNode) -> bool:
    return node.tag in {"td", "th"}


def _raw_text(node: DomNode) -> str:
    return "".join(each.text for each in node.walk() if each.text is not None)
