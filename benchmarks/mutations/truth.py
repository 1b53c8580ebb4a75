"""A mutant of a mission, and its expected result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.mutations.source import Answer, Place

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The expected result of a replay of a mutant."""

    verdict: str
    place: Place | None = None
    """The first action that diverges."""
    layers: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A mission with one change of its responses or its trace."""

    operator: str
    what: str
    """Description of the change, for people who look at an unexpected result."""
    truth: Truth
    answers: Mapping[int, Answer] | None = None
    """Changed responses, by ordinal of the exchange."""
    messages: Mapping[int, str | None] | None = None
    """Changed messages of servers on sockets, by order of the event; None omits the message."""
    trace: str | None = None
    """The changed `trace.json`."""


FAITHFUL = Truth(verdict="faithful")


def diverges(place: Place, layers: str, causes: str) -> Truth:
    """Return the expected divergence of a mutant; layers and causes are separated by spaces."""
    return Truth(verdict="diverged", place=place, layers=frozenset(layers.split()), causes=frozenset(causes.split()))


def spread(items: Sequence[T], count: int) -> list[T]:
    """Return the given number of items, spread evenly."""
    if len(items) <= count:
        return list(items)
    return [items[place * len(items) // count] for place in range(count)]
