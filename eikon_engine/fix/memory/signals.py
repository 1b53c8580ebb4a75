"""Reasons why a piece of code may be relevant to a failure, and their weights."""

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
    """Facts about a failure that are independent of a piece of code."""

    analysis: Analysis
    targets: tuple[str, ...]
    lately: frozenset[str]
    """Files of recent commits."""
    used: UsedNames
    named: frozenset[str]
    """Paths that the failure mentions."""

    def reasons(self, chunk: Chunk, alike: float) -> Iterator[Reason]:
        """Yield the reasons for a piece, strongest first."""
        first = self.analysis.first
        if first is not None:
            yield from _failing(first, chunk)
        if near := sorted(chunk.symbols & self.used.near):
            yield Reason(weight=DEFINES, why=f"defines {', '.join(near[:3])}")
        elif far := sorted(chunk.symbols & self.used.far):
            yield Reason(weight=DEFINES_FAR, why=f"defines {', '.join(far[:3])}, indirectly")
        if any(PurePosixPath(chunk.file).is_relative_to(each) for each in self.targets):
            yield Reason(weight=TARGET, why="target file")
        if first is not None:
            yield from self._about_file(first, chunk)
        if any(_is_at(each, chunk) for each in self.analysis.others):
            yield Reason(weight=OTHER_FAILURE, why="another test fails here")
        if alike > 0:
            yield Reason(weight=ALIKE * alike, why="common words")
        if chunk.file in self.lately:
            yield Reason(weight=CHANGED_LATELY, why="recently changed")

    def _about_file(self, first: TestFailure, chunk: Chunk) -> Iterator[Reason]:
        """Yield reasons that hold for a whole file; weak for tests, whose other tests are seldom relevant."""
        is_code = not is_test(PurePosixPath(chunk.file))
        if chunk.file in {first.file, *(each.file for each in first.frames)}:
            yield Reason(weight=SAME_FILE if is_code else SAME_TESTS, why="file of the failure")
        if chunk.file in self.named and is_code:
            yield Reason(weight=NAMED, why="mentioned by the failure")


def paths_named(failure: TestFailure | None) -> frozenset[str]:
    """Return the words of a failure that may be paths."""
    return frozenset() if failure is None else frozenset(_PATH.findall(f"{failure.message}\n{failure.excerpt}"))


def _failing(failure: TestFailure, chunk: Chunk) -> Iterable[Reason]:
    if _is_at(failure, chunk):
        yield Reason(weight=FAILS_HERE, why="fails here")
    elif any(each.file == chunk.file and chunk.first <= each.line <= chunk.last for each in failure.frames):
        yield Reason(weight=ON_THE_WAY, why="in the call stack")


def _is_at(failure: TestFailure, chunk: Chunk) -> bool:
    return failure.file == chunk.file and failure.line is not None and chunk.first <= failure.line <= chunk.last
