"""The skill `extract_table`: extract one table of a page as records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.errors import SkillError
from eikon_engine.skills.document import Document, parent_element, text_of
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from selectolax.lexbor import LexborNode

_MAX_COLSPAN: Final = 1000
"""Maximum `colspan` in HTML."""
_MAX_DIGITS: Final = 9
_MAX_CELLS: Final = 1_000_000
_CELL_TAGS: Final = frozenset({"td", "th"})
_NESTED_TAGS: Final = frozenset({"table"})


@dataclass(frozen=True, slots=True)
class GridRow:
    """One row: the text of each slot, None where there is no cell."""

    texts: tuple[str | None, ...]
    only_headers: bool
    """Whether the row has cells and all of them are `<th>`."""
    in_head: bool
    """Whether the row is in a `<thead>`."""


def read_grid(table: LexborNode) -> tuple[GridRow, ...]:
    """Lay out the rows of a table: `<thead>` first, `<tfoot>` last, spanning cells repeated in every slot.

    Rows without cells are omitted. Nested tables contribute neither rows nor text.

    Raises:
        SkillError: spans expand the table beyond a million slots.
    """
    groups: dict[str, list[list[LexborNode]]] = {"thead": [], "tbody": [], "tfoot": []}
    for child in table.iter():
        if child.tag in groups:
            groups[child.tag].append([row for row in child.iter() if row.tag == "tr"])
        elif child.tag == "tr":
            groups["tbody"].append([child])
    spanning = {cell.mem_id for cell in table.css("[colspan],[rowspan]")}
    rows: list[GridRow] = []
    for group in groups["thead"]:
        rows.extend(_group_rows(group, spanning, in_head=True))
    for group in (*groups["tbody"], *groups["tfoot"]):
        rows.extend(_group_rows(group, spanning, in_head=False))
    return tuple(row for row in rows if row.texts)


def _group_rows(group: Sequence[LexborNode], spanning: set[int], *, in_head: bool) -> list[GridRow]:
    cells = [[cell for cell in row.iter() if cell.tag in _CELL_TAGS] for row in group]
    if spanning and any(cell.mem_id in spanning for row in cells for cell in row):
        texts = _lay_out(cells, spanning)
    else:
        texts = [[text_of(cell, excluded=_NESTED_TAGS) for cell in row] for row in cells]
    return [
        GridRow(texts=tuple(slots), only_headers=bool(row) and all(cell.tag == "th" for cell in row), in_head=in_head)
        for row, slots in zip(cells, texts, strict=True)
    ]


def _lay_out(rows: Sequence[Sequence[LexborNode]], spanning: set[int]) -> list[list[str | None]]:
    """Fill the slots of one row group; a rowspan ends with its group."""
    slots: list[list[str | None]] = [[] for _ in rows]
    taken: list[set[int]] = [set() for _ in rows]
    filled = 0
    for index, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in taken[index]:
                column += 1
            width, height = _span(cell, len(rows) - index) if cell.mem_id in spanning else (1, 1)
            filled += width * height
            _check_cell_count(filled)
            text = text_of(cell, excluded=_NESTED_TAGS)
            for below in range(index, index + height):
                _fill_slots(slots[below], range(column, column + width), text)
                taken[below].update(range(column, column + width))
            column += width
    return slots


def _fill_slots(slots: list[str | None], columns: range, text: str) -> None:
    if columns.stop > len(slots):
        slots.extend([None] * (columns.stop - len(slots)))
    for column in columns:
        slots[column] = text


def _span(cell: LexborNode, rows_left: int) -> tuple[int, int]:
    attributes = cell.attributes
    width = min(_whole_number(attributes.get("colspan"), 1) or 1, _MAX_COLSPAN)
    height = _whole_number(attributes.get("rowspan"), 1) or rows_left
    return width, min(height, rows_left)


def _whole_number(text: str | None, default: int) -> int:
    digits = (text or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS else default


def _check_cell_count(cells: int) -> None:
    if cells > _MAX_CELLS:
        message = f"extract_table: the spans of this table expand to more than {_MAX_CELLS} cells"
        raise SkillError(message)


_NAME: Final = "extract_table"
_PRESENTATION_ROLES: Final = frozenset({"presentation", "none"})
_MAX_LISTED: Final = 10

Header = Literal["auto", "first-row", "none"]


class TableParameters(Parameters):
    """The table to extract, and the location of its column names."""

    selector: str | None = None
    """CSS selector of exactly one table; if None, the page must have exactly one."""
    header: Header = "auto"
    """`auto`: the rows of `<thead>`, else the leading rows that consist of `<th>`, else none."""


class Table(Output):
    """The rows of a table."""

    columns: tuple[str, ...]
    """Unique names of the columns."""
    rows: tuple[dict[str, str | None], ...]
    """Cell texts by column name; null where the row has no cell."""
    row_count: int


class ExtractTable(TypedSkill[TableParameters, Table]):
    """Return the rows of one table as records keyed by column name."""

    name = _NAME
    version = 1
    description = "Extract the rows of a table, keyed by its column names."
    parameters = TableParameters
    output = Table
    example = SkillInput(
        html="<table><tr><th>Name<th>Price</tr><tr><td>Banana<td>1.99</tr></table>", url="https://shop.example/"
    )

    def analyze(self, document: Document, parameters: TableParameters) -> Table:
        """Extract the selected table.

        Raises:
            SkillError: not exactly one table matches.
        """
        rows = read_grid(_select_table(document, parameters.selector))
        head = _count_head_rows(rows, parameters.header)
        width = max((len(row.texts) for row in rows), default=0)
        columns = _unique_names(_column_name(rows[:head], column) for column in range(width))
        padding = (None,) * width
        records = tuple(dict(zip(columns, row.texts + padding[len(row.texts) :], strict=True)) for row in rows[head:])
        return Table(columns=columns, rows=records, row_count=len(records))


def _select_table(document: Document, selector: str | None) -> LexborNode:
    if selector is None:
        tables = [node for node in document.tree.css("table") if node.attributes.get("role") not in _PRESENTATION_ROLES]
        if len(tables) == 1:
            return tables[0]
        raise SkillError(_ambiguous_table_message(tables))
    found = document.select(selector, f"{_NAME}: parameter 'selector'")
    if len(found) != 1:
        message = f"{_NAME}: expected one table for selector {selector!r}, got {len(found)} elements"
        raise SkillError(message)
    if found[0].tag != "table":
        message = f"{_NAME}: expected a table for selector {selector!r}, got <{found[0].tag}>. Select the table itself."
        raise SkillError(message)
    return found[0]


def _ambiguous_table_message(tables: Sequence[LexborNode]) -> str:
    if not tables:
        return f"{_NAME}: the page has no table"
    listed = "; ".join(_describe_table(number, table) for number, table in enumerate(tables[:_MAX_LISTED], start=1))
    more = f"; and {len(tables) - _MAX_LISTED} more" if len(tables) > _MAX_LISTED else ""
    return f"{_NAME}: expected one table, got {len(tables)} ({listed}{more}). Select one with the parameter 'selector'."


def _describe_table(number: int, table: LexborNode) -> str:
    caption = next((text_of(child) for child in table.iter() if child.tag == "caption"), "")
    identity = table.attributes.get("id")
    rows = sum(
        1 for row in table.css("tr") if (around := _enclosing_table(row)) is not None and around.mem_id == table.mem_id
    )
    size = "1 row" if rows == 1 else f"{rows} rows"
    parts = (f"table {number}", f'"{caption}"' if caption else "", f"id={identity}" if identity else "", size)
    return ", ".join(part for part in parts if part)


def _enclosing_table(node: LexborNode) -> LexborNode | None:
    current = parent_element(node)
    while current is not None and current.tag != "table":
        current = parent_element(current)
    return current


def _count_head_rows(rows: Sequence[GridRow], header: Header) -> int:
    if header == "none":
        return 0
    if header == "first-row":
        return min(1, len(rows))
    in_head = sum(row.in_head for row in rows)
    if in_head:
        return in_head
    return next((index for index, row in enumerate(rows) if not row.only_headers), len(rows))


def _column_name(head: Sequence[GridRow], column: int) -> str:
    """Join the distinct header texts of a column, outermost first."""
    texts = (row.texts[column] for row in head if column < len(row.texts))
    return " / ".join(dict.fromkeys(text for text in texts if text))


def _unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Make names unique: a second `price` becomes `price (2)`, an empty third name becomes `column 3`."""
    given: dict[str, None] = {}
    for position, name in enumerate(names, start=1):
        expected = name or f"column {position}"
        unique, number = expected, 1
        while unique in given:
            number += 1
            unique = f"{expected} ({number})"
        given[unique] = None
    return tuple(given)
