"""Why a piece of code may belong to a failure, and how much each reason counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.appliers.bounds import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.fix.failure import Analysis, TestFailure
    from eikon_engine.fix.memory.chunks import Chunk
    from eikon_engine.fix.memory.used_names import UsedNames

FAILS_HERE: Final = 100.0
ON_THE_WAY: Final = 60.0
DEFINES: Final = 50.0
DEFINES_FAR: Final = 30.0
TARGET: Final = 30.0
SAME_FILE: Final = 25.0
SAME_TESTS: Final = 5.0
NAMED: Final = 20.0
OTHER_FAILURE: Final = 15.0
ALIKE: Final = 20.0
CHANGED_LATELY: Final = 10.0

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
    used: UsedNames
    named: frozenset[str]
    """Paths that the failure speaks of."""

    def reasons(self, chunk: Chunk, alike: float) -> Iterator[Reason]:
        """Yield the reasons for a piece, strongest first."""
        first = self.analysis.first
        if first is not None:
            yield from _failing(first, chunk)
        if near := sorted(chunk.symbols & self.used.near):
            yield Reason(weight=DEFINES, why=f"defines {', '.join(near[:3])}")
        elif far := sorted(chunk.symbols & self.used.far):
            yield Reason(weight=DEFINES_FAR, why=f"defines {', '.join(far[:3])}, one step further")
        if any(PurePosixPath(chunk.file).is_relative_to(each) for each in self.targets):
            yield Reason(weight=TARGET, why="target file")
        if first is not None:
            yield from self._about_file(first, chunk)
        if any(_is_at(each, chunk) for each in self.analysis.others):
            yield Reason(weight=OTHER_FAILURE, why="another test fails here")
        if alike > 0:
            yield Reason(weight=ALIKE * alike, why="same words")
        if chunk.file in self.lately:
            yield Reason(weight=CHANGED_LATELY, why="changed lately")

    def _about_file(self, first: TestFailure, chunk: Chunk) -> Iterator[Reason]:
        """Yield what holds for all pieces of a file: little in one of tests, whose other tests are seldom to blame."""
        is_code = not is_test(PurePosixPath(chunk.file))
        if chunk.file in {first.file, *(each.file for each in first.frames)}:
            yield Reason(weight=SAME_FILE if is_code else SAME_TESTS, why="file of the failure")
        if chunk.file in self.named and is_code:
            yield Reason(weight=NAMED, why="named by the failure")


def paths_named(failure: TestFailure | None) -> frozenset[str]:
    """Return what may be paths in the words of a failure."""
    return frozenset() if failure is None else frozenset(_PATH.findall(f"{failure.message}\n{failure.excerpt}"))


def _failing(failure: TestFailure, chunk: Chunk) -> Iterable[Reason]:
    if _is_at(failure, chunk):
        yield Reason(weight=FAILS_HERE, why="fails here")
    elif any(each.file == chunk.file and chunk.first <= each.line <= chunk.last for each in failure.frames):
        yield Reason(weight=ON_THE_WAY, why="on the way to the failure")


def _is_at(failure: TestFailure, chunk: Chunk) -> bool:
    return failure.file == chunk.file and failure.line is not None and chunk.first <= failure.line <= chunk.last
