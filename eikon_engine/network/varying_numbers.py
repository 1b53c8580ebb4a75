"""Tell what a number that differs among observations is: a counter, or a number in a range.

Two values do not tell a number from a change, such as that of a price: three different ones do, or one of two whole
numbers close to each other that came back after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NUMBER: Final = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?:\.[0-9]{1,20})?"
"""A number as pages write it, such as `41`, `1,204` or `12.5`."""
MIN_VALUES: Final = 3
"""Number of different values from which on a number has a type; see `_alternates` for two of them."""
NumberKind: TypeAlias = Literal["counter", "number"]

_MAX_COUNTER_DIGITS: Final = 12
"""Longer numbers are ids."""
_COUNTER_DIGITS: Final = 3
"""How many digits a counter may have more than the largest value that was seen."""
_GROUP_LENGTH: Final = 3
_USUAL_STEP: Final = 3
_MANY_VALUES: Final = 5
"""Different values from which on drawn numbers rarely rise only: once in 120 times."""
_MAX_MULTIPLE: Final = 10
_SHOWN: Final = 6
_SHOWN_DECIMALS: Final = 2
"""Decimal places that a measured number may have though all values that were seen are whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaryingNumber:
    """What a number is that differs among observations."""

    kind: NumberKind
    pattern: str
    """Regular expression of exactly the numbers that it may be."""
    evidence: str
    """The type, its limits, and the values that were seen."""


def classify_number(values: Sequence[str], *, is_shown: bool = True) -> VaryingNumber | None:
    """Return what a number with these values, in the order in which they were seen, is; None if it has no type.

    * A *counter* never falls, and grows by at most a twentieth of it, or half of it if there are five different values,
      as three drawn numbers may well rise; or by one to ten times a step greater than 1. It may be any greater number.
    * A *number* rises and falls. It may be as far outside of the values that were seen as these are from each other,
      but not below zero, and not above 100 if it is a percentage. A page may show it with two decimal places.

    Thousands are grouped as in the values that were seen. If these have none, and the number `is_shown`, those of a
    larger one may be.
    """
    return _classify(values, _group_mark(values, is_shown=is_shown), is_percentage=False, is_shown=is_shown)


def classify_percentage(values: Sequence[str]) -> VaryingNumber | None:
    """Return what a percentage is, as `classify_number` does."""
    return _classify(values, _group_mark(values, is_shown=False), is_percentage=True, is_shown=True)


def _classify(values: Sequence[str], group: str, *, is_percentage: bool, is_shown: bool) -> VaryingNumber | None:
    if not all(map(is_plain_number, values)) or not (len(set(values)) >= MIN_VALUES or _alternates(values)):
        return None
    digits = max(len(value.partition(".")[2]) for value in values)
    numbers = [_scaled(value, digits) for value in values]
    shown = ", ".join(values[:_SHOWN]) + (" …" if len(values) > _SHOWN else "")
    seen = f"{shown} in {len(values)} observations"
    steps = [later - earlier for earlier, later in pairwise(numbers)]
    if min(steps) >= 0:
        least, most = numbers[0], numbers[-1]
        if digits or len(str(most)) > _MAX_COUNTER_DIGITS or not _is_regular(least, steps):
            return None
        pattern = range_pattern(least, 10 ** (len(str(most)) + _COUNTER_DIGITS) - 1, group=group)
        return VaryingNumber(kind="counter", pattern=pattern, evidence=f"counter from {values[0]}: {seen}")
    if max(steps) <= 0:
        return None  # falls only, such as a stock
    spread = max(numbers) - min(numbers)
    least, most = max(0, min(numbers) - spread), max(numbers) + spread
    if is_percentage and max(numbers) <= 100 * 10**digits:
        most = min(most, 100 * 10**digits)
    unit = 10**digits
    if len({len(value.partition(".")[2]) for value in values}) > 1:  # 12, 12.5
        least, most = least // unit, -(-most // unit)
        pattern = _pattern_with_optional_decimals(least, most, digits, group)
        digits = 0
    elif is_shown and not digits:  # 3, 0: what a page measures may be 2.1 as well
        pattern = _pattern_with_optional_decimals(least, most, _SHOWN_DECIMALS, group)
    else:
        pattern = range_pattern(least, most, digits=digits, group=group)
    limits = " to ".join(_written(each, digits) for each in (least, most))
    return VaryingNumber(kind="number", pattern=pattern, evidence=f"number from {limits}: {seen}")


