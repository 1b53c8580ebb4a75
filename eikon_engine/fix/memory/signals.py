"""Why a piece of code may belong to a failure, and how much each reason counts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.memory.words import names, names_told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eikon_engine.fix.failure import Analysis, TestFailure
    from eikon_engine.fix.memory.chunks import Chunk

FAILS_HERE: Final = 100.0
ON_THE_WAY: Final = 60.0
DEFINES: Final = 50.0
TARGET: Final = 30.0
SAME_FILE: Final = 25.0
NAMED: Final = 20.0
OTHER_FAILURE: Final = 15.0
ALIKE: Final = 20.0
CHANGED_LATELY: Final = 10.0

MOST_DEFINITIONS: Final = 3
"""Places that define a name, above which it says nothing about the one that is meant."""

_PATH: Final = re.compile(r"[\w./+@-]*\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason for a piece of code."""

    weight: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What is known of a failure before any code is looked at."""

    analysis: Analysis
    targets: tuple[str, ...]
    lately: frozenset[str]
    """Files that changed in recent commits, or since."""
    used: frozenset[str]
    """Names that stand where the failure happens."""
    named: frozenset[str]
    """Paths that the failure speaks of."""

    def reasons(self, chunk: Chunk, alike: float) -> Iterator[Reason]:
        """Yield the reasons for a piece, strongest first."""
        first = self.analysis.first
        if first is not None:
            yield from _failing(first, chunk)
        defined = sorted(chunk.symbols & self.used)
        if defined:
            yield Reason(weight=DEFINES, why=f"defines {', '.join(defined[:3])}")
        if any(PurePosixPath(chunk.file).is_relative_to(each) for each in self.targets):
            yield Reason(weight=TARGET, why="target file")
        if first is not None and chunk.file in {first.file, *(each.file for each in first.frames)}:
            yield Reason(weight=SAME_FILE, why="file of the failure")
        if first is not None and chunk.file in self.named:
            yield Reason(weight=NAMED, why="named by the failure")
        if any(_is_at(each, chunk) for each in self.analysis.others):
            yield Reason(weight=OTHER_FAILURE, why="another test fails here")
        if alike > 0:
            yield Reason(weight=ALIKE * alike, why="same words")
        if chunk.file in self.lately:
            yield Reason(weight=CHANGED_LATELY, why="changed lately")


def paths_named(failure: TestFailure | None) -> frozenset[str]:
    """Return what may be paths in the words of a failure."""
    return frozenset() if failure is None else frozenset(_PATH.findall(f"{failure.message}\n{failure.excerpt}"))


def names_used(failure: TestFailure | None, chunks: Mapping[str, Sequence[Chunk]]) -> frozenset[str]:
    """Return the names in the pieces in which a failure happens, and in what it says, that few pieces define."""
    if failure is None:
        return frozenset()
    places = ((each.file, each.line) for each in failure.frames)
    here = (chunk for file, line in places for chunk in chunks.get(file, ()) if chunk.first <= line <= chunk.last)
    there = {(chunk.file, chunk.first): chunk for chunk in here}.values()
    told = names_told(f"{failure.message}\n{failure.excerpt}")
    here_defined = frozenset[str]().union(*(chunk.symbols for chunk in there))
    used = told.union(*(names(chunk.text) for chunk in there)) - here_defined
    places_of = Counter(symbol for each in chunks.values() for chunk in each for symbol in chunk.symbols & used)
    return frozenset(name for name in used if 0 < places_of[name] <= MOST_DEFINITIONS)


def _failing(failure: TestFailure, chunk: Chunk) -> Iterable[Reason]:
    if _is_at(failure, chunk):
        yield Reason(weight=FAILS_HERE, why="fails here")
    elif any(each.file == chunk.file and chunk.first <= each.line <= chunk.last for each in failure.frames):
        yield Reason(weight=ON_THE_WAY, why="on the way to the failure")


def _is_at(failure: TestFailure, chunk: Chunk) -> bool:
    return failure.file == chunk.file and failure.line is not None and chunk.first <= failure.line <= chunk.last
