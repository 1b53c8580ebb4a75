"""A number that differs among observations is a counter, a number in a range, or has no type."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.network.varying_numbers import classify_number, classify_percentage, range_pattern

NUMBERS = st.integers(0, 10**7)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_range_has_exactly_its_numbers(one: int, other: int, number: int) -> None:
    """Its ends and their neighbours, too; numbers with leading zeros are none of it."""
    least, most = sorted((one, other))
    pattern = re.compile(range_pattern(least, most))

    for each in {number, least, most, least - 1, most + 1, (least + most) // 2} - {-1}:
        assert (pattern.fullmatch(str(each)) is not None) == (least <= each <= most)
        assert pattern.fullmatch(f"0{each}") is None


@given(NUMBERS, NUMBERS, NUMBERS, st.integers(1, 3))
def test_decimals_and_groups_are_written_as_pages_do(one: int, other: int, number: int, digits: int) -> None:
    """The decimal point and the marks between thousands are part of the number."""
    least, most = sorted((one, other))
    decimal, grouped = range_pattern(least, most, digits=digits), range_pattern(least, most, group=",")

    assert (re.fullmatch(decimal, f"{number / 10**digits:.{digits}f}") is not None) == (least <= number <= most)
    assert (re.fullmatch(grouped, f"{number:,}") is not None) == (least <= number <= most)
    assert re.fullmatch(grouped, str(number + 1000)) is None


@pytest.mark.parametrize(
    ("values", "evidence", "inside", "outside"),
    [
        (("41", "42", "43"), "counter from 41: 41, 42, 43 in 3 observations", ("41", "1,000", "9999"), ("40", "0041")),
        (("8", "8", "9", "11"), "counter from 8: 8, 8, 9, 11 in 4 observations", ("8", "99999"), ("7", "9.5")),
        (("998", "1,004", "1,010"), "counter from 998: 998, 1,004, 1,010 in 3 observations", ("20,000",), ("1005",)),
        (
            ("12", "37", "25"),
            "number from 0 to 62: 12, 37, 25 in 3 observations",
            ("0", "62", "2.15"),
            ("63", "62.1", "-1"),
        ),
        (("90", "70", "95"), "number from 45 to 120: 90, 70, 95 in 3 observations", ("45", "120"), ("44", "121")),
        (("0.5", "1.5", "0.7"), "number from 0.0 to 2.5: 0.5, 1.5, 0.7 in 3 observations", ("2.5",), ("2.6", "2")),
        (
            ("3", "4.5", "4"),
            "number from 1 to 6: 3, 4.5, 4 in 3 observations",
            ("1", "5.5", "6.0"),
            ("7", "6.1", "0.9"),
        ),
        (("8", "8", "7", "8"), "number from 6 to 9: 8, 8, 7, 8 in 4 observations", ("6", "9"), ("5", "10")),
    ],
)
def test_types_state_their_limits(
    values: tuple[str, ...], evidence: str, inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    """The evidence has the values that were seen; the pattern has these and no number outside of the limits."""
    found = classify_number(values)

    assert found is not None
    assert found.evidence == evidence
    assert [each for each in (*values, *inside) if not re.fullmatch(found.pattern, each)] == []
    assert [each for each in outside if re.fullmatch(found.pattern, each)] == []


@pytest.mark.parametrize(
    "values", [("227,120", "475", "29,057"), ("1,204", "1000", "1,100"), ("998", "1,004", "1,010")]
)
def test_thousands_are_grouped_as_they_were_seen(values: tuple[str, ...]) -> None:
    """Also in requests, and in percentages."""
    for found in (classify_number(values, is_shown=False), classify_number(values), classify_percentage(values)):
        assert found is not None
        assert [each for each in values if not re.fullmatch(found.pattern, each)] == []


def test_a_counter_may_grow_by_multiples_of_a_step() -> None:
    """Some visits were those of others; ten at most."""
    assert classify_number(("5", "15", "115")) is not None
    assert classify_number(("5", "15", "125")) is None


def test_few_numbers_that_rise_by_much_are_no_counter() -> None:
    """Drawn numbers of orders may rise three times; five times they hardly do."""
    drawn = ("352812", "401933", "514001", "514992", "520000")

    assert classify_number(drawn[:3]) is None
    assert classify_number(("352812", "353933", "360001")) is not None
    found = classify_number(drawn)
    assert found is not None
    assert found.kind == "counter"


def test_a_percentage_is_at_most_100() -> None:
    """Unless one was larger."""
    usual, large = classify_percentage(("90", "70", "95")), classify_percentage(("90", "70", "105"))

    assert usual is not None
    assert large is not None
    assert usual.evidence.startswith("number from 45 to 100: ")
    assert large.evidence.startswith("number from 35 to 140: ")


@pytest.mark.parametrize(
    "values",
    [
        ("41", "42"),
        ("41", "42", "42"),
        ("12", "37", "12", "37"),
        ("8", "7", "7"),
        ("0.5", "1.5", "0.5"),
        ("43", "42", "41"),
        ("12", "25", "37"),
        ("41", "42", "9000"),
        ("2", "4", "9000"),
        ("1.5", "1.6", "1.7"),
        ("007", "008", "009"),
        ("41", "42", "many"),
        ("1000000000001", "1000000000002", "1000000000003"),
    ],
)
def test_other_numbers_have_no_type(values: tuple[str, ...]) -> None:
    """Two values, numbers that fall or grow by much, measurements that grow, numbers with zeros before them, ids."""
    assert classify_number(values) is None
