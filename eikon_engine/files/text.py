"""Format text for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

ELLIPSIS: Final = "…"
"""Marks where text was cut."""
_CONTEXT_SHARE: Final = 4
"""One part in this many of a cut text precedes the first difference."""
_MAX_DIGITS: Final = 18
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def is_utf8(text: str) -> bool:
    """Return whether a text can be written to a file: whether it has no lone surrogate."""
    return _SURROGATE.search(text) is None


def require_utf8(text: str, where: str, *, is_secret: bool = False) -> None:
    """Check that a text of a command line or of the environment can be written to a file.

    Bytes that are not UTF-8 appear in it as lone surrogates. `where` names the option in messages, which do not show a
    secret.

    Raises:
        UsageError: the text is not valid UTF-8.
    """
    if not is_utf8(text):
        found = "other bytes" if is_secret else repr(text)
        message = f"{where}: expected text in UTF-8, got {found}"
        raise UsageError(message)


def read_digits(digits: str) -> int:
    """Return the whole number that decimal digits write; one of more than 18 digits is the largest of 18.

    A text of others may have thousands of digits, which Python does not convert; no count, line or status has them.
    """
    return int(digits) if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS - 1


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun: `1 place`, `3 places`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shorten(text: str, length: int) -> str:
    """Return a text, cut after `length` characters."""
    return text if len(text) <= length else f"{text[:length]}{ELLIPSIS}"


def shorten_pair(first: str, second: str, length: int) -> tuple[str, str]:
    """Cut two texts to at most `length` characters each around their first difference, so that both show it."""
    start, stop = differing_part(first, second, length)
    return excerpt(first, start, stop), excerpt(second, start, stop)


def shorten_pairs(first: Sequence[str], second: Sequence[str], length: int) -> tuple[list[str], list[str]]:
    """Cut the texts of two lists as `shorten_pair` does, those in the same place with each other."""
    paired = min(len(first), len(second))
    pairs = [shorten_pair(one, other, length) for one, other in zip(first, second, strict=False)]
    sides = ([pair[side] for pair in pairs] for side in (0, 1))
    before, after = (
        [*shown, *(shorten(each, length) for each in texts[paired:])]
        for shown, texts in zip(sides, (first, second), strict=True)
    )
    return before, after


def differing_part(first: str, second: str, length: int) -> tuple[int, int]:
    """Return the range of at most `length` characters in which two texts differ first, with some context.

    It is the beginning if they differ there, or if both are short enough to be shown whole.
    """
    if max(len(first), len(second)) <= length:
        return 0, length
    shorter = min(len(first), len(second))
    place = next((each for each in range(shorter) if first[each] != second[each]), shorter)
    start = max(0, place - length // _CONTEXT_SHARE) if place >= length // 2 else 0
    return start, start + length


def excerpt(text: str, start: int, stop: int) -> str:
    """Return a part of a text, with an ellipsis where text was cut."""
    return f"{ELLIPSIS if start else ''}{text[start:stop]}{ELLIPSIS if stop < len(text) else ''}"
