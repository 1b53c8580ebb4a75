"""Recognize values that vary from run to run by their nature: times, counters of cache-busters, random ids.

Prices, names and other values that a mission is about are none of them, so that no rule ignores these: amounts of money
are recognized by a currency or their names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from eikon_engine.network.varying_numbers import (
    MIN_VALUES,
    NUMBER,
    classify_number,
    classify_percentage,
    is_plain_number,
)
from eikon_engine.secrets.detection import looks_random
from eikon_engine.secrets.names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_VALUE_LENGTH: Final = 2000
"""Longer values get no pattern."""

_ISO_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_FRACTION = r"0\.[0-9]{6,20}"
_NUMBER = r"-?[0-9]{1,17}(?:\.[0-9]{1,20})?"
_SECONDS = r"[0-9]{10}\.[0-9]{1,9}"
_MEASURED = r"[0-9]{1,9}\.[0-9]{6,20}"
"""A time from `performance.now()`, which has no fraction in a replay."""
_TOKEN: Final = re.compile(rf"{_ISO_TIME}|{_UUID}|{_FRACTION}|{_SECONDS}|[A-Za-z0-9]+|.", re.DOTALL)
"""Parts of a value that are compared on their own."""
_UNSIGNED: Final = r"[0-9]{1,17}(?:\.[0-9]{1,20})?"
_WORDED_UNIT: Final = r"milliseconds?|msecs?|ms|microseconds?|\u00b5s|\u03bcs|nanoseconds?|ns|seconds?|secs?"
_TIME_UNIT: Final = rf"(?:{_WORDED_UNIT}|us|s)"
"""Units of what pages measure; minutes and longer ones are what texts are about."""
_UNIT_AFTER: Final = re.compile(rf"(?P<space> ?)(?P<unit>{_TIME_UNIT})(?![A-Za-z0-9])")
_SECONDS_UNIT: Final = re.compile(r"s|secs?|seconds?")
_MEASURED_BEFORE: Final = re.compile(r"(?:\b(?:about|in|took|within)|[~\u2248]) ?$", re.IGNORECASE)
"""What says that `4 s` is a duration and not the name of a model, as in `iPhone 4s`."""
_MONEY_NAME: Final = frozenset(
    {
        "balance",
        "bid",
        "budget",
        "cash",
        "cost",
        "costs",
        "debt",
        "deposit",
        "expense",
        "expenses",
        "fare",
        "fee",
        "fees",
    }
    | {"income", "money", "paid", "payout", "postage", "pricing", "profit", "refund", "rent", "revenue", "salary"}
    | {"savings", "tax", "taxes", "turnover", "vat", "wage", "wages"}
    | {"betrag", "importe", "kosten", "montant", "precio", "precios", "preis", "preise", "prezzi", "prezzo", "prix"}
    | {"summe"}
    | {"cent", "cents", "dollar", "dollars", "eur", "euro", "euros", "franc", "francs", "gbp", "inr", "jpy", "pence"}
    | {"peso", "pesos", "pound", "pounds", "rs", "rupee", "rupees", "usd", "yen", "yuan"}
)
"""Words about amounts of money, in lower case, and currencies."""
_MONEY_PART: Final = re.compile(r"amount|discount|payment|price(?!less)|total(?!ly)")
"""Such words that are also part of others, as in `subtotal` and `productprice`."""
_CLOCK: Final = re.compile(r"\b\d{1,2}:\d\d\b|\b\d{4}-\d\d-\d\d\b|\bago\b")
_WORD_OR_NUMBER: Final = re.compile(
    rf"{_UUID}|(?<![A-Za-z0-9])[0-9]+(?:\.[0-9]+)?(?={_TIME_UNIT}(?![A-Za-z0-9]))"
    rf"|(?<![A-Za-z0-9]){NUMBER}(?![A-Za-z0-9])"
    r"|[A-Za-z0-9\u00b5\u03bc]+|.",
    re.DOTALL,
)
"""Parts of a text that is shown."""
_WHOLE_KINDS: Final = tuple(re.compile(each) for each in (_ISO_TIME, _UUID, _FRACTION))
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CACHE_BUSTERS: Final = frozenset(
    {"", "bust", "buster", "cachebust", "cachebuster", "cachekiller", "cb", "dc", "nocache", "nonce", "r", "rand"}
    | {"random", "rnd", "t", "timestamp", "ts"}
)
"""Names of cache-busters, in lower case, without `_` and `-`; jQuery's is `_`."""
_TIME_WORDS: Final = frozenset(
    {"at", "clock", "elapsed", "latency", "now", "sent", "time", "timestamp", "timing", "ts", "uptime"}
)
"""Words in names of numbers that are times or durations."""
_TIME_DIGITS: Final = {10: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}
"""Units per second of a Unix time, by its number of digits."""
_NEAR_S: Final = 7 * 24 * 3600
"""Maximum distance of a recorded time from the recording."""
_PLAUSIBLE: Final = range(
    int(datetime(2001, 9, 10, tzinfo=UTC).timestamp()), int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
)
_MIN_ID_LENGTH: Final = 8
_LENGTH_SLACK: Final = 4
"""How much ids of varying length, such as those of `toString(36)`, may differ in length."""
_MIN_DISTINCT: Final = 4
_COLOR_LENGTH: Final = 8
"""Hexadecimal digits of a color with its opacity; one in 300 longer ids consists of decimal digits only."""
_MIN_LONG_DIGITS: Final = 15
_MIN_BUSTER_LENGTH: Final = 4
_CASE_OF_NO_WORDS: Final = re.compile(r"[A-Z]{2,}|(?<=[A-Z])[a-z](?![a-z])")
"""Capitals side by side, and a small letter alone behind one: rare in `namesLikeThis`."""
_MIN_CASES: Final = 2
_CONSONANTS: Final = re.compile(r"[b-df-hj-np-tv-z]{4}", re.IGNORECASE)
_ALPHABETS: Final = ("0-9a-f", "0-9A-F", "0-9a-z", "0-9A-Z", "0-9A-Za-z+/=_-")
"""Alphabets of ids, narrowest first.

Two ids with letters of both cases may well lack the signs of base64: half of all pairs of 11 characters do.
"""
_BASE64: Final = re.compile(f"[{_ALPHABETS[-1]}]+")


