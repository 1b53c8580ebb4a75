"""Rank pieces of code by their relevance to a failure.

Source of BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; the library is bm25s.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.change_policy import is_test_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from eikon_engine.fix.models import Analysis, TestFailure
    from eikon_engine.fix.retrieval.chunks import Chunk

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
        """Yield reasons that hold for a complete file; weak for tests, whose other tests are seldom relevant."""
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


_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MIN_LENGTH: Final = 2
_MENTIONED_NAME: Final = re.compile(r"['\"`]([A-Za-z_]\w+)['\"`]|\b([A-Za-z_]\w+)\(")
_COMMON: Final = frozenset(
    {
        *(each.lower() for each in keyword.kwlist),
        "self",
        "cls",
        "function",
        "const",
        "let",
        "var",
        "this",
        "new",
        "test",
    }
)
"""Words too frequent to be informative."""


@lru_cache(maxsize=1 << 15)
def code_words(text: str) -> tuple[str, ...]:
    """Return identifiers and their parts in lower case: `parseURL_list` gives itself, parse, url and list."""
    return tuple(word for name in _WORD.findall(text) for word in _words_of(name))


def identifiers(code: str) -> frozenset[str]:
    """Return the identifiers in code as written."""
    return frozenset(name for name in _WORD.findall(code) if _is_informative(name.lower()))


def mentioned_identifiers(text: str) -> frozenset[str]:
    """Return the identifiers that a message quotes or calls."""
    return frozenset(quoted or called for quoted, called in _MENTIONED_NAME.findall(text))


@lru_cache(maxsize=1 << 16)
def _words_of(name: str) -> tuple[str, ...]:
    complete, parts = name.lower(), [part.lower() for part in _PART.findall(name)]
    return tuple(each for each in (complete, *(parts if parts != [complete] else ())) if _is_informative(each))


def _is_informative(word: str) -> bool:
    return len(word) >= _MIN_LENGTH and word not in _COMMON


_SCORE_DIGITS: Final = 3
"""Digits to round to, so that the order is the same on every machine."""


def bm25_scores(question: str, texts: Sequence[str]) -> tuple[float, ...]:
    """Return a score for each text: 1 for the most similar, 0 for those without a common word."""
    import bm25s  # noqa: PLC0415 - an extra, and takes 0.2 s to import

    corpus = [code_words(text) for text in texts]
    known = {word for each in corpus for word in each}
    known_words = sorted(set(code_words(question)) & known)
    if not known_words:
        return (0.0,) * len(texts)
    index = bm25s.BM25()
    index.index(corpus, show_progress=False)
    scores = [max(0.0, float(score)) for score in index.get_scores(known_words)]
    highest = max(scores)
    return tuple(round(score / highest, _SCORE_DIGITS) if highest else 0.0 for score in scores)


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
    distinctive = frozenset(symbol for symbol, times in defined.items() if times <= MAX_DEFINITIONS)
    places = {(each.file, each.line) for each in failure.frames}
    here = [chunk for file, line in places for chunk in chunks.get(file, ()) if chunk.first <= line <= chunk.last]
    mentioned = mentioned_identifiers(f"{failure.message}\n{failure.excerpt}")
    near = (_used_in(here) | mentioned) & distinctive - _defined_in(here)
    there = [chunk for chunk in every if chunk.symbols & near]
    return UsedNames(direct=near, indirect=_used_in(there) & distinctive - near - _defined_in([*here, *there]))


def _used_in(chunks: Collection[Chunk]) -> frozenset[str]:
    return frozenset[str]().union(*(identifiers(chunk.text) for chunk in chunks))


def _defined_in(chunks: Collection[Chunk]) -> frozenset[str]:
    return frozenset[str]().union(*(chunk.symbols for chunk in chunks))
