"""A mutant of a mission, and what is right for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.mutations.source import Answer, Place

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a replay of a mutant must come to."""

    verdict: str
    place: Place | None = None
    """The first action that diverges."""
    layers: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A mission whose answers, or whose trace, were changed in one respect."""

    operator: str
    what: str
    """What was changed, for whoever looks at a miss."""
    truth: Truth
    answers: Mapping[int, Answer] | None = None
    """What is answered otherwise, by ordinal of the exchange."""
    messages: Mapping[int, str | None] | None = None
    """What servers say otherwise on sockets, by order of the event; None says nothing."""
    trace: str | None = None
    """The changed `trace.json`."""


FAITHFUL = Truth(verdict="faithful")


def diverges(place: Place, layers: str, causes: str) -> Truth:
    """Say where a mutant diverges; layers and causes are words."""
    return Truth(verdict="diverged", place=place, layers=frozenset(layers.split()), causes=frozenset(causes.split()))


def spread(items: Sequence[T], count: int) -> list[T]:
    """Take so many items, spread over all of them."""
    if len(items) <= count:
        return list(items)
    return [items[place * len(items) // count] for place in range(count)]