def value_pattern(
    name: str, recorded: str, observed: str, near_s: float | None = None, *, is_telemetry: bool = False
) -> str | None:
    """Return a regular expression of what both values are drawn from; None if one may be a value that matters.

    `name` is the name of the parameter, field or member, empty if it has none; `near_s` is the time of the recording,
    in Unix seconds, if it is known. In telemetry, any number may be measured, so none matters.
    """
    if recorded == observed or max(len(recorded), len(observed)) > MAX_VALUE_LENGTH:
        return None
    drawn = _named_pattern(name, recorded, observed) or _pattern_of_parts(recorded, observed, near_s)
    if drawn is not None or not is_telemetry:
        return drawn
    if re.fullmatch(_NUMBER, recorded) and re.fullmatch(_NUMBER, observed):
        return _NUMBER
    return _pattern_of_parts(recorded, observed, near_s, any_digits=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class VaryingText:
    """What varies in a text, by types."""

    pattern: str
    """Regular expression of the text, with its words as they are."""
    evidence: str
    """The types, with the numbers that were seen; drawn values, which may be secrets, are not shown."""


def classify_texts(texts: Sequence[str], *, is_money: bool = False) -> VaryingText | None:
    """Return what varies in a text, from what it was in several observations, in their order; None without a type.

    White space is collapsed. Texts with times have no type: live replays compare times with the present one. Numbers of
    texts that are about money have none.
    """
    if any(_CLOCK.search(text) for text in texts):
        return None
    words = [_split_text(text) for text in texts]
    if not words or len({len(each) for each in words}) > 1:
        return None
    pattern, evidence = "", list[str]()
    for place, values in enumerate(zip(*words, strict=True)):
        if len(set(values)) == 1:
            pattern += re.escape(values[0])
            continue
        around = "".join(words[0][:place]), "".join(words[0][place + 1 : place + 3])
        found = _classify_part(values, around, is_money=is_money)
        if found is None:
            return None
        pattern += found.pattern
        evidence.append(found.evidence)
    return VaryingText(pattern=pattern, evidence="; ".join(dict.fromkeys(evidence))) if evidence else None


def differ_in_numbers(one: str, other: str) -> bool:
    """Return whether two texts are equal but for numbers, so that further observations may tell what these are."""
    if any(map(_CLOCK.search, (one, other))):
        return False
    ours, theirs = _split_text(one), _split_text(other)
    return len(ours) == len(theirs) and all(
        a == b or (is_plain_number(a) and is_plain_number(b)) for a, b in zip(ours, theirs, strict=True)
    )


def is_money_name(name: str) -> bool:
    """Return whether a name, path or text has a word about amounts of money, such as `unitPrice` or `$.price.value`."""
    words = [word.lower() for word in _WORD.findall(name)]
    return not _MONEY_NAME.isdisjoint(words) or any(map(_MONEY_PART.search, words))


def _split_text(text: str) -> list[str]:
    return _WORD_OR_NUMBER.findall(" ".join(text.split()))


def _classify_part(values: Sequence[str], around: tuple[str, str], *, is_money: bool) -> VaryingText | None:
    """Return what one part of several texts is; None if it is a word that differs, or a number without a type.

    `around` is what precedes and follows it.
    """
    is_number = all(re.fullmatch(NUMBER, value) for value in values)
    unit = _UNIT_AFTER.match(around[1]) if is_number else None
    if unit is not None and _is_duration(values, around[0], unit["unit"]):
        return _classify_duration(values)
    if (unit is not None and not unit["space"]) or (is_number and is_money):
        return None
    classify = classify_percentage if re.match(" ?%", around[1]) else classify_number
    found = classify(values) if is_number else None
    if found is not None:
        return VaryingText(pattern=found.pattern, evidence=found.evidence)
    patterns = {value_pattern("", values[0], value) for value in values[1:] if value != values[0]}
    pattern = next(iter(patterns)) if len(patterns) == 1 else None
    evidence = f"id: {len(set(values))} generated values in {len(values)} observations"
    return None if pattern is None else VaryingText(pattern=pattern, evidence=evidence)


def _is_duration(values: Sequence[str], before: str, unit: str) -> bool:
    """Return whether numbers with a unit of time were measured.

    Whole seconds may be set, such as those after which a page expires, so that two of them do not tell.
    """
    are_whole = not any("." in value for value in values)
    if unit in {"s", "us"} and are_whole and _MEASURED_BEFORE.search(before) is None:
        return False
    return not (are_whole and _SECONDS_UNIT.fullmatch(unit)) or len(set(values)) >= MIN_VALUES


def _classify_duration(values: Sequence[str]) -> VaryingText:
    """Return what pages measured: it may have one digit more than any of the values."""
    whole = max(len(value.partition(".")[0]) for value in values)
    fraction = max(len(value.partition(".")[2]) for value in values)
    pattern = rf"[0-9]{{1,{whole + 1}}}" + (rf"(?:\.[0-9]{{1,{fraction + 1}}})?" if fraction else "")
    evidence = f"duration: {len(set(values))} values in {len(values)} observations"
    return VaryingText(pattern=pattern, evidence=evidence)


def _named_pattern(name: str, recorded: str, observed: str) -> str | None:
    """Return a pattern of values whose name says that they vary."""
    if _is_cache_buster(name):
        if recorded.isdecimal() and observed.isdecimal():
            return "[0-9]{1,20}"
        if re.fullmatch(_MEASURED, recorded) and re.fullmatch(_UNSIGNED, observed):
            return _UNSIGNED
        if _are_alphanumeric(recorded, observed) and min(len(recorded), len(observed)) >= _MIN_BUSTER_LENGTH:
            return _class_pattern(recorded, observed)
    if is_secret_name(name) and _are_tokens(recorded, observed):
        return _class_pattern(recorded, observed)
    words = {word.lower() for word in _WORD.findall(name)}
    if words & _TIME_WORDS and re.fullmatch(_NUMBER, recorded) and re.fullmatch(_NUMBER, observed):
        return _NUMBER
    return None


def _are_tokens(one: str, other: str) -> bool:
    """Return whether one of two values looks random, and the other is as long and of the same alphabet.

    One of eight tokens of twelve characters has no digit, so that it does not look random by itself.
    """
    is_alike = len(one) == len(other) >= _MIN_ID_LENGTH and _BASE64.fullmatch(one) and _BASE64.fullmatch(other)
    return bool(is_alike) and (looks_random(one) or looks_random(other)) and _shape_distance(one, other) > 1


def _is_cache_buster(name: str) -> bool:
    return bool(name) and re.sub(r"[_-]", "", name).lower() in _CACHE_BUSTERS


def _pattern_of_parts(recorded: str, observed: str, near_s: float | None, *, any_digits: bool = False) -> str | None:
    """Compare two values part by part: each part is equal, or drawn in both, or has only digits with `any_digits`."""
    ours, theirs = _TOKEN.findall(recorded), _TOKEN.findall(observed)
    if len(ours) == len(theirs):
        parts = [
            _part_pattern(one, other, near_s, any_digits=any_digits) for one, other in zip(ours, theirs, strict=True)
        ]
        if all(part is not None for part in parts) and not _are_split_base64(ours, theirs):
            return "".join(part for part in parts if part is not None)
    if _BASE64.fullmatch(recorded) and _BASE64.fullmatch(observed) and _are_drawn(recorded, observed):
        return _class_pattern(recorded, observed)
    return None


def _are_split_base64(ours: list[str], theirs: list[str]) -> bool:
    """Return whether two lists of parts are base64 whose signs are in the same positions by chance."""
    words = [(one, other) for one, other in zip(ours, theirs, strict=True) if one.isalnum()]
    return (
        0 < len(words) < len(ours)
        and all(one != other for one, other in words)
        and all(_BASE64.fullmatch(part) for part in (*ours, *theirs))
        and all(re.search("[A-Z]", each) and re.search("[a-z]", each) for each in ("".join(ours), "".join(theirs)))
    )


def _part_pattern(recorded: str, observed: str, near_s: float | None, *, any_digits: bool) -> str | None:
    if recorded == observed:
        return re.escape(recorded)
    for kind in _WHOLE_KINDS:
        if kind.fullmatch(recorded) and kind.fullmatch(observed):
            return kind.pattern
    if _is_time(recorded, near_s) and _is_time(observed, None) and len(recorded) == len(observed):
        return f"[0-9]{{{len(recorded)}}}"
    if re.fullmatch(_SECONDS, recorded) and re.fullmatch(_SECONDS, observed):
        return _SECONDS
    if recorded.isdecimal() and observed.isdecimal():
        shortest, longest = sorted((len(recorded), len(observed)))
        least = 1 if any_digits else _MIN_LONG_DIGITS
        return f"[0-9]{{{least},{longest + _LENGTH_SLACK}}}" if shortest >= least else None
    return _class_pattern(recorded, observed) if _are_drawn(recorded, observed) else None


def _is_time(text: str, near_s: float | None) -> bool:
    unit = _TIME_DIGITS.get(len(text)) if text.isascii() and text.isdecimal() else None
    if unit is None:
        return False
    seconds = int(text) // unit
    return seconds in _PLAUSIBLE and (near_s is None or abs(seconds - near_s) <= _NEAR_S)


def _are_drawn(one: str, other: str) -> bool:
    """Return whether two different texts look like random ids of one kind."""
    if min(len(one), len(other)) < _MIN_ID_LENGTH or abs(len(one) - len(other)) > 2 * _LENGTH_SLACK:
        return False
    if min(len(set(one)), len(set(other))) < _MIN_DISTINCT:
        return False
    if len(one) == len(other) and re.fullmatch("[0-9a-f]+", one + other):
        mixed = [bool(re.search("[a-f]", each) and re.search("[0-9]", each)) for each in (one, other)]
        may_lack_letters = len(one) > _COLOR_LENGTH and _shape_distance(one, other) > 1
        return all(mixed) or (any(mixed) and may_lack_letters)
    if not all(looks_random(each) or _may_be_random(each) for each in (one, other)):
        return False
    if not (looks_random(one) or looks_random(other)):
        return False
    return len(one) != len(other) or _shape_distance(one, other) > 1


def _may_be_random(text: str) -> bool:
    """Return whether a text without digits may be an id like another that looks random: one of eight has none."""
    is_no_word = text.isalnum() and _CONSONANTS.search(text) is not None
    return is_no_word or len(_CASE_OF_NO_WORDS.findall(text)) >= _MIN_CASES


def _shape_distance(one: str, other: str) -> int:
    """Count the positions at which one text has a digit or capital and the other has none.

    Article numbers and the like have one shape; random ids have not.
    """
    return sum(_kind(a) != _kind(b) for a, b in zip(one, other, strict=True))


def _kind(char: str) -> str:
    return "digit" if char.isdigit() else "capital" if char.isupper() else "letter" if char.isalpha() else "sign"


def _are_alphanumeric(one: str, other: str) -> bool:
    return all(each.isascii() and each.isalnum() for each in (one, other))


def _class_pattern(one: str, other: str) -> str:
    """Return the narrowest character class of two ids, with their length; that of `toString(36)` varies."""
    alphabet = next(each for each in _ALPHABETS if re.fullmatch(f"[{each}]+", one + other))
    shortest, longest = sorted((len(one), len(other)))
    if alphabet != "0-9a-z" and shortest == longest:
        return f"[{alphabet}]{{{longest}}}"
    least = min(shortest, max(_MIN_ID_LENGTH, shortest - _LENGTH_SLACK))
    return f"[{alphabet}]{{{least},{longest + _LENGTH_SLACK}}}"
