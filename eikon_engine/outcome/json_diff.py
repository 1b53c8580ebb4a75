"""Compare two JSON values and report the differences by path."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from eikon_engine.files.json_text import canonical_json, child_path
from eikon_engine.files.text import differing_part, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.files.json_text import JsonValue

_ALIGNABLE_PAIRS: Final = 4_000_000
"""Longer differing parts are paired by position, since aligning them would take seconds."""
_SIMILAR_PAIRS: Final = 10_000
_MAX_VALUE_LENGTH: Final = 300


class JsonChangeKind(StrEnum):
    """How a place of a JSON value differs."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonChange:
    """One place where two JSON values differ."""

    kind: JsonChangeKind
    path: str
    """JSON path, in the observed value for additions and in the expected value otherwise."""
    expected: JsonValue
    """None for additions."""
    observed: JsonValue
    """None for removals."""


def diff_json(expected: JsonValue, observed: JsonValue) -> tuple[JsonChange, ...]:
    """Return every difference in the order of the expected value; empty if the values and their types are equal.

    `1`, `1.0` and `true` are three different values. Lists are aligned before they are compared, so that an inserted
    element is one addition rather than a change of all following elements. Two that were exchanged are changes.

    Raises:
        TraceFieldError: a value is not JSON.
    """
    if canonical_json(expected) == canonical_json(observed):
        return ()
    return tuple(_changes("$", expected, observed))


def render_json_diff(changes: Sequence[JsonChange]) -> str:
    """Format changes as text, at most three lines each."""
    lines: list[str] = []
    for change in changes:
        lines.append(f"{change.path}: {change.kind}")
        before, now = canonical_json(change.expected), canonical_json(change.observed)
        if change.kind is JsonChangeKind.CHANGED:
            start, stop = differing_part(before, now, _MAX_VALUE_LENGTH)
        else:
            start, stop = 0, _MAX_VALUE_LENGTH
        if change.kind is not JsonChangeKind.ADDED:
            lines.append(f"  - {_cut(before, start, stop)}")
        if change.kind is not JsonChangeKind.REMOVED:
            lines.append(f"  + {_cut(now, start, stop)}")
    return "".join(f"{line}\n" for line in lines)


def _cut(text: str, start: int, stop: int) -> str:
    shown = excerpt(text, start, stop)
    return text if shown == text else f"{shown} ({len(text)} characters)"


def _changes(path: str, expected: JsonValue, observed: JsonValue) -> Iterator[JsonChange]:
    if isinstance(expected, dict) and isinstance(observed, dict):
        yield from _member_changes(path, expected, observed)
    elif isinstance(expected, list) and isinstance(observed, list):
        yield from _element_changes(path, expected, observed)
    elif canonical_json(expected) != canonical_json(observed):
        yield JsonChange(kind=JsonChangeKind.CHANGED, path=path, expected=expected, observed=observed)


def _member_changes(path: str, expected: dict[str, JsonValue], observed: dict[str, JsonValue]) -> Iterator[JsonChange]:
    for key in [*expected, *sorted(observed.keys() - expected.keys())]:
        here = child_path(path, key)
        if key not in observed:
            yield _removed(here, expected[key])
        elif key not in expected:
            yield _added(here, observed[key])
        else:
            yield from _changes(here, expected[key], observed[key])


def _element_changes(path: str, expected: list[JsonValue], observed: list[JsonValue]) -> Iterator[JsonChange]:
    for left, right in _aligned(expected, observed):
        if right is None and left is not None:
            yield _removed(child_path(path, left), expected[left])
        elif left is None and right is not None:
            yield _added(child_path(path, right), observed[right])
        elif left is not None and right is not None:
            yield from _changes(child_path(path, left), expected[left], observed[right])


def _removed(path: str, value: JsonValue) -> JsonChange:
    return JsonChange(kind=JsonChangeKind.REMOVED, path=path, expected=value, observed=None)


