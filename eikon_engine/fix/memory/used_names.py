"""Names that the failing code uses, to find the code it depends on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.memory.words import identifiers, mentioned_identifiers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from eikon_engine.fix.failure import TestFailure
    from eikon_engine.fix.memory.chunks import Chunk

MAX_DEFINITIONS: Final = 3
"""Maximum number of definitions of a name; more make it ambiguous."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedNames:
    """Names with few definitions."""

    direct: frozenset[str]
    """Used at the failure, or named by it."""
    indirect: frozenset[str]
    """Used where the near names are defined."""


def find_used_names(failure: TestFailure | None, chunks: Mapping[str, Sequence[Chunk]]) -> UsedNames:
    """Follow the names from the failure, two steps."""
    if failure is None:
        return UsedNames(direct=frozenset(), indirect=frozenset())
    every = [chunk for each in chunks.values() for chunk in each]
    defined = Counter(symbol for chunk in every for symbol in chunk.symbols)
    telling = frozenset(symbol for symbol, times in defined.items() if times <= MAX_DEFINITIONS)
    places = {(each.file, each.line) for each in failure.frames}
    here = [chunk for file, line in places for chunk in chunks.get(file, ()) if chunk.first <= line <= chunk.last]
    told = mentioned_identifiers(f"{failure.message}\n{failure.excerpt}")
    near = (_used_in(here) | told) & telling - _defined_in(here)
    there = [chunk for chunk in every if chunk.symbols & near]
    return UsedNames(direct=near, indirect=_used_in(there) & telling - near - _defined_in([*here, *there]))


def _used_in(chunks: Collection[Chunk]) -> frozenset[str]:
    return frozenset[str]().union(*(identifiers(chunk.text) for chunk in chunks))


def _defined_in(chunks: Collection[Chunk]) -> frozenset[str]:
    return frozenset[str]().union(*(chunk.symbols for chunk in chunks))
