"""Differences of JSON values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.files.json_text import JsonValue, canonical_json
from eikon_engine.outcome.json_diff import JsonChange, JsonChangeKind, diff_json, render_json_diff

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", 1.0]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


def rows(*names: str) -> list[JsonValue]:
    """Return rows of a table."""
    return [{"name": name, "price": "1.00", "unit": "kg"} for name in names]


def places(expected: JsonValue, observed: JsonValue) -> list[tuple[str, str]]:
    """Return kind and path of each change."""
    return [(change.kind.value, change.path) for change in diff_json(expected, observed)]


def test_a_changed_cell_is_one_change() -> None:
    """The path leads to the value that differs."""
    expected: JsonValue = {"rows": [{"price": "1.00"}, {"price": "2.00"}]}
    observed: JsonValue = {"rows": [{"price": "1.00"}, {"price": "2.50"}]}

    assert diff_json(expected, observed) == (
        JsonChange(kind=JsonChangeKind.CHANGED, path="$.rows[1].price", expected="2.00", observed="2.50"),
    )


def test_an_inserted_row_is_one_addition() -> None:
    """Rows after an insertion are not reported."""
    assert places(rows("a", "b", "c"), rows("a", "new", "b", "c")) == [("added", "$[1]")]
    assert places(rows("a", "b", "c"), rows("b", "c")) == [("removed", "$[0]")]


def test_an_insertion_next_to_a_change_is_recognized() -> None:
    """The changed row is paired with the similar one; the other one is new."""
    expected = rows("a", "b", "c")
    changed: JsonValue = {"name": "b", "price": "9.99", "unit": "kg"}
    inserted: JsonValue = {"name": "new", "price": "5", "unit": "l"}

    observed: list[JsonValue] = [expected[0], inserted, changed, expected[2]]

    assert places(expected, observed) == [("added", "$[1]"), ("changed", "$[1].price")]


def test_members_are_added_and_removed() -> None:
    """A member with the value null differs from a missing member."""
    assert places({"a": None, "b": 1}, {"b": 1, "two words": None}) == [
        ("removed", "$.a"),
        ("added", '$["two words"]'),
    ]


@pytest.mark.parametrize(("expected", "observed"), [(1, 1.0), (True, 1), (False, 0), ("1", 1), (None, False), ([], {})])
def test_types_count(expected: JsonValue, observed: JsonValue) -> None:
    """Values of different types are different, even where Python calls them equal."""
    assert places(expected, observed) == [("changed", "$")]


@given(expected=_JSON, observed=_JSON)
def test_no_change_means_equal(expected: JsonValue, observed: JsonValue) -> None:
    """Changes are reported exactly if the texts differ, and are the same when compared twice."""
    changes = diff_json(expected, observed)

    assert (changes == ()) is (canonical_json(expected) == canonical_json(observed))
    assert changes == diff_json(expected, observed)


def test_rendering_shows_both_sides() -> None:
    """The expected value is above the observed one."""
    changes = diff_json({"n": 1, "old": "x"}, {"n": 2, "new": "y" * 400})

    text = render_json_diff(changes)

    assert text.startswith('$.n: changed\n  - 1\n  + 2\n$.old: removed\n  - "x"\n$.new: added\n  + "yyy')
    assert text.endswith("… (402 characters)\n")
    assert render_json_diff(()) == ""


def test_long_lists_are_compared_quickly() -> None:
    """An additional element among ten thousand equal rows is reported as one addition."""
    many = rows(*["same"] * 5000, *[str(number) for number in range(5000)])

    assert places(many, [*many[:6000], {"name": "new"}, *many[6000:]]) == [("added", "$[6000]")]
