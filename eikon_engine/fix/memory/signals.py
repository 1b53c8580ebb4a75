"""Reasons why a piece of code may be relevant to a failure, and their weights."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.appliers.bounds import is_test_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.fix.failure import Analysis, TestFailure
    from eikon_engine.fix.memory.chunks import Chunk
    from eikon_engine.fix.memory.used_names import UsedNames

FAILS_HERE: Final = 100.0
IN_CALL_STACK: Final = 60.0
DEFINES: Final = 50.0
DEFINES_INDIRECTLY: Final = 30.0
TARGET: Final = 30.0
SAME_FILE: Final = 25.0
SAME_TESTS: Final = 5.0
MENTIONED: Final = 20.0
OTHER_FAILURE: Final = 15.0
SIMILAR: Final = 20.0
RECENTLY_CHANGED: Final = 10.0

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
    recently_changed: frozenset[str]
    """Files of recent commits."""
    used: UsedNames
    mentioned: frozenset[str]
    """Paths that the failure mentions."""

    def reasons(self, chunk: Chunk, similarity: float) -> Iterator[Reason]:
        """Yield the reasons for a piece, strongest first."""
        first = self.analysis.first
        if first is not None:
            yield from _location_reasons(first, chunk)
        if near := sorted(chunk.symbols & self.used.direct):
            yield Reason(weight=DEFINES, why=f"defines {', '.join(near[:3])}")
        elif far := sorted(chunk.symbols & self.used.indirect):
            yield Reason(weight=DEFINES_INDIRECTLY, why=f"defines {', '.join(far[:3])}, indirectly")
        if any(PurePosixPath(chunk.file).is_relative_to(each) for each in self.targets):
            yield Reason(weight=TARGET, why="target file")
        if first is not None:
            yield from self._file_reasons(first, chunk)
        if any(_contains_failure(each, chunk) for each in self.analysis.others):
            yield Reason(weight=OTHER_FAILURE, why="another test fails here")
        if similarity > 0:
            yield Reason(weight=SIMILAR * similarity, why="common words")
        if chunk.file in self.recently_changed:
            yield Reason(weight=RECENTLY_CHANGED, why="recently changed")

    def _file_reasons(self, first: TestFailure, chunk: Chunk) -> Iterator[Reason]:
        """Yield reasons that hold for a whole file; weak for tests, whose other tests are seldom relevant."""
        is_code = not is_test_file(PurePosixPath(chunk.file))
        if chunk.file in {first.file, *(each.file for each in first.frames)}:
            yield Reason(weight=SAME_FILE if is_code else SAME_TESTS, why="file of the failure")
        if chunk.file in self.mentioned and is_code:
            yield Reason(weight=MENTIONED, why="mentioned by the failure")


def mentioned_paths(failure: TestFailure | None) -> frozenset[str]:
    """Return the words of a failure that may be paths."""
    return frozenset() if failure is None else frozenset(_PATH.findall(f"{failure.message}\n{failure.excerpt}"))


def _location_reasons(failure: TestFailure, chunk: Chunk) -> Iterable[Reason]:
    if _contains_failure(failure, chunk):
        yield Reason(weight=FAILS_HERE, why="fails here")
    elif any(each.file == chunk.file and chunk.first <= each.line <= chunk.last for each in failure.frames):
        yield Reason(weight=IN_CALL_STACK, why="in the call stack")


def _contains_failure(failure: TestFailure, chunk: Chunk) -> bool:
    return failure.file == chunk.file and failure.line is not None and chunk.first <= failure.line <= chunk.last
