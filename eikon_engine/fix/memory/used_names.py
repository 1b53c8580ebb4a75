"""Names that the code of a failure uses, by which the code that it depends on is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.memory.words import names, names_told

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from eikon_engine.fix.failure import TestFailure
    from eikon_engine.fix.memory.chunks import Chunk

MOST_DEFINITIONS: Final = 3
"""Places that define a name, above which it says nothing about the one that is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedNames:
    """Names that few pieces define."""

    near: frozenset[str]
    """Used where the failure happens, or named by it."""
    far: frozenset[str]
    """Used where the near ones are defined."""


def used_names(failure: TestFailure | None, chunks: Mapping[str, Sequence[Chunk]]) -> UsedNames:
    """Follow the names from where a failure happens, two steps far."""
    if failure is None:
        return UsedNames(near=frozenset(), far=frozenset())
    every = [chunk for each in chunks.values() for chunk in each]
    defined = Counter(symbol for chunk in every for symbol in chunk.symbols)
    telling = frozenset(symbol for symbol, times in defined.items() if times <= MOST_DEFINITIONS)
    places = {(each.file, each.line) for each in failure.frames}
    here = [chunk for file, line in places for chunk in chunks.get(file, ()) if chunk.first <= line <= chunk.last]
    told = names_told(f"{failure.message}\n{failure.excerpt}")
    near = (_used_in(here) | told) & telling - _defined_in(here)
    there = [chunk for chunk in every if chunk.symbols & near]
    return UsedNames(near=near, far=_used_in(there) & telling - near - _defined_in([*here, *there]))


def _used_in(chunks: Collection[Chunk]) -> frozenset[str]:
    return frozenset[str]().union(*(names(chunk.text) for chunk in chunks))


def _defined_in(chunks: Collection[Chunk]) -> frozenset[str]:
    return frozenset[str]().union(*(chunk.symbols for chunk in chunks))
