"""Tell whether a number that varies in a page is an amount of money, which no mask may hide.

A page says so in the text of the number, in a text beside it, such as the header of its column, or in the name of an
element or attribute.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.dom.paths import NodesByPath
from eikon_engine.files.text import read_digits
from eikon_engine.network.drawn_values import is_money_name
from eikon_engine.skills.money import has_currency

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eikon_engine.divergence.dom_diff import DomChange
    from eikon_engine.dom import DomNode, PageSnapshot

_NAMING_ATTRIBUTES: Final = frozenset(
    {"aria-label", "class", "data-cy", "data-label", "data-qa", "data-test", "data-testid", "data-title", "id"}
    | {"itemprop", "name", "property", "title"}
)
_MAX_LENGTH: Final = 200
"""Longer texts around a number may be about money elsewhere."""
_CELLS: Final = frozenset({"td", "th"})
_LABELLED: Final = _CELLS | {"dd"}
"""Elements whose labels count instead of what else is beside them."""
_ROW_GROUPS: Final = frozenset({"tbody", "tfoot", "thead"})
_DIGIT: Final = re.compile(r"\d")


def is_about_money(text: str) -> bool:
    """Return whether a text has a currency, or a word such as `price` or `dollars`."""
    return has_currency(text) or is_money_name(text)


class PageMoney:
    """Tells which changes of one page are about money; keeps what it found out about the page."""

    def __init__(self, page: PageSnapshot) -> None:
        """Look at a page as it was before the changes."""
        self._frames = {frame.path: _FrameMoney(frame.root) for frame in page.frames}

    def is_money(self, change: DomChange) -> bool:
        """Return whether a text or attribute that changed, and has a number, is about money."""
        if change.kind not in {"text", "attribute"} or not any(map(_DIGIT.search, change.whole)):
            return False
        if is_money_name(change.name) or any(map(is_about_money, change.whole)):
            return True
        frame = self._frames.get(change.frame)
        return frame is not None and frame.is_money(change.path)


class _FrameMoney:
    """Tells which elements of one document are about money."""

    def __init__(self, root: DomNode) -> None:
        self._root = root
        self._nodes = NodesByPath(root)
        self._texts: dict[int, str | None] = {}
        self._beside: dict[int, Mapping[int, DomNode]] = {}
        self._columns: dict[int, Mapping[int, Sequence[DomNode]]] = {}
        self._labels: dict[str, DomNode] | None = None

    def is_money(self, path: str) -> bool:
        """Return whether the element at a path is about money, by its text, its names and its labels."""
        elements = [node for node in self._nodes.find(path) if not node.is_text]
        around = tuple(self._around(elements))
        names = (value for node in around for name, value in node.attributes if name in _NAMING_ATTRIBUTES)
        if any(map(is_money_name, names)):
            return True
        return any(is_about_money(self._text(node) or "") for node in (*around, *self._labels_of(elements)))

    def _around(self, elements: Sequence[DomNode]) -> Iterator[DomNode]:
        """Yield the last of some nested elements, and those around it up to a cell, or the first one with a word."""
        inner = ""
        for element in reversed(elements):
            text = self._text(element)
            if text != inner and any(map(str.isalpha, inner)):
                return
            yield element
            if text is None or element.tag in _LABELLED:
                return
            inner = text

    def _text(self, element: DomNode) -> str | None:
        """Return the text of an element; None if it is long."""
        if id(element) not in self._texts:
            self._texts[id(element)] = _short_text(element)
        return self._texts[id(element)]

    def _labels_of(self, elements: Sequence[DomNode]) -> Iterator[DomNode]:
        """Yield the labels of the last of some nested elements: header of its column, words in its row, term, label."""
        for place in range(len(elements) - 1, 0, -1):
            element, parent = elements[place], elements[place - 1]
            label = self._labels_by_id.get(element.attribute("id") or "") or self._labels_beside(parent).get(
                id(element)
            )
            if label is not None:
                yield label
            if element.tag in _CELLS:
                yield from (cell for cell in parent.children if cell is not element and self._is_label(cell))
                table = next((each for each in reversed(elements[:place]) if each.tag == "table"), None)
                yield from () if table is None else self._headers_of(table).get(id(element), ())
            if element.tag in _LABELLED:
                return

    def _is_label(self, cell: DomNode) -> bool:
        """Return whether a cell names others of its row: a header, or one without a number."""
        return cell.tag == "th" or (cell.tag == "td" and _DIGIT.search(self._text(cell) or "") is None)

    @property
    def _labels_by_id(self) -> dict[str, DomNode]:
        """Labels by the id of the element that they name."""
        if self._labels is None:
            labels = (node for node in self._root.walk() if node.tag == "label")
            self._labels = {name: node for node in labels if (name := node.attribute("for"))}
        return self._labels

    def _labels_beside(self, parent: DomNode) -> Mapping[int, DomNode]:
        """Return the labels of child elements that precede them, by the `id()` of the child."""
        if id(parent) not in self._beside:
            found: dict[int, DomNode] = {}
            term = before = None
            for child in parent.children:
                if child.is_text:
                    continue
                if child.tag == "dd" and term is not None:
                    found[id(child)] = term
                elif before is not None and before.tag == "label":
                    found[id(child)] = before
                term = child if child.tag == "dt" else term
                before = child
            self._beside[id(parent)] = found
        return self._beside[id(parent)]

    def _headers_of(self, table: DomNode) -> Mapping[int, Sequence[DomNode]]:
        """Return the cells that head the columns of a table, by the `id()` of the cells below them."""
        if id(table) not in self._columns:
            columns: dict[int, list[DomNode]] = {}
            found: dict[int, Sequence[DomNode]] = {}
            for row, is_head in _rows(table):
                for cell, places in _cell_columns(row):
                    if is_head:
                        for place in places:
                            columns.setdefault(place, []).append(cell)
                    else:
                        found[id(cell)] = columns.get(places[0], ())
            self._columns[id(table)] = found
        return self._columns[id(table)]


def _rows(table: DomNode) -> Iterator[tuple[DomNode, bool]]:
    """Yield the rows of a table, and whether they head its columns: those of its head, else the first one."""
    has_head = any(group.tag == "thead" for group in table.children)
    is_first = True
    for group in table.children:
        for row in group.children if group.tag in _ROW_GROUPS else (group,):
            if row.tag == "tr":
                yield row, group.tag == "thead" if has_head else is_first
                is_first = False


def _cell_columns(row: DomNode) -> Iterator[tuple[DomNode, range]]:
    """Yield the cells of a row with the columns that they span."""
    begin = 0
    for cell in row.children:
        if cell.tag in _CELLS:
            span = cell.attribute("colspan") or ""
            width = min(max(read_digits(span), 1), _MAX_LENGTH) if span.isdecimal() else 1
            yield cell, range(begin, begin + width)
            begin += width


def _short_text(element: DomNode) -> str | None:
    parts: list[str] = []
    length = 0
    for node in element.walk():
        if node.text is not None and (text := node.text.strip()):
            parts.append(text)
            length += len(text) + 1
            if length > _MAX_LENGTH + 1:
                return None
    return " ".join(parts)
