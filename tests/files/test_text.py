"""Long texts are cut such that a person sees what differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.files.text import shorten, shorten_pair
from eikon_engine.outcome.json_diff import diff_json, render_json_diff
from eikon_engine.outcome.outcomes import MAX_VALUE_LENGTH, RequestDifference

LONG = "word" * 200


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), st.integers(min_value=4, max_value=20))
def test_two_different_texts_are_never_cut_to_the_same_text(begin: str, one: str, other: str, length: int) -> None:
    """Neither is longer than allowed, apart from the marks."""
    first, second = shorten_pair(begin + one, begin + other, length)

    assert (first == second) == (one == other)
    assert max(len(first), len(second)) <= length + 2


def test_short_texts_and_early_differences_are_shown_from_the_beginning() -> None:
    """Only a later difference moves what is shown."""
    assert shorten_pair("short", "other", 10) == ("short", "other")
    assert shorten_pair("1" + LONG, "2" + LONG, 10) == ("1wordwordw…", "2wordwordw…")
    assert shorten_pair(LONG + "1", LONG + "2", 10) == ("…rd1", "…rd2")
    assert shorten("abcdef", 3) == "abc…"


@pytest.mark.parametrize("part", ["body", "header", "query"])
def test_a_difference_of_two_requests_shows_where_long_values_differ(part: str) -> None:
    """A report of two equal values explains nothing."""
    found = RequestDifference.shortened(part, "note", f"{LONG}cheap", f"{LONG}dear")  # type: ignore[arg-type] # a literal

    assert "cheap" in found.values
    assert "dear" in found.values
    assert len(found.values) < 3 * MAX_VALUE_LENGTH


def test_a_difference_of_json_shows_where_long_values_differ() -> None:
    """Also in the details of a skill's output."""
    shown = render_json_diff(diff_json({"text": f"{LONG}cheap"}, {"text": f"{LONG}dear"}))

    assert 'cheap"' in shown
    assert 'dear"' in shown
    assert "characters)" in shown
