"""Assert what is new on a page after an action: headings, messages, tables, lists, numbers.

Never asserts masked parts or texts that look like times: the exported test uses the real clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.playwright_locator import by_id, by_kind, by_mark
from eikon_engine.exporters.python_source import Grid, Statement, call, quoted
from eikon_engine.exporters.recorded_document import stands_in
from eikon_engine.trace.redaction import secrets_named_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.identities import Located
    from eikon_engine.exporters.recorded_document import RecordedDocument
    from eikon_engine.trace.dom.tree import DomNode

MOST: Final = 12
"""Maximum number of headings or list items whose texts are asserted; above it, only their count is."""
MOST_CELLS: Final = 60
MOST_MARKED: Final = 4
_AROUND: Final = frozenset({"footer", "header", "menu", "menubar", "nav", "navigation", "tablist"})
_GROUPS: Final = frozenset({"article", "h1", "h2", "h3", "h4", "h5", "h6", "label", "li", "table"})
_DEMANDED_OTHERWISE: Final = _GROUPS | {"alert", "button", "option", "output", "status", "textarea"}
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_MOMENT: Final = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d+\s*(?:ms|s|sec|second|minute|hour|day)s?\s+(?:ago|left)\b|\bjust now\b|\btoday\b|\bago\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-|\b[0-9a-f]{20,}\b",
    re.IGNORECASE,
)
_ANYTHING: Final = 're.compile(".*")'


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A document after an action, and which of its parts may be asserted."""

    document: RecordedDocument
    before: RecordedDocument | None
    """The document of the same frame before the action."""
    kept: frozenset[int] | None
    """Nodes outside masks, by `id(node)`; None if no mask applies to the page."""
    days: tuple[str, ...]
    """Spellings of the day of the recording."""

    @property
    def is_other(self) -> bool:
        """Whether the URL of the frame changed."""
        return self.before is None or self.before.frame.url != self.document.frame.url

    def text(self, node: DomNode) -> str | None:
        """Return the text of a node if it can be asserted, else None."""
        if self.kept is not None and id(node) not in self.kept:
            return None
        text = self.document.text(node)
        if text is None or secrets_named_in(text) or _MOMENT.search(text) or any(day in text for day in self.days):
            return None
        return text


def brought(seen: Seen, frame: str) -> Iterator[Statement]:
    """Yield assertions on new contents of a document; `frame` is the source of its page or frame locator."""
    yield from _headings(seen, frame)
    yield from _messages(seen, frame)
    yield from _tables(seen, frame)
    yield from _lists(seen, frame)
    yield from _cards(seen, frame)
    yield from _marked(seen, frame)


def _headings(seen: Seen, frame: str) -> Iterator[Statement]:
    for level, tag in enumerate(_HEADINGS, start=1):
        here = _of_tag(seen.document, tag)
        if _texts(here) == _texts(_of_tag(seen.before, tag)) and not (seen.is_other and level == 1):
            continue
        shown = [each for each in here if seen.document.is_shown(each)]
        odd = any(each.node.attribute("role") or each.is_in_shadow for each in here)
        foreign = any(each.node.attribute("aria-level") for each in seen.document.elements if each.role == "heading")
        if not shown or len(shown) != len(here) or odd or foreign:
            continue
        if len(shown) == 1:
            text = seen.text(shown[0].node)
            heading = call("get_by_role", quoted("heading"), name=text, level=level)
            if text:
                yield f"expect({frame}.{heading}).to_be_visible()"
        else:
            yield from _items(seen, f"{frame}.{call('get_by_role', quoted('heading'), level=level)}", shown)


def _items(seen: Seen, locator: str, elements: list[Located]) -> Iterator[Statement]:
    """Assert the texts of elements in order, or their count if they are too many or have no stable text."""
    texts = [seen.text(each.node) for each in elements]
    if len(elements) > MOST or not any(texts):
        yield f"expect({locator}).to_have_count({len(elements)})"
    else:
        yield Grid(f"expect({locator}).to_have_text(", tuple((_cell(text),) for text in texts))


def _messages(seen: Seen, frame: str) -> Iterator[Statement]:
    before = _by_path(seen.before)
    for each in seen.document.elements:
        if not (each.role in {"alert", "status"} or each.node.tag == "output") or not seen.document.is_shown(each):
            continue
        text = seen.text(each.node)
        locator = by_kind(seen.document, each)
        if text and locator and (seen.is_other or before.get(each.path) != each.text):
            yield f"expect({frame}.{locator}).to_have_text({quoted(text)})"