def _added(path: str, value: JsonValue) -> JsonChange:
    return JsonChange(kind=JsonChangeKind.ADDED, path=path, expected=None, observed=value)


_Pair = tuple[int | None, int | None]


def _aligned(expected: list[JsonValue], observed: list[JsonValue]) -> Iterator[_Pair]:
    """Yield the pairs of indices that differ; None means that the element is absent on that side."""
    left = [canonical_json(item) for item in expected]
    right = [canonical_json(item) for item in observed]
    start = _common_prefix(left, right)
    end = _common_prefix(left[start:][::-1], right[start:][::-1])
    left_middle, right_middle = left[start : len(left) - end], right[start : len(right) - end]
    if len(left_middle) * len(right_middle) > _ALIGNABLE_PAIRS:
        yield from _by_position(range(start, len(left) - end), range(start, len(right) - end))
        return
    if _are_exchanged(left_middle, right_middle):
        yield from ((place, place) for place in (start, len(left) - end - 1))
        return
    matcher = difflib.SequenceMatcher(None, left_middle, right_middle, autojunk=False)
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        if tag != "equal":
            left_range = range(start + left_from, start + left_to)
            right_range = range(start + right_from, start + right_to)
            yield from _paired(expected, observed, left_range, right_range)


def _are_exchanged(left: Sequence[str], right: Sequence[str]) -> bool:
    """Return whether the first and the last element were exchanged, and nothing else is different."""
    ends = [left[:1], left[-1:]] == [right[-1:], right[:1]]
    return len(left) == len(right) > 1 and ends and left[1:-1] == right[1:-1]


def _common_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length


def _paired(expected: list[JsonValue], observed: list[JsonValue], left: range, right: range) -> Iterator[_Pair]:
    """Pair the elements of a replaced range: by position if their number is equal, else by similarity in order."""
    if len(left) == len(right) or not left or not right or len(left) * len(right) > _SIMILAR_PAIRS:
        yield from _by_position(left, right)
        return
    likeness = [[_similarity(expected[one], observed[other]) for other in right] for one in left]
    best = _best_scores(likeness)
    row, column = 0, 0
    while row < len(left) or column < len(right):
        if row == len(left):
            pair: _Pair = (None, right[column])
        elif column == len(right):
            pair = (left[row], None)
        elif best[row][column] == best[row + 1][column + 1] + likeness[row][column]:
            pair = (left[row], right[column])
        elif best[row][column] == best[row][column + 1]:
            pair = (None, right[column])
        else:
            pair = (left[row], None)
        yield pair
        row += pair[0] is not None
        column += pair[1] is not None


def _by_position(left: range, right: range) -> Iterator[_Pair]:
    for offset in range(max(len(left), len(right))):
        yield (
            left[offset] if offset < len(left) else None,
            right[offset] if offset < len(right) else None,
        )


def _best_scores(similarity: list[list[int]]) -> list[list[int]]:
    """Return the best total similarity from each pair of positions to the end."""
    rows, columns = len(similarity), len(similarity[0])
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            paired = best[row + 1][column + 1] + similarity[row][column]
            best[row][column] = max(paired, best[row + 1][column], best[row][column + 1])
    return best


def _similarity(expected: JsonValue, observed: JsonValue) -> int:
    """Return the similarity of two elements in thousandths; at least 1, so that pairing is preferred."""
    if isinstance(expected, dict) and isinstance(observed, dict):
        members = expected.keys() | observed.keys()
        same = sum(
            canonical_json(expected[key]) == canonical_json(observed[key]) for key in expected.keys() & observed.keys()
        )
        return 1 + 1000 * same // max(1, len(members))
    if isinstance(expected, list) and isinstance(observed, list):
        pairs = zip(expected, observed, strict=False)
        same = sum(canonical_json(one) == canonical_json(other) for one, other in pairs)
        return 1 + 1000 * same // max(1, len(expected), len(observed))
    return 1
