"""Every text is exported as a literal, and no line is too long."""

from __future__ import annotations

import ast

from hypothesis import example, given
from hypothesis import strategies as st

from eikon_engine.exporters.python_source import (
    Block,
    Grid,
    call_source,
    comment_lines,
    docstring_source,
    regex_literal,
    render_statements,
    string_literal,
    value_source,
)

ODD = [
    '"',
    "'",
    '"""',
    "'''",
    "\\",
    "\n",
    "\r",
    "\u2028",
    "\x85",
    "\x0c",
    "\x00",
    "\ud800",
    "{{",
    "}",
    "#",
    "é",
    " ",
    "a",
]
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(ODD), max_size=200).map("".join)
LONGEST = 120


def lines_of(source: str) -> list[str]:
    """Read a source back in lines, none of which may be too long."""
    lines = source.split("\n")
    assert max(map(len, lines)) <= LONGEST
    return lines


@given(TEXTS)
@example('")\nimport os\n("')
def test_a_text_is_one_literal_on_one_line(text: str) -> None:
    """The literal evaluates to the text, and contains no line separator of any kind."""
    assert ast.literal_eval(string_literal(text)) == text
    assert len(string_literal(text).splitlines()) == 1
    assert ast.literal_eval(regex_literal(text)) == text


@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(0, 3))
@example(["0" * 17 + "\x1f" * 4 + "\b\b\U000118f3\U00012544\U00012544\U00018d09\U00018d09\U0002ebe1"], 2)
def test_a_long_call_is_the_same_call(texts: list[str], depth: int) -> None:
    """Wrapping a call changes only its line breaks."""
    line = call_source("page.locator", string_literal(texts[0])) + call_source(
        ".click", *map(string_literal, texts[1:]), name=texts[0], position=[1.5]
    )
    blocks = [line]
    for _ in range(depth):
        blocks = [Block("if page:", tuple(blocks))]  # type: ignore[list-item] # statements of every kind

    source = "\n".join(lines_of("\n".join(render_statements(blocks))))

    plain = "\n".join([*("    " * number + "if page:" for number in range(depth)), "    " * depth + line])
    assert ast.dump(ast.parse(source)) == ast.dump(ast.parse(plain))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
FILLS_ITS_LINE = {"": None, "0" * 37: {"0" * 26: {"": -1}, "0" * 14: [None]}}


@given(VALUES)
@example(FILLS_ITS_LINE)
def test_a_long_value_is_the_same_value(value: object) -> None:
    """Lists and dictionaries are wrapped at their commas, and texts in them are split; a line may be full."""
    call = call_source("page.evaluate", string_literal(""), value_source(value))

    source = "\n".join(lines_of("\n".join(render_statements([Block("if page:", (call,))]))))

    assert ast.dump(ast.parse(source)) == ast.dump(ast.parse(f"if page:\n    {call}"))


@given(TEXTS)
def test_a_long_comparison_is_the_same_comparison(text: str) -> None:
    """Long texts are put in parentheses."""
    line = f"assert page.title() == {string_literal(text)}"

    source = "\n".join(lines_of("\n".join(render_statements([line]))))

    assert ast.dump(ast.parse(source)) == ast.dump(ast.parse(line))


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_grid_is_one_list(rows: list[list[str]]) -> None:
    """A table is written as a flat list of cells, with one row per line."""
    grid = Grid("len(", tuple(tuple(map(string_literal, row)) for row in rows))

    source = "\n".join(lines_of("\n".join(render_statements([grid]))))

    assert ast.literal_eval(source.removeprefix("len")) == [text for row in rows for text in row]


@given(st.lists(TEXTS, min_size=1, max_size=4))
@example(['"""\nimport os\n"""'])
@example(["ends with \\"])
@example(["- a" * 90, "- b"])
def test_a_docstring_is_nothing_but_text(texts: list[str]) -> None:
    """No text can end the docstring early."""
    (statement,) = ast.parse("\n".join(lines_of(docstring_source(texts)))).body

    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Constant)


@given(TEXTS)
def test_a_comment_is_nothing_but_comment(text: str) -> None:
    """No text can end the comment."""
    lines = comment_lines(text)

    assert ast.parse("\n".join(lines)).body == []
    assert all(line.startswith("#") for line in "\n".join(lines).splitlines())