def _alternates(values: Sequence[str]) -> bool:
    """Return whether two whole numbers close to each other took turns, as counts of what a server does do.

    Larger ones may be those of two variants of a page.
    """
    turns = [value for value, _ in groupby(values)]
    if len(turns) == len(set(turns)) or not all(value.isdecimal() for value in turns):
        return False
    return max(map(int, turns)) - min(map(int, turns)) <= _USUAL_STEP


def _is_regular(least: int, steps: Sequence[int]) -> bool:
    """Return whether a number grows as a counter does: by little, or by small multiples of one step."""
    smallest = min(step for step in steps if step)
    part = 2 if sum(step > 0 for step in steps) + 1 >= _MANY_VALUES else 20
    if sum(steps) <= max(least // part, _USUAL_STEP * len(steps)):
        return True
    return smallest > 1 and max(steps) <= _MAX_MULTIPLE * smallest and all(step % smallest == 0 for step in steps)


def is_plain_number(value: str) -> bool:
    """Return whether a text is a number that may be compared with others: without zeros before it."""
    return re.fullmatch(NUMBER, value) is not None and re.match("0[0-9]", value) is None


def _scaled(value: str, digits: int) -> int:
    """Return a number as an integer in units of its last decimal place."""
    whole, _, fraction = value.replace(",", "").partition(".")
    return int(whole + fraction.ljust(digits, "0"))


def _written(number: int, digits: int) -> str:
    text = str(number).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}" if digits else text


def _group_mark(values: Sequence[str], *, is_shown: bool) -> str:
    """Return the pattern of what groups the thousands of a number."""
    has_mark = any("," in value for value in values)
    is_small = all("," in value or len(value.partition(".")[0]) <= _GROUP_LENGTH for value in values)
    if has_mark:
        return "," if is_small else ",?"
    return ",?" if is_small and is_shown else ""


def _pattern_with_optional_decimals(least: int, most: int, digits: int, group: str) -> str:
    """Return a pattern of the numbers in a range with at most so many decimal places."""
    below = range_pattern(least, most - 1, group=group)
    top = range_pattern(most, most, group=group)
    return rf"(?:{below}(?:\.[0-9]{{1,{digits}}})?|{top}(?:\.0{{1,{digits}}})?)"


def range_pattern(least: int, most: int, *, digits: int = 0, group: str = "") -> str:
    """Return a regular expression of the integers from `least` to `most`, both at least 0, without leading zeros.

    With `digits`, the last ones stand behind a decimal point; `group` is the pattern of the mark between thousands.
    """
    shortest = digits + 1
    found = []
    for length in range(max(len(str(least)), shortest), max(len(str(most)), shortest) + 1):
        begin = max(least, 10 ** (length - 1) if length > shortest else 0)
        end = min(most, 10**length - 1)
        if begin <= end:
            places = _digit_ranges(str(begin).rjust(length, "0"), str(end).rjust(length, "0"))
            found += [_joined(each, digits, group) for each in places]
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


def _digit_ranges(begin: str, end: str) -> Iterator[tuple[str, ...]]:
    """Yield sequences of character classes, one a digit, that together match the numbers of one length in a range."""
    if not begin:
        yield ()
        return
    first, last, rest = int(begin[0]), int(end[0]), len(begin) - 1
    if first == last:
        yield from ((_digit_class(first, first), *each) for each in _digit_ranges(begin[1:], end[1:]))
        return
    if set(begin[1:]) - {"0"}:
        yield from ((_digit_class(first, first), *each) for each in _digit_ranges(begin[1:], "9" * rest))
        first += 1
    has_rest = bool(set(end[1:]) - {"9"})
    if first <= last - has_rest:
        yield (_digit_class(first, last - has_rest), *("[0-9]",) * rest)
    if has_rest:
        yield from ((_digit_class(last, last), *each) for each in _digit_ranges("0" * rest, end[1:]))


def _digit_class(first: int, last: int) -> str:
    return str(first) if first == last else f"[{first}-{last}]"


def _joined(places: Sequence[str], digits: int, group: str) -> str:
    """Join character classes of digits, with the decimal point and the marks between thousands."""
    whole = len(places) - digits
    parts = []
    for place, each in enumerate(places):
        if place == whole:
            parts.append(r"\.")
        elif group and 0 < place < whole and (whole - place) % _GROUP_LENGTH == 0:
            parts.append(group)
        parts.append(each)
    runs = ((part, len(list(same))) for part, same in groupby(parts))
    return "".join(f"{part}{{{count}}}" if count > 1 else part for part, count in runs)
