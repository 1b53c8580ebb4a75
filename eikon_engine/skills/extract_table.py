"""The skill `extract_table`: extract one table of a page as records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.errors import SkillError
from eikon_engine.skills.document import Document, parent_element, text_of
from eikon_engine.skills.parameters import Parameters
from eikon_engine.skills.protocol import SkillInput
from eikon_engine.skills.table_grid import GridRow, read_grid
from eikon_engine.skills.typed_skill import Output, TypedSkill

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from selectolax.lexbor import LexborNode

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
        wanted = name or f"column {position}"
        unique, number = wanted, 1
        while unique in given:
            number += 1
            unique = f"{wanted} ({number})"
        given[unique] = None
    return tuple(given)
