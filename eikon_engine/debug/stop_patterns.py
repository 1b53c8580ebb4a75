"""Patterns of breakpoints: regular expressions and URLs with `*`, searched for a limited time.

A regular expression can take exponential time (`(a+)+$`). An undecided search is reported, never treated as "no match".
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Self

import regex

from eikon_engine.errors import BreakpointError
from eikon_engine.network.keys import BODY_MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

SEARCH_TIMEOUT_S: Final = 0.05
"""Processor time for all texts of a step; the load of the machine does not change results."""
MIN_SEARCH_S: Final = 0.001
"""Minimum time per text."""
MAX_PATTERN_LENGTH: Final = 2_000
"""In characters."""


class SearchResult(Enum):
    """Result of a search."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"
    """Aborted after `SEARCH_TIMEOUT_S`."""


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A case-insensitive regular expression, searched anywhere in a text."""

    source: str
    _compiled: regex.Pattern[str] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, source: str, name: str) -> Self:
        """Parse the syntax of Python's `re`; `what` names the pattern in messages.

        Raises:
            BreakpointError: empty, too long, or not a regular expression.
        """
        _require_length(source, name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # deprecated syntax
                re.compile(source, re.IGNORECASE)
            return cls(source, regex.compile(_to_regex_syntax(source, name), regex.IGNORECASE))
        except (re.error, regex.error, OverflowError, RecursionError) as error:
            message = f"{name}: expected a regular expression, got {source!r} ({error}); escape literal characters"
            raise BreakpointError(message) from error

    def search(self, text: str, timeout_s: float = SEARCH_TIMEOUT_S) -> SearchResult:
        """Search a text."""
        try:
            return SearchResult.NO if self._compiled.search(text, timeout=timeout_s) is None else SearchResult.YES
        except TimeoutError:
            return SearchResult.UNDECIDED


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """A URL with `*` for any text, optionally preceded by a method: `*/api/*`, `POST */cart`."""

    source: str
    _method: str
    _pieces: tuple[str, ...]
    """Literal parts between the stars."""

    @classmethod
    def parse(cls, source: str) -> Self:
        """Parse a pattern; it must match the whole URL with its query, without its fragment.

        Raises:
            BreakpointError: empty, too long, or contains a misplaced space.
        """
        method, _, url = source.rpartition(" ")
        if not url or method != method.strip() or " " in method:
            message = f"request: expected a URL such as '*/api/*' or 'POST */cart', got {source!r}"
            raise BreakpointError(message)
        _require_length(source, "request")
        return cls(source, method.upper(), tuple(url.split("*")))

    def search(self, key: str, _timeout_s: float = SEARCH_TIMEOUT_S) -> SearchResult:
        """Match a request key; never undecided."""
        method, _, url = key.partition(BODY_MARK)[0].partition(" ")
        if self._method and method.upper() != self._method:
            return SearchResult.NO
        return SearchResult.YES if self._matches_url(url) else SearchResult.NO

    def _matches_url(self, url: str) -> bool:
        first, *between = self._pieces
        if not between:
            return url == first
        *between, last = between
        place, end = len(first), len(url) - len(last)
        if place > end or not url.startswith(first) or not url.endswith(last):
            return False
        for piece in between:
            found = url.find(piece, place, end)
            if found < 0:
                return False
            place = found + len(piece)
        return True


def search_texts(pattern: TextPattern | RequestPattern, texts: Sequence[str]) -> tuple[SearchResult, str]:
    """Search texts in order within `SEARCH_TIMEOUT_S`; return the result, with the deciding text."""
    each_s = max(SEARCH_TIMEOUT_S / max(len(texts), 1), MIN_SEARCH_S)
    for text in texts:
        found = pattern.search(text, each_s)
        if found is not SearchResult.NO:
            return found, text
    return SearchResult.NO, ""


def _to_regex_syntax(source: str, what: str) -> str:
    """Rewrite a pattern of Python's `re` so that `regex` reads it the same way.

    `regex` has additional syntax: braces may count errors (`a{e}`), sets may have named parts (`[[:alpha:]]`). In
    Python these are literal characters.

    Raises:
        BreakpointError: the pattern uses verbose mode.
    """

    def same(token: re.Match[str]) -> str:
        match token.lastgroup:
            case "set":
                return token[0][0] + token[0][1:].replace("\\[", "[").replace("[", "\\[")
            case "brace":
                return "\\{"
            case "up_to":
                return f"{{0{token['up_to']}}}"
            case "verbose":
                message = f"{what}: verbose patterns are not supported, got {source!r}; remove the flag x"
                raise BreakpointError(message)
            case _:
                return token[0]

    return _TOKEN.sub(same, source)


_TOKEN: Final = re.compile(
    r"""
      \\N\{[^}]*\} | \\. | \(\?\#[^)]*\)
    | (?P<verbose> \(\? [a-zA-Z]*x[a-zA-Z]* (?:-[a-zA-Z]+)? [:)] )
    | (?P<set> \[\^?\]? (?:\\.|[^]\\])* \] )
    | \{\d+(?:,\d*)?\}
    | \{(?P<up_to>,\d*)\}
    | (?P<brace> \{ )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Syntax that `regex` may read differently from Python, and what must be skipped to find it."""


def _require_length(source: str, what: str) -> None:
    if not 1 <= len(source) <= MAX_PATTERN_LENGTH:
        message = f"{what}: expected a pattern of 1 to {MAX_PATTERN_LENGTH} characters, got {len(source)}"
        raise BreakpointError(message)
