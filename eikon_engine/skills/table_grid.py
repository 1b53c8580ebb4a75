"""Lay out the cells of an HTML table on a grid, by the table model of HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import SkillError
from eikon_engine.skills.document import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

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
