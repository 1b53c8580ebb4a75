"""Ids that a page draws for its own elements, such as those of the parts of a chart: a live replay draws others.

A page draws them from the same random numbers as in the recording, but in another order if its responses, or timers,
come in another one. Such an id has a new value wherever the page refers to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.generated_ids import is_random_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.divergence.dom_diff import DomChange

DRAWN_ID: Final = "id that the page draws"
"""Name under which steps report what was not compared."""
_HEXADECIMAL: Final = re.compile("([0-9a-f]{6,})")
_WORD: Final = re.compile("([A-Za-z0-9]{8,})")
_REFERENCES: Final = frozenset({"class", "for", "form", "headers", "id", "list", "popovertarget"})
"""Attributes that have ids of elements, or, as classes, what style sheets of the page refer to."""
_FRAGMENT: Final = re.compile(r"^#|url\(\s*[\"']?#")
"""What refers to an element by its id in any other attribute: `#id`, or `url(#id)` in SVG."""


def find_drawn_ids(changes: Sequence[DomChange]) -> frozenset[tuple[str, str]]:
    """Return the recorded and observed values of attributes that differ only in ids that the page draws.

    A part of an id counts if it looks drawn on both sides, has one counterpart everywhere, and belongs to the id of an
    element that is there on both sides. A value that differs in any other place, too, is none.
    """
    pairs = {change: _differing_parts(change) for change in changes if _refers_to_element(change)}
    parts = {part for found in pairs.values() for part in found}
    defined = {part for change, found in pairs.items() if change.name == "id" for part in found}
    known = {
        (one, other)
        for one, other in parts & defined
        if not any((one == left) != (other == right) for left, right in parts)
    }
    same = {change.whole for change, found in pairs.items() if found and known.issuperset(found)}
    return frozenset(same - {change.whole for change in changes if change not in pairs})


def _refers_to_element(change: DomChange) -> bool:
    if change.kind != "attribute":
        return False
    is_named = change.name in _REFERENCES or change.name.startswith("aria-")
    return is_named or all(map(_FRAGMENT.search, change.whole))


def _differing_parts(change: DomChange) -> tuple[tuple[str, str], ...]:
    """Return the parts that differ, recorded and observed; empty if something else differs."""
    for split in (_HEXADECIMAL, _WORD):
        found = tuple(_split_pairs(split, *change.whole))
        if found and all(map(_are_drawn, found)):
            return found
    return ()


def _split_pairs(split: re.Pattern[str], one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the parts that differ, where a pattern splits two texts alike; nothing if it does not."""
    left, right = split.split(one), split.split(other)
    if len(left) == len(right):
        yield from ((ours, theirs) for ours, theirs in zip(left, right, strict=True) if ours != theirs)


def _are_drawn(pair: tuple[str, str]) -> bool:
    one, other = pair
    if all(map(_HEXADECIMAL.fullmatch, pair)):
        both = one + other
        return len(one) == len(other) and any(map(str.isdigit, both)) and any(map(str.isalpha, both))
    return is_random_part(one) and is_random_part(other)
