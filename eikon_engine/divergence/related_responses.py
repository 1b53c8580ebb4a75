"""Find the changed live responses that explain a divergence."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.response_diff import DATA_PART, is_absent, without_cut_ends
from eikon_engine.network.keys import readable_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import ResponseChange, ValueChange

MAX_EXPLANATIONS: Final = 5
"""Maximum number of explanations; more would not help."""
MIN_SHOWN_LENGTH: Final = 6
"""Minimum length, in characters, of a text that explains a divergence on its own."""
_TRIVIAL: Final = frozenset({"", "true", "false", "null", "[]", "{}"})
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_THOUSANDS: Final = re.compile(r"(?<=\d)[,'\u00a0\u202f](?=\d{3}(?!\d))")
"""Marks between groups of three digits."""
_CENTS: Final = re.compile(r"\d\.\d\d\Z")
_WORD: Final = re.compile(r"[^\W_](?:[\w-]*[^\W_])?")
_MIN_LETTERS: Final = 4
"""Minimum number of letters in a word that explains a divergence: digits and short words are on many pages."""
_MIN_DIGITS: Final = 3
"""The same for the digits of a number that only one side has."""
_ONE_MESSAGE: Final = re.compile(r"(?:message|event) \d")
_URL: Final = re.compile(
    r"""\b(?:src|srcset|href|action|poster)\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)|(?<!\S)(?:[a-z][a-z\d+.-]*:/)?/\S*""",
    re.IGNORECASE,
)
"""URLs, also those in attributes, such as `/app.js?v=3`; their words are not what a page shows."""


def explain_by_responses(
    texts: Sequence[tuple[str, str]], changes: Sequence[ResponseChange], here: tuple[str, int]
) -> tuple[str, ...]:
    """Describe the changed responses behind a divergence, most likely first.

    `texts` are the expected and observed texts of the divergence, `changes` the changed responses up to the action
    `here` (subgoal attempt and sequence). A change explains the divergence if its recorded value occurs in an expected
    text and its live value in an observed one; if none does, if its live value is a longer text that occurs in an
    observed one, since the page may not have shown the recorded value yet. A response whose changed values the page
    does not show explains nothing: it may differ for any other reason.
    """
    expected = "\n".join(text for text, _ in texts)
    observed = "\n".join(text for _, text in texts)
    newest_first = [change for change in changes if _is_here(change, here)]
    newest_first += [change for change in reversed(changes) if not _is_here(change, here)]
    values = [(change, value) for change in newest_first for value in change.what]
    found = [
        describe_change(change, value, here)
        for change, value in values
        if _explains(value, expected, observed) or _has_moved(change, value, expected, observed)
    ]
    if not found:
        found = [describe_change(change, value, here) for change, value in values if _is_shown(value, observed)]
    return tuple(dict.fromkeys(found))[:MAX_EXPLANATIONS]


def _is_here(change: ResponseChange, here: tuple[str, int]) -> bool:
    return (change.subgoal, change.sequence) == here


def find_related_changes(
    first: Divergence, changes: Sequence[ResponseChange], here: tuple[str, int]
) -> tuple[ResponseChange, ...]:
    """Return the changed responses that a divergence names, and in each its values, most likely first."""
    named = {text: place for place, text in enumerate(first.because)}
    found: list[tuple[int, ResponseChange]] = []
    for change in changes:
        places = [named.get(describe_change(change, value, here), len(named)) for value in change.what]
        if min(places, default=len(named)) < len(named):
            order = sorted(range(len(places)), key=places.__getitem__)
            found.append((min(places), change.model_copy(update={"what": tuple(change.what[each] for each in order)})))
    return tuple(change for _, change in sorted(found, key=lambda each: each[0]))


def describe_change(change: ResponseChange, value: ValueChange, here: tuple[str, int]) -> str:
    """Describe a changed value with its request, and with its step unless it was received `here`."""
    step = f"at step {change.sequence} of {change.subgoal}" if change.subgoal else "before the first step"
    earlier = "" if _is_here(change, here) else f" ({step})"
    return f"{readable_key(change.key)}{earlier}: {value}"


def _explains(value: ValueChange, expected: str, observed: str) -> bool:
    """Return whether both sides of a changed value occur in the texts of the divergence; an absent side always does."""
    recorded, live = _shown_sides(value)
    if _ONE_MESSAGE.match(value.part) and not (recorded and live) and not _is_distinctive(recorded or live):
        return False
    sides = [_contains_value(side, text) for side, text in ((recorded, expected), (live, observed)) if side]
    if sides and all(sides):
        return True
    return not DATA_PART.match(value.part) and _explains_words(recorded, live, expected, observed)


def _explains_words(recorded: str, live: str, expected: str, observed: str) -> bool:
    """Return whether the words in which two pieces of markup or script differ occur in the texts of the divergence."""
    before, after = (set(_WORD.findall(_URL.sub(" ", side))) for side in (recorded, live))
    old, new = before - after, after - before
    sides = [side for side in (old, new) if side]
    if not sides or not all(any(map(_is_telling, side)) for side in sides):
        return False
    return old <= set(_WORD.findall(expected)) and new <= set(_WORD.findall(observed))


def _is_telling(word: str) -> bool:
    """Return whether a word is no number, literal or short word, which many pages have by chance."""
    return word not in _TRIVIAL and sum(map(str.isalpha, word)) >= _MIN_LETTERS


def _is_distinctive(text: str) -> bool:
    """Return whether a value is on a page for no other reason: messages have many short words and numbers."""
    return any(map(_is_telling, _WORD.findall(text))) or sum(map(str.isdigit, text)) >= _MIN_DIGITS


def _has_moved(change: ResponseChange, value: ValueChange, expected: str, observed: str) -> bool:
    """Return whether a value moved within its response, and is on both sides of the divergence: in another order."""
    recorded = _shown_sides(value)[0]
    if not any(map(_is_telling, _WORD.findall(recorded))):
        return False
    if not any(other is not value and _shown_sides(other)[1] == recorded for other in change.what):
        return False
    return _contains_value(recorded, expected) and _contains_value(recorded, observed)


def _is_shown(value: ValueChange, observed: str) -> bool:
    """Return whether the live side of a changed value is a text that does not occur by chance, and is observed."""
    live = _shown_sides(value)[1]
    return len(live) >= MIN_SHOWN_LENGTH and not _NUMBER.fullmatch(live) and _contains_value(live, observed)


def _shown_sides(value: ValueChange) -> tuple[str, str]:
    """Return both sides of a changed value, of cut ones the whole words; an absent side is empty."""
    recorded, live = (without_cut_ends(side) for side in (value.recorded, value.live))
    return ("" if is_absent(recorded) else recorded), ("" if is_absent(live) else live)


def _contains_value(value: str, text: str) -> bool:
    """Return whether a text contains a value as a whole: 3 does not occur in 30, but 3.5 occurs in 3.50."""
    plain = " ".join(value.split())
    if plain in _TRIVIAL:
        return False
    if re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", " ".join(text.split())):
        return True
    return _NUMBER.fullmatch(plain) is not None and _number(plain) in _shown_numbers(text)


def _shown_numbers(text: str) -> set[Decimal | None]:
    """Return the numbers in a text; of amounts such as 3.10 also the cents, and 1,234 as 1234."""
    numbers = _NUMBER.findall(_THOUSANDS.sub("", text))
    cents = [each.replace(".", "") for each in numbers if _CENTS.search(each)]
    return {_number(each) for each in (*_NUMBER.findall(text), *numbers, *cents)}


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
