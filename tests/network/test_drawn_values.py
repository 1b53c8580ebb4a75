"""What varies in a text has a type, with a pattern that is no wider, or none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.network.drawn_values import classify_texts, differ_in_numbers, is_money_name, value_pattern


@pytest.mark.parametrize(
    ("texts", "evidence", "also", "never"),
    [
        (
            ("Visits: 41", "Visits: 42", "Visits:  43"),
            "counter from 41: 41, 42, 43 in 3 observations",
            ("Visits: 100",),
            ("Visits: 40", "Visitors: 44", "Visits: 44 EUR"),
        ),
        (
            ("CPU 12 % of 4", "CPU 37 % of 4", "CPU 25 % of 4"),
            "number from 0 to 62: 12, 37, 25 in 3 observations",
            ("CPU 0 % of 4",),
            ("CPU 63 % of 4", "CPU 12 % of 8"),
        ),
        (
            ("/list?page=2&v=7", "/list?page=2&v=8", "/list?page=2&v=9"),
            "counter from 7: 7, 8, 9 in 3 observations",
            ("/list?page=2&v=10",),
            ("/list?page=3&v=9", "/list?page=2&v=6"),
        ),
        (
            ("1 of 9 (12 ms)", "1 of 9 (15 ms)"),
            "duration: 2 values in 2 observations",
            ("1 of 9 (100 ms)",),
            ("2 of 9 (12 ms)", "1 of 9 (12 s)"),
        ),
        (
            ("done in 12 s", "done in 9 s", "done in 15 s"),
            "duration: 3 values in 3 observations",
            ("done in 100 s",),
            ("done in 12 ms",),
        ),
        (
            ("took 900 seconds", "took 60 seconds", "took 61 seconds"),
            "duration: 3 values in 3 observations",
            ("took 1000 seconds",),
            ("took 12 minutes",),
        ),
        (("took 1.25s", "took 0.75s"), "duration: 2 values in 2 observations", ("took 12.5s",), ("took s",)),
        (
            ("order 3f2a9c1b77e0", "order 9b1c77fe20aa"),
            "id: 2 generated values in 2 observations",
            ("order a04d1b2c3d4e",),
            ("order none", "item 3f2a9c1b77e0"),
        ),
    ],
)
def test_what_varies_has_a_type(
    texts: tuple[str, ...], evidence: str, also: tuple[str, ...], never: tuple[str]
) -> None:
    """The words around it are in the pattern; the evidence shows numbers, but no drawn values."""
    found = classify_texts(texts)

    assert found is not None
    assert found.evidence == evidence
    matches = {text: bool(re.fullmatch(found.pattern, " ".join(text.split()))) for text in (*texts, *also, *never)}
    assert [text for text, is_match in matches.items() if is_match] == [*texts, *also]


@pytest.mark.parametrize(
    "texts",
    [
        ("Visits: 41", "Visits: 42"),
        ("3 items", "1 item", "2 items"),
        ("Welcome", "Closed today", "Open"),
        ("at 12:01, visit 1", "at 12:02, visit 2", "at 12:03, visit 3"),
        ("5 minutes", "6 minutes"),
        ("iPhone 4s", "iPhone 5s"),
        ("iPhone 4s", "iPhone 5s", "iPhone 6s"),
        ("iPhone 4s in black", "iPhone 5s in black", "iPhone 6s in black"),
        ("Music of the 1980s", "Music of the 1990s"),
        ("Team 49 us", "Team 50 us"),
        ("expires after 900 seconds", "expires after 60 seconds"),
        ("done in 9 s", "done in 12 s"),
    ],
)
def test_what_has_no_type(texts: tuple[str, ...]) -> None:
    """Two values of a number or of whole seconds, other words, and times of day, compared with the present one."""
    assert classify_texts(texts) is None


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=6))
def test_a_number_about_money_has_no_type(numbers: list[int]) -> None:
    """Whatever it does; neither has a text that does not vary."""
    assert classify_texts([f"{each} points" for each in numbers], is_money=True) is None
    assert classify_texts([f"{numbers[0]} points"] * 3) is None


def test_a_duration_beside_an_amount_of_money_is_one() -> None:
    """Milliseconds are no money."""
    found = classify_texts(["Total, computed in 12 ms", "Total, computed in 15 ms"], is_money=True)
    assert found is not None
    assert found.evidence == "duration: 2 values in 2 observations"


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=6))
def test_a_pattern_has_what_was_seen_and_its_words(numbers: list[int]) -> None:
    """No number without a word, and no other word."""
    found = classify_texts([f"{each} points" for each in numbers])

    if found is not None:
        assert all(re.fullmatch(found.pattern, f"{each} points") for each in numbers)
        assert not re.fullmatch(found.pattern, f"{numbers[0]} coins")
        assert not re.fullmatch(found.pattern, str(numbers[0]))


def test_names_and_differences_of_numbers() -> None:
    """Names of amounts are recognized by their words; texts that differ in words differ not only in numbers."""
    names = ("unitPrice", "total-cost", "price", "visits", "priceless", "")
    assert [is_money_name(name) for name in names] == [True, True, True, False, False, False]
    others = ("subtotal", "grandtotal", "productprice", "discount", "tax", "payment", "$.price.value", "Rs", "totally")
    assert [is_money_name(name) for name in others] == [True] * 8 + [False]
    assert differ_in_numbers("Visit 8 of 9", "Visit 10 of 9")
    assert not differ_in_numbers("Visit 8", "Visits 8")
    assert not differ_in_numbers("at 12:01", "at 12:02")
    assert not differ_in_numbers("agent 007", "agent 008")


@pytest.mark.parametrize(
    ("name", "recorded", "observed", "is_drawn"),
    [
        ("token", "WDT-_zpasjns", "rJB22_EF7ff4", True),
        ("wsToken", "rJB22_EF7ff4", "WDT-_zpasjns", True),
        ("token", "WDT-_zpasjns", "rJB-q_EFxffz", False),
        ("token", "WDT-_zpasjns", "rJB22_EF7ff42", False),
        ("name", "WDT-_zpasjns", "rJB22_EF7ff4", False),
    ],
)
def test_a_token_may_look_like_a_word(name: str, recorded: str, observed: str, *, is_drawn: bool) -> None:
    """If its name says what it is, and another one is as long and looks random."""
    pattern = value_pattern(name, recorded, observed)

    assert (pattern is not None) == is_drawn
    assert pattern is None or all(re.fullmatch(pattern, each) for each in (recorded, observed))
