"""Patterns by which breakpoints choose steps: regular expressions and URLs with `*`, searched for a bounded time.

A regular expression can take longer than the universe lasts (`(a+)+$`). One that is not decided in time says so, and
whoever asked must not take that for "no".
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

SEARCH_S: Final = 0.05
"""Processor time within which all texts of a step have to be decided: a busy machine changes no answer."""
LEAST_S: Final = 0.001
"""Time for each text, however many there are."""
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
        _demand_length(source, what)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what may mean something else one day
                re.compile(source, re.IGNORECASE)
            return cls(source, regex.compile(_as_python(source, what), regex.IGNORECASE))
        except (re.error, regex.error, OverflowError, RecursionError) as error:
            message = f"{what}: wanted a regular expression, found {source!r} ({error}); escape what is meant literally"
            raise BreakpointError(message) from error

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
    _method: str
    _pieces: tuple[str, ...]
    """What stands between the stars."""

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
        _demand_length(source, "request")
        return cls(source, method.upper(), tuple(url.split("*")))

    def search(self, key: str, _timeout_s: float = SEARCH_S) -> Found:
        """Say whether it fits a request, given by its key; that takes no time to speak of."""
        method, _, url = key.partition(BODY_MARK)[0].partition(" ")
        if self._method and method.upper() != self._method:
            return Found.NO
        return Found.YES if self._fits(url) else Found.NO

    def _fits(self, url: str) -> bool:
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


def first_found(pattern: TextPattern | RequestPattern, texts: Sequence[str]) -> tuple[Found, str]:
    """Search texts in order, for `SEARCH_S` in all; return what came of it, with the text that decided."""
    each_s = max(SEARCH_S / max(len(texts), 1), LEAST_S)
    for text in texts:
        found = pattern.search(text, each_s)
        if found is not Found.NO:
            return found, text
    return Found.NO, ""


def _as_python(source: str, what: str) -> str:
    """Write a pattern of Python's `re` so that `regex` takes it for the same.

    `regex` has more: braces may count errors (`a{e}`), and sets may have named parts (`[[:alpha:]]`). To Python these
    are letters as any other.

    Raises:
        BreakpointError: white space has no meaning in it, so that it cannot be told what is a comment.
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
                message = (
                    f"{what}: wanted a pattern in which white space counts, found {source!r}; leave the flag x out"
                )
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
"""What `regex` may take for something else than Python does, and what has to be stepped over to find it."""


def _demand_length(source: str, what: str) -> None:
    if not 1 <= len(source) <= LONGEST:
        message = f"{what}: wanted a pattern of 1 to {LONGEST} characters, found one of {len(source)}"
        raise BreakpointError(message)
