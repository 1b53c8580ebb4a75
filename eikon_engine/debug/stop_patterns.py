"""Patterns by which breakpoints choose steps: regular expressions and URLs with `*`, searched for a bounded time.

A regular expression can take longer than the universe lasts (`(a+)+$`). One that is not decided in time says so, and
whoever asked must not take that for "no".
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Self

import regex

from eikon_engine.errors import BreakpointError
from eikon_engine.network.keys import BODY_MARK

if TYPE_CHECKING:
    from collections.abc import Iterable

SEARCH_S: Final = 0.05
"""Time within which all texts of a step have to be decided."""
LEAST_S: Final = 0.001
"""Time for each text, though the others took longer."""
LONGEST: Final = 2_000
"""Characters of a pattern, at most."""


class Found(Enum):
    """What became of a search."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"
    """It was given up after `SEARCH_S`."""


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A regular expression that is found anywhere in a text, whatever the case of its letters."""

    source: str
    _compiled: regex.Pattern[str] = field(compare=False, repr=False)

    @classmethod
    def read(cls, source: str, what: str) -> Self:
        """Read the syntax of Python's `re`; `what` names the pattern in messages.

        Raises:
            BreakpointError: it is empty, too long, or no regular expression.
        """
        return cls(source, _compiled(source, source, what, regex.IGNORECASE))

    def search(self, text: str, timeout_s: float = SEARCH_S) -> Found:
        """Say whether a text has it."""
        try:
            return Found.NO if self._compiled.search(text, timeout=timeout_s) is None else Found.YES
        except TimeoutError:
            return Found.UNDECIDED


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """A URL in which `*` stands for any text, behind a method or for all of them: `*/api/*`, `POST */cart`."""

    source: str
    _compiled: regex.Pattern[str] = field(compare=False, repr=False)
    _method: str

    @classmethod
    def read(cls, source: str) -> Self:
        """Read a pattern; it has to fit the whole URL, query included, fragment left out.

        Raises:
            BreakpointError: it is empty, too long, or has a space where a URL has none.
        """
        method, _, url = source.rpartition(" ")
        if not url or method != method.strip() or " " in method:
            message = f"request: wanted a URL, such as '*/api/*' or 'POST */cart', found {source!r}"
            raise BreakpointError(message)
        glob = ".*".join(map(regex.escape, url.split("*")))
        return cls(source, _compiled(glob, source, "request", regex.DOTALL), method.upper())

    def search(self, key: str, timeout_s: float = SEARCH_S) -> Found:
        """Say whether it fits a request, given by its key."""
        method, _, url = key.partition(BODY_MARK)[0].partition(" ")
        if self._method and method.upper() != self._method:
            return Found.NO
        try:
            return Found.NO if self._compiled.fullmatch(url, timeout=timeout_s) is None else Found.YES
        except TimeoutError:
            return Found.UNDECIDED


def first_found(pattern: TextPattern | RequestPattern, texts: Iterable[str]) -> tuple[Found, str]:
    """Search texts in order, for `SEARCH_S` in all; return what came of it, with the text that decided."""
    end = time.perf_counter() + SEARCH_S
    for text in texts:
        found = pattern.search(text, max(end - time.perf_counter(), LEAST_S))
        if found is not Found.NO:
            return found, text
    return Found.NO, ""


def _compiled(expression: str, source: str, what: str, flags: int) -> regex.Pattern[str]:
    if not source or len(source) > LONGEST:
        message = f"{what}: wanted a pattern of 1 to {LONGEST} characters, found one of {len(source)}"
        raise BreakpointError(message)
    try:
        return regex.compile(expression, flags)
    except (regex.error, OverflowError, RecursionError) as error:
        message = f"{what}: wanted a regular expression, found {source!r} ({error}); escape what is meant literally"
        raise BreakpointError(message) from error