def _tables(seen: Seen, frame: str) -> Iterator[Statement]:
    before = [_rows(each) for each in _of_tag(seen.before, "table")]
    for table in _of_tag(seen.document, "table"):
        locator = by_kind(seen.document, table)
        rows = _rows(table)
        nested = any(each.tag == "table" for each in table.node.walk() if each is not table.node)
        if locator is None or nested or not rows or rows in before or not seen.document.is_shown(table):
            continue
        trs = _trs(table.node)
        cells = tuple(tuple(_cell(seen.text(cell)) for cell in row.children if _is_cell(cell)) for row in trs)
        if sum(map(len, cells)) <= MOST_CELLS and any(cell != _ANYTHING for row in cells for cell in row):
            yield Grid(f'expect({frame}.{locator}.locator("th, td")).to_have_text(', tuple(row for row in cells if row))
        else:
            yield f'expect({frame}.{locator}.locator("tr")).to_have_count({len(rows)})'


def _lists(seen: Seen, frame: str) -> Iterator[Statement]:
    before = [_texts(_items_of(seen.before, each)) for tag in ("ol", "ul") for each in _of_tag(seen.before, tag)]
    for tag in ("ol", "ul"):
        for each in _of_tag(seen.document, tag):
            locator = by_kind(seen.document, each)
            items = _items_of(seen.document, each)
            usual = locator is None or stands_in(each, _AROUND) or each.role in _AROUND
            if usual or not items or _texts(items) in before or not seen.document.is_shown(each):
                continue
            selector = by_id(seen.document, each)
            inside = call("locator", quoted(f"{selector} > li")) if selector else f'{locator}.locator("> li")'
            yield from _items(seen, f"{frame}.{inside}", items)


def _cards(seen: Seen, frame: str) -> Iterator[Statement]:
    here = [each for each in _of_tag(seen.document, "article") if not each.node.attribute("role")]
    same = _texts(here) == _texts(_of_tag(seen.before, "article"))
    if len(here) > 1 and not same and all(map(seen.document.is_shown, here)):
        yield f'expect({frame}.get_by_role("article")).to_have_count({len(here)})'


def _marked(seen: Seen, frame: str) -> Iterator[Statement]:
    """Assert short texts with an id: those that changed in place, and on a new page those with a number."""
    before = {} if seen.before is None else {each.node.attribute("id"): each.text for each in seen.before.elements}
    found = 0
    for each in seen.document.elements:
        name = each.node.attribute("id")
        leaf = bool(each.node.children) and all(child.is_text for child in each.node.children)
        usual = {each.role, each.node.tag} & _DEMANDED_OTHERWISE
        if not name or not leaf or usual or before.get(name) == each.text or stands_in(each, _GROUPS):
            continue
        text, locator = seen.text(each.node), by_mark(seen.document, each)
        telling = not seen.is_other or any(letter.isdigit() for letter in each.text)
        if text and locator and telling and seen.document.is_shown(each) and found < MOST_MARKED:
            found += 1
            yield f"expect({frame}.{locator}).to_have_text({quoted(text)})"


def _cell(text: str | None) -> str:
    return _ANYTHING if text is None else quoted(text)


def _of_tag(document: RecordedDocument | None, tag: str) -> list[Located]:
    return [] if document is None else [each for each in document.elements if each.node.tag == tag]


def _items_of(document: RecordedDocument | None, around: Located) -> list[Located]:
    inside = {id(child) for child in around.node.children if child.tag == "li"}
    return [] if document is None else [each for each in document.elements if id(each.node) in inside]


def _texts(elements: list[Located]) -> list[str]:
    return [each.text for each in elements]


def _by_path(document: RecordedDocument | None) -> dict[str, str]:
    return {} if document is None else {each.path: each.text for each in document.elements}


def _rows(table: Located) -> list[list[str]]:
    return [[_raw(cell) for cell in row.children if _is_cell(cell)] for row in _trs(table.node)]


def _trs(table: DomNode) -> list[DomNode]:
    return [each for each in table.walk() if each.tag == "tr"]


def _is_cell(node: DomNode) -> bool:
    return node.tag in {"td", "th"}


def _raw(node: DomNode) -> str:
    return "".join(each.text for each in node.walk() if each.text is not None)
