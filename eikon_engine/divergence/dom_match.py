"""Match the children of two elements, and find those that changed their order."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from eikon_engine.trace.dom.tree import DomNode

_KEY_ATTRIBUTES: Final = frozenset({"id", "name", "data-key", "data-id", "data-testid", "key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildMatch:
    """The matched children of two elements."""

    partner: dict[int, int]
    """Index of the observed child by index of the expected child."""
    moved: frozenset[int]
    """Indices of expected children that are in a different order."""


def match_children(
    before: Sequence[DomNode], after: Sequence[DomNode], digests: tuple[list[bytes], list[bytes]]
) -> ChildMatch:
    """Match children by digest, then by key, then by order."""
    partner: dict[int, int] = {}
    end = _match_ends(digests, partner)
    rest = (range(len(partner) - end, len(before) - end), range(len(partner) - end, len(after) - end))
    _match_unique([digests[0][i] for i in rest[0]], [digests[1][i] for i in rest[1]], rest, partner)
    left = _unmatched(rest, partner)
    _match_unique([_sibling_key(before[i]) for i in left[0]], [_sibling_key(after[i]) for i in left[1]], left, partner)
    pairs = sorted(partner.items())
    steady = _longest_increasing_subsequence([found for _, found in pairs])
    moved = frozenset(pairs[place][0] for place in range(len(pairs)) if place not in steady)
    anchors = [pair for pair in pairs if pair[0] not in moved]
    kinds = ([(node.tag, node.namespace) for node in before], [(node.tag, node.namespace) for node in after])
    anything = ([True] * len(before), [True] * len(after))
    for values in (digests, kinds, anything):
        anchors = _match_gaps(values, anchors, partner)
    return ChildMatch(partner=partner, moved=moved)


def _match_ends(digests: tuple[list[bytes], list[bytes]], partner: dict[int, int]) -> int:
    """Match equal children at both ends; return the number matched at the far end."""
    shorter = min(map(len, digests))
    start = 0
    while start < shorter and digests[0][start] == digests[1][start]:
        partner[start] = start
        start += 1
    end = 0
    while end < shorter - start and digests[0][-1 - end] == digests[1][-1 - end]:
        end += 1
        partner[len(digests[0]) - end] = len(digests[1]) - end
    return end


def _match_unique(
    before: Sequence[Hashable | None],
    after: Sequence[Hashable | None],
    places: tuple[Sequence[int], Sequence[int]],
    partner: dict[int, int],
) -> None:
    """Match values that occur exactly once on both sides; `None` matches nothing."""
    counted = (_unique_indices(before), _unique_indices(after))
    for value, place in counted[0].items():
        found = counted[1].get(value)
        if found is not None and place is not None:
            partner[places[0][place]] = places[1][found]


def _unique_indices(values: Sequence[Hashable | None]) -> dict[Hashable, int | None]:
    """Return the index of each value, `None` for repeated values."""
    seen: dict[Hashable, int | None] = {}
    for place, value in enumerate(values):
        if value is not None:
            seen[value] = None if value in seen else place
    return seen


def _unmatched(rest: tuple[range, range], partner: dict[int, int]) -> tuple[list[int], list[int]]:
    """Return the indices that have no partner yet."""
    taken = set(partner.values())
    return [i for i in rest[0] if i not in partner], [i for i in rest[1] if i not in taken]


def _sibling_key(node: DomNode) -> tuple[str, str, str] | None:
    """Return the attribute that identifies an element among its siblings."""
    for name, value in node.attributes:
        if name in _KEY_ATTRIBUTES and value:
            return (node.tag, name, value)
    return None


def _longest_increasing_subsequence(numbers: Sequence[int]) -> set[int]:
    """Return the indices of a longest increasing subsequence: the items that kept their order."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(tails, number)
        previous.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [number]
        ends[length : length + 1] = [place]
    kept: set[int] = set()
    place = ends[-1] if ends else -1
    while place >= 0:
        kept.add(place)
        place = previous[place]
    return kept


def _match_gaps(
    values: tuple[Sequence[Hashable], Sequence[Hashable]], anchors: list[tuple[int, int]], partner: dict[int, int]
) -> list[tuple[int, int]]:
    """Match equal values between two anchors, in order; return the anchors together with the new pairs."""
    taken = set(partner.values())
    found: list[tuple[int, int]] = []
    start = (0, 0)
    for stop in (*anchors, (len(values[0]), len(values[1]))):
        left = [i for i in range(start[0], stop[0]) if i not in partner]
        right = [i for i in range(start[1], stop[1]) if i not in taken]
        found.extend(_pair_in_order(values, left, right))
        start = (stop[0] + 1, stop[1] + 1)
    partner.update(found)
    return sorted([*anchors, *found])


def _pair_in_order(
    values: tuple[Sequence[Hashable], Sequence[Hashable]], left: list[int], right: list[int]
) -> Iterator[tuple[int, int]]:
    """Pair each value with the next equal one on the other side."""
    places: dict[Hashable, list[int]] = {}
    for place in right:
        places.setdefault(values[1][place], []).append(place)
    last = -1
    for place in left:
        same = places.get(values[0][place], [])
        following = bisect_left(same, last + 1)
        if following < len(same):
            last = same[following]
            yield place, last
