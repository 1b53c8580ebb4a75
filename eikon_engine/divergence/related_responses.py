"""Find the changed live responses that explain a divergence."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.response_diff import ABSENT

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
_SHORTENED_SUFFIX: Final = re.compile(r"… \(\d+ characters\)\Z")


def explain_by_responses(
    texts: Sequence[tuple[str, str]], changes: Sequence[ResponseChange], here: tuple[str, int]
) -> tuple[str, ...]:
    """Describe the changed responses behind a divergence, most likely first.

    `texts` are the expected and observed texts of the divergence, `changes` the changed responses up to the action
    `here` (subgoal attempt and sequence). A change explains the divergence if its recorded value occurs in an expected
    text and its live value in an observed one; if none does, if its live value is a longer text that occurs in an
    observed one, since the page may not have shown the recorded value yet. Otherwise the changes during the action
    itself are returned, or else those of the last action before it, since a script loaded earlier may behave
    differently.
    """
    expected = "\n".join(text for text, _ in texts)
    observed = "\n".join(text for _, text in texts)
    newest_first = [change for change in changes if _is_here(change, here)]
    newest_first += [change for change in reversed(changes) if not _is_here(change, here)]
    values = [(change, value) for change in newest_first for value in change.what]
    found = [describe_change(change, value, here) for change, value in values if _explains(value, expected, observed)]
    if not found:
        found = [describe_change(change, value, here) for change, value in values if _is_shown(value, observed)]
    if not found and newest_first:
        first = newest_first[0]
        last = [change for change in changes if (change.subgoal, change.sequence) == (first.subgoal, first.sequence)]
        found = [describe_change(change, value, here) for change in last for value in change.what]
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
    return f"{change.key}{earlier}: {value}"


def _explains(value: ValueChange, expected: str, observed: str) -> bool:
    """Return whether both sides of a changed value occur in the texts of the divergence; an absent side always does."""
    recorded, live = (_SHORTENED_SUFFIX.sub("", side) for side in (value.recorded, value.live))
    sides = [
        _contains_value(side, text)
        for side, text in ((recorded, expected), (live, observed))
        if side not in {ABSENT, ""}
    ]
    return bool(sides) and all(sides)


def _is_shown(value: ValueChange, observed: str) -> bool:
    """Return whether the live side of a changed value is a text that does not occur by chance, and is observed."""
    live = _SHORTENED_SUFFIX.sub("", value.live)
    return (
        len(live) >= MIN_SHOWN_LENGTH
        and live != ABSENT
        and not _NUMBER.fullmatch(live)
        and _contains_value(live, observed)
    )


def _contains_value(value: str, text: str) -> bool:
    """Return whether a text contains a value as a whole: 3 does not occur in 30, but 3.5 occurs in 3.50."""
    plain = " ".join(value.split())
    if plain in _TRIVIAL:
        return False
    if re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", " ".join(text.split())):
        return True
    return _NUMBER.fullmatch(plain) is not None and _number(plain) in {_number(each) for each in _NUMBER.findall(text)}


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
