"""The skill `extract_table`."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import SkillError
from eikon_engine.skills import SkillInput
from eikon_engine.skills.extract_table import ExtractTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.files.json_text import JsonValue


def extracted(markup: str, **parameters: JsonValue) -> JsonValue:
    """Run the skill on markup."""
    return ExtractTable().run(SkillInput(html=markup, url="https://site.example/", parameters=parameters))


def test_heads_spans_feet_and_nested_tables(stored_page: Callable[..., SkillInput]) -> None:
    """Two header rows are joined; spans are repeated; the foot comes last; a nested table is omitted."""
    result = ExtractTable().run(stored_page("timetable", selector="#departures"))

    late, foot = "late 10 min", "as of 8:00"
    assert result == {
        "columns": ["Line", "Platform / plan", "Platform / today", "column 4"],
        "rows": [
            {"Line": "S1", "Platform / plan": "1", "Platform / today": "2", "column 4": late},
            {"Line": "S2", "Platform / plan": "3", "Platform / today": "3", "column 4": late},
            {"Line": "S3", "Platform / plan": "4", "Platform / today": None, "column 4": None},
            {"Line": foot, "Platform / plan": foot, "Platform / today": foot, "column 4": foot},
        ],
        "row_count": 4,
    }


def test_duplicate_and_empty_names_are_made_unique(stored_page: Callable[..., SkillInput]) -> None:
    """A second `price` and an unnamed column get unique names; missing cells are null."""
    result = ExtractTable().run(stored_page("two_tables", selector="#prices"))

    assert result == {
        "columns": ["name", "price", "price (2)", "column 4"],
        "rows": [
            {"name": "Banana", "price": "1.99", "price (2)": "1.79", "column 4": "*"},
            {"name": "Kiwi", "price": "0.49", "price (2)": None, "column 4": None},
        ],
        "row_count": 2,
    }


def test_a_name_that_looks_made_up_is_not_given_twice() -> None:
    """A literal name `a (2)` does not collide with a generated one."""
    result = extracted("<table><tr><th>a<th>a<th>a (2)<tr><td>1<td>2<td>3</table>")

    assert result == {
        "columns": ["a", "a (2)", "a (2) (2)"],
        "rows": [{"a": "1", "a (2)": "2", "a (2) (2)": "3"}],
        "row_count": 1,
    }


@pytest.mark.parametrize(
    ("header", "columns", "count"),
    [("auto", ["column 1", "column 2"], 2), ("first-row", ["a", "b"], 1), ("none", ["column 1", "column 2"], 2)],
)
def test_the_header_option_gives_the_row_of_the_names(header: str, columns: list[str], count: int) -> None:
    """Without `<th>` the first row is a header only on request."""
    result = extracted("<table><tr><td>a<td>b<tr><td>1<td>2</table>", header=header)

    assert isinstance(result, dict)
    assert (result["columns"], result["row_count"]) == (columns, count)


def test_a_layout_table_is_not_counted() -> None:
    """A table declared as layout does not make the data table ambiguous."""
    result = extracted("<table role=presentation><tr><td>x</table><table><tr><td>1</table>")

    assert result == {"columns": ["column 1"], "rows": [{"column 1": "1"}], "row_count": 1}


def test_a_table_in_a_shadow_root_is_found_and_one_in_a_template_is_not() -> None:
    """Declarative shadow roots are part of the page; other templates are not."""
    table = "<table><tr><td>{}</table>"
    shadow = f"<x-a><template shadowrootmode=open><p>{table.format('in')}</template></x-a>"

    result = extracted(shadow + f"<template>{table.format('out')}</template>", selector="x-a table")

    assert result == extracted(table.format("in"))


def test_rowspan_zero_reaches_to_the_end_of_its_group_only() -> None:
    """A span never leaves its row group."""
    result = extracted(
        "<table><tbody><tr><td rowspan=0>g<td>1<tr><td>2<tbody><tr><td>h<td>3</table>",
    )

    assert isinstance(result, dict)
    assert result["rows"] == [
        {"column 1": "g", "column 2": "1"},
        {"column 1": "g", "column 2": "2"},
        {"column 1": "h", "column 2": "3"},
    ]


def test_broken_html_is_read_as_a_browser_reads_it(stored_page: Callable[..., SkillInput]) -> None:
    """Unclosed rows, cells and attributes do not stop the skill."""
    result = ExtractTable().run(stored_page("broken"))

    assert result == {
        "columns": ["name", "size"],
        "rows": [{"name": "a<b", "size": "1 kB"}, {"name": "c d", "size": "2 rest bold more"}],
        "row_count": 2,
    }


def test_several_tables_without_a_selector_are_listed(stored_page: Callable[..., SkillInput]) -> None:
    """The skill does not guess which table was meant."""
    with pytest.raises(SkillError) as raised:
        ExtractTable().run(stored_page("two_tables"))

    assert raised.value.message == (
        'extract_table: expected one table, got 2 (table 1, "Prices", id=prices, 3 rows; table 2, 1 row). '
        "Select one with the parameter 'selector'."
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"selector": ".none"}, "expected one table for .*, got 0 elements"),
        ({"selector": "table"}, "expected one table for .*, got 2 elements"),
        ({"selector": "#prices th:first-child"}, "got <th>"),
        ({"selector": "table["}, "parameter 'selector': expected a standard CSS selector"),
        ({"selektor": "table"}, "unknown parameter 'selektor'. Known parameters: header, selector"),
        ({"selector": 3}, "parameter 'selector': .*got 3. Known parameters: header, selector"),
        ({"header": "last"}, "parameter 'header': .*'auto', 'first-row' or 'none', got 'last'"),
    ],
)
def test_wrong_parameters_are_refused(
    stored_page: Callable[..., SkillInput], parameters: dict[str, JsonValue], message: str
) -> None:
    """Each wrong parameter is named with its actual value."""
    with pytest.raises(SkillError, match=message):
        ExtractTable().run(stored_page("two_tables", **parameters))


@pytest.mark.parametrize("markup", ["", "   ", "<", "plain", "<p>no table", "\ud800"])
def test_a_page_without_a_table_is_an_error(markup: str) -> None:
    """The error names an empty document or the missing table."""
    with pytest.raises(SkillError, match="the page has no table"):
        extracted(markup)


def test_a_table_without_rows_is_empty() -> None:
    """A table without rows is a valid result."""
    assert extracted("<table></table>") == {"columns": [], "rows": [], "row_count": 0}


def test_spans_that_explode_are_refused() -> None:
    """A small page cannot cause a huge grid."""
    rows = "<tr><td colspan=1000 rowspan=2000></td></tr>" * 2000

    with pytest.raises(SkillError, match="more than 1000000 cells"):
        extracted(f"<table>{rows}</table>")


_CELL = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zs", "Zl", "Zp")), max_size=8)
_TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(_CELL, min_size=width, max_size=width), min_size=1, max_size=6)
)


@given(cells=_TABLES)
def test_a_generated_table_gives_back_its_cells(cells: list[list[str]]) -> None:
    """Any cell text is returned exactly, and deterministically."""
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)

    result = extracted(f"<table>{rows}</table>")

    names = [f"column {position}" for position in range(1, len(cells[0]) + 1)]
    assert result == {
        "columns": names,
        "rows": [dict(zip(names, row, strict=True)) for row in cells],
        "row_count": len(cells),
    }
    assert result == extracted(f"<table>{rows}</table>")


@given(markup=st.text("<>/table trdh=\"'&#x; -!", max_size=80))
def test_no_markup_raises_another_error(markup: str) -> None:
    """Any text gives a result or a `SkillError`."""
    try:
        result = extracted(f"<table>{markup}")
    except SkillError:
        return
    assert isinstance(result, dict)


def test_a_span_that_overshoots_ends_with_its_group() -> None:
    """A rowspan beyond the end of its group is not an error."""
    result = extracted("<table><tr><td rowspan=9>a<td>b</table>")

    assert result == {"columns": ["column 1", "column 2"], "rows": [{"column 1": "a", "column 2": "b"}], "row_count": 1}
