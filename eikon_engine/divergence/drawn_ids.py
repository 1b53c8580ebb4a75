"""Ids that a page draws for its own elements, such as those of the parts of a chart: a live replay draws others.

A page draws them from the same random numbers as in the recording, but in another order if its responses, or timers,
come in another one. Such an id has a new value wherever the page refers to it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.divergence.dom_diff import DomChange
    from eikon_engine.dom import PageSnapshot

DRAWN_ID: Final = "id that the page draws"
"""Name under which steps report what was not compared."""
_DRAWN: Final = re.compile("([0-9a-f]{6,})")
_NUMBER_AND_TIME: Final = re.compile("[1-9][0-9]{6,}([12][0-9]{12})")
"""A drawn number, with a counter, and a Unix time in milliseconds behind it; TinyMCE makes such ids."""
_NEAR_MS: Final = 3_600_000
_REFERENCES: Final = frozenset(
    {"class", "for", "form", "headers", "id", "list", "popovertarget"}
    | {f"aria-{name}" for name in ("activedescendant", "controls", "describedby", "details", "errormessage")}
    | {f"aria-{name}" for name in ("flowto", "labelledby", "owns")}
)
"""Attributes that have ids of elements, or, as classes, what style sheets of the page refer to."""
_FRAGMENTS: Final = frozenset({"data-bs-target", "data-target", "href", "xlink:href"})
"""Attributes that may have `#id`."""
_FRAGMENT: Final = re.compile(r"#[\w:.-]+")
_SVG_REFERENCE: Final = re.compile(r"url\(\s*[\"']?#[^)]*\)")
"""A reference in any attribute of SVG, or in a style."""


def find_drawn_ids(
    changes: Sequence[DomChange], recorded: PageSnapshot, observed: PageSnapshot
) -> frozenset[tuple[str, str]]:
    """Return the recorded and observed values of attributes that differ only in ids that the page draws.

    A part of an id counts if it looks drawn on both sides, has one counterpart everywhere, and belongs to the id of an
    element that is there on both sides. A value that differs in any other place, too, is none.
    """
    pairs = {change: _differing_parts(change) for change in changes}
    parts = {part for found in pairs.values() for part in found}
    defined = {part for change, found in pairs.items() if change.name == "id" for part in found}
    before, after = _count_parts(recorded), _count_parts(observed)
    known = {
        (one, other)
        for one, other in parts & defined
        if before[one] == after[other] and not any((one == left) != (other == right) for left, right in parts)
    }
    same = {change.whole for change, found in pairs.items() if found and known.issuperset(found)}
    return frozenset(same - {change.whole for change, found in pairs.items() if not found})


def _count_parts(page: PageSnapshot) -> Counter[str]:
    """Count the parts that look drawn, in all references of a page."""
    return Counter(
        part
        for frame in page.frames
        for node in frame.root.walk()
        for name, value in node.attributes
        if _is_reference(name, value)
        for part in _DRAWN.findall(value)
    )


def _is_reference(name: str, value: str) -> bool:
    if name in _REFERENCES:
        return True
    is_fragment = name in _FRAGMENTS and _FRAGMENT.fullmatch(value) is not None
    return is_fragment or _SVG_REFERENCE.search(value) is not None


def _differing_parts(change: DomChange) -> tuple[tuple[str, str], ...]:
    """Return the parts that differ, recorded and observed; empty if something else differs."""
    if change.kind != "attribute" or not all(_is_reference(change.name, value) for value in change.whole):
        return ()
    found = tuple(_split_pairs(*change.whole))
    return found if all(map(_are_drawn, found)) else ()


def _split_pairs(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the parts that differ, if two texts have equally many."""
    left, right = _DRAWN.split(one), _DRAWN.split(other)
    if len(left) == len(right):
        yield from ((ours, theirs) for ours, theirs in zip(left, right, strict=True) if ours != theirs)


def _are_drawn(pair: tuple[str, str]) -> bool:
    """Return whether both look drawn.

    They are hexadecimal, with digits, one of them also with letters, and equally long; or a number and the time.
    """
    one, other = pair
    if all(each.isdecimal() for each in pair):
        times = [int(found[1]) for found in map(_NUMBER_AND_TIME.fullmatch, pair) if found is not None]
        return len(times) == len(pair) and abs(times[0] - times[1]) < _NEAR_MS
    is_hexadecimal = all(_DRAWN.fullmatch(each) and any(map(str.isdigit, each)) for each in pair)
    return is_hexadecimal and len(one) == len(other)
