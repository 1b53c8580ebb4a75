"""Regular expressions from bundles and from people: the syntax of Python's `re`, in a limited time.

`re` can neither be limited nor interrupted, so that a text on which a pattern backtracks would stop a command for ever;
`regex` can.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import regex

MATCH_TIMEOUT_S: Final = 5.0
"""Time of one search in one text."""
_MAX_SHOWN: Final = 60
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


def compile_pattern(source: str, flags: re.RegexFlag = re.NOFLAG) -> regex.Pattern[str]:
    """Compile a valid pattern of Python's `re`; searches in it take a `timeout`, in seconds.

    Raises:
        regex.error: `regex` cannot read it.
    """
    return _compile(source, int(flags))


@cache
def _compile(source: str, flags: int) -> regex.Pattern[str]:
    import regex  # noqa: PLC0415 - few commands have patterns

    given = re.RegexFlag(flags)
    is_rewritten = re.VERBOSE not in given and not has_verbose_flag(source)
    named = [getattr(regex, each.name) for each in given if each.name]
    return regex.compile(_to_regex_syntax(source) if is_rewritten else source, sum(named))


def matches_whole(source: str, text: str) -> bool:
    """Return whether a pattern matches a whole text, with `.` for line ends, too.

    Raises:
        TooLargeError: it takes too long.
    """
    try:
        return compile_pattern(source, re.DOTALL).fullmatch(text, timeout=MATCH_TIMEOUT_S) is not None
    except TimeoutError:
        raise _too_slow(source, text) from None


def is_in_text(source: str, text: str, flags: re.RegexFlag = re.NOFLAG) -> bool:
    """Return whether a text has a part that a pattern matches.

    Raises:
        TooLargeError: it takes too long.
    """
    try:
        return compile_pattern(source, flags).search(text, timeout=MATCH_TIMEOUT_S) is not None
    except TimeoutError:
        raise _too_slow(source, text) from None


def find_matches(source: str, text: str) -> Iterator[regex.Match[str]]:
    """Yield the matches of a pattern in a text, as `re.finditer` does.

    Raises:
        TooLargeError: it takes too long.
    """
    try:
        yield from compile_pattern(source).finditer(text, timeout=MATCH_TIMEOUT_S)
    except TimeoutError:
        raise _too_slow(source, text) from None


def has_verbose_flag(source: str) -> bool:
    """Return whether a pattern sets the flag x, with which spaces and comments have no meaning."""
    return any(found.lastgroup == "verbose" for found in _TOKEN.finditer(source))


def _to_regex_syntax(source: str) -> str:
    """Rewrite a pattern of Python's `re` so that `regex` reads it the same way.

    `regex` has additional syntax: braces may count errors (`a{e}`), sets may have named parts (`[[:alpha:]]`). In
    Python these are literal characters.
    """

    def same(token: re.Match[str]) -> str:
        match token.lastgroup:
            case "set":
                return token[0][0] + token[0][1:].replace("\\[", "[").replace("[", "\\[")
            case "brace":
                return "\\{"
            case "up_to":
                return f"{{0{token['up_to']}}}"
            case _:
                return token[0]

    return _TOKEN.sub(same, source)


def _too_slow(source: str, text: str) -> TooLargeError:
    shown = source if len(source) <= _MAX_SHOWN else f"{source[:_MAX_SHOWN]}…"
    return TooLargeError(
        f"pattern {shown!r}: expected a result within {MATCH_TIMEOUT_S:.0f} s, got none on a text of {len(text):,} "
        "characters; a simpler pattern, without repetitions within repetitions, is faster"
    )
