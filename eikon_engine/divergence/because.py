"""Explain a finding by the live answers that differ from the recorded ones."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.body_diff import ABSENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import ResponseChange, ValueChange

SHOWN: Final = 5
"""More explanations than these explain nothing."""
_TRIVIAL: Final = frozenset({"", "true", "false", "null", "[]", "{}"})
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_CUT: Final = re.compile(r"… \(\d+ characters\)\Z")


def because(
    texts: Sequence[tuple[str, str]], changes: Sequence[ResponseChange], here: tuple[str, int]
) -> tuple[str, ...]:
    """Name the changes of answers behind a finding, the likeliest first.

    `texts` are the expected and observed texts of the finding, `changes` those of answers up to the action `here`
    (subgoal attempt and sequence). A change is behind it if its recorded value occurs in an expected text and its
    live value in an observed one. If none is, the answers that came during the action itself are named; if none came
    with it, those of the last action before it: a script that came earlier can do otherwise now.
    """
    expected = "\n".join(text for text, _ in texts)
    observed = "\n".join(text for _, text in texts)
    newest_first = [change for change in changes if _is_here(change, here)]
    newest_first += [change for change in reversed(changes) if not _is_here(change, here)]
    found = [
        sentence(change, value, here)
        for change in newest_first
        for value in change.what
        if _explains(value, expected, observed)
    ]
    if not found and newest_first:
        first = newest_first[0]
        last = [change for change in changes if (change.subgoal, change.sequence) == (first.subgoal, first.sequence)]
        found = [sentence(change, value, here) for change in last for value in change.what]
    return tuple(dict.fromkeys(found))[:SHOWN]


def _is_here(change: ResponseChange, here: tuple[str, int]) -> bool:
    return (change.subgoal, change.sequence) == here


def behind(first: Divergence, changes: Sequence[ResponseChange], here: tuple[str, int]) -> tuple[ResponseChange, ...]:
    """Return the changed answers that a finding names, the likeliest first, and in each what is named first."""
    named = {said: place for place, said in enumerate(first.because)}
    found: list[tuple[int, ResponseChange]] = []
    for change in changes:
        places = [named.get(sentence(change, value, here), len(named)) for value in change.what]
        if min(places, default=len(named)) < len(named):
            order = sorted(range(len(places)), key=places.__getitem__)
            found.append((min(places), change.model_copy(update={"what": tuple(change.what[each] for each in order)})))
    return tuple(change for _, change in sorted(found, key=lambda each: each[0]))


def sentence(change: ResponseChange, value: ValueChange, here: tuple[str, int]) -> str:
    """Name a changed value, with the answer, and with the action unless it came `here`."""
    earlier = "" if _is_here(change, here) else f", during {change.subgoal or 'the start'}, {change.sequence}"
    return f"{change.key}{earlier}: {value}"


def _explains(value: ValueChange, expected: str, observed: str) -> bool:
    """Say whether both sides of a changed value occur on their sides of the finding; nothing occurs everywhere."""
    recorded, live = (_CUT.sub("", side) for side in (value.recorded, value.live))
    sides = [_occurs(side, text) for side, text in ((recorded, expected), (live, observed)) if side not in {ABSENT, ""}]
    return bool(sides) and all(sides)


def _occurs(value: str, text: str) -> bool:
    """Find a value as a whole: 3 does not occur in 30, and 3.5 does in 3.50."""
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
