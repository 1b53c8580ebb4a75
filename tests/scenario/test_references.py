"""A whole reference becomes a value of any type; one inside a text becomes text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from eikon_engine.errors import ScenarioError
from eikon_engine.scenario.references import invalid_references, referenced_names, resolve_references

KNOWN: dict[str, JsonValue] = {
    "fruit": "banana",
    "table": {"rows": [{"price": 0.25, "sold out": False}, None]},
    "mark": "{{fruit}}",
}

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(names, each, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{fruit}}", "banana"),
        ("{{table.rows.0.price}}", 0.25),
        ("{{table.rows}}", [{"price": 0.25, "sold out": False}, None]),
        ("a {{fruit}} for {{table.rows.0.price}}", "a banana for 0.25"),
        ("all: {{table.rows}}", 'all: [{"price":0.25,"sold out":false},null]'),
        ("{{mark}} and {{fruit}}", "{{fruit}} and banana"),
        ("{{ fruit }}", "banana"),
        ("{{ table.rows.0.price\t}}", 0.25),
        ("{{ fruit\n}}", "{{ fruit\n}}"),
        ("{{eikon-secret:fruit}}", "{{eikon-secret:fruit}}"),
        ({"deep": ["{{fruit}}", 1]}, {"deep": ["banana", 1]}),
    ],
)
def test_references_become_values(text: JsonValue, value: JsonValue) -> None:
    """References are replaced by their values."""
    assert resolve_references(text, KNOWN) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{table.rows.2}}", "expected 2 in table.rows, got a list of length 2"),
        ("{{table.columns}}", "expected columns in table, got an object with rows"),
        ("{{fruit.0}}", "expected 0 in fruit, got 'banana'"),
        ("x {{table.rows.1.price}}", "expected price in table.rows.1, got 'null'"),
        ("{{table.rows.-1}}", "expected -1 in table.rows"),
    ],
)
def test_a_path_that_does_not_exist_is_reported(text: str, message: str) -> None:
    """A reference to a missing part of a result names the path and what is there."""
    with pytest.raises(ScenarioError, match=message):
        resolve_references(text, KNOWN)


def test_names_are_found_with_their_places() -> None:
    """Names are returned with their positions."""
    assert sorted(referenced_names({"a": ["{{fruit}}", {"b": "{{table.rows}} {{mark}}"}]})) == [
        (("a", 0), "fruit"),
        (("a", 1, "b"), "mark"),
        (("a", 1, "b"), "table"),
    ]


def test_what_is_meant_for_a_reference_and_is_none_is_found() -> None:
    """Malformed references are found; valid references, secrets and JSON are not reported."""
    strays = ["{{table.rows[0]}}", "{{}}", "{{ eikon-secret:KEY }}", "{{fruit | upper}}"]
    right = ["{{ fruit }}", "{{eikon-secret:KEY}}", '{"a": {"b": 1}}', "{% x %}"]

    assert sorted(invalid_references([*strays, " ".join(right)])) == [
        ((place,), text) for place, text in enumerate(strays)
    ]


@given(name=names, value=values)
def test_a_whole_reference_is_the_value_of_any_type(name: str, value: JsonValue) -> None:
    """A text that is only a reference becomes the value itself, of any type."""
    assert resolve_references(f"{{{{{name}}}}}", {name: value}) == value


@given(value=values)
def test_what_has_no_reference_stays_as_it_is(value: JsonValue) -> None:
    """Text without a reference is unchanged."""
    if not list(referenced_names(value)):
        assert resolve_references(value, {}) == value
