"""How random a value looks, and from which length it is searched for."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Final

MIN_SECRET_LENGTH: Final = 8
"""Minimum length of a value that is searched for: shorter ones occur in documents by chance."""
MIN_PASSWORD_LENGTH: Final = 3
"""Minimum length of a typed password that is replaced: a shorter one, and its stand-in, are part of other texts."""
_MIN_LENGTH_WITHIN_TEXTS: Final = 6
"""Minimum length of a named secret that is replaced within words, too."""
MIN_ENTROPY_BITS: Final = 100
"""Minimum entropy of a value that cannot be guessed, so that a hash of it may be published."""

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_-]+")
_DATE: Final = re.compile(r"\d{4}-\d\d?-\d\d?")
_IDENTIFIER_PART = r"(?:(?:[A-Z]?[a-z]+|[A-Z]+)\d{0,4}|[a-z]{3,}\d[a-z]{2,}|\d{1,4})"
_IDENTIFIER: Final = re.compile(rf"{_IDENTIFIER_PART}(?:[_-]+{_IDENTIFIER_PART})*")
_MIN_RANDOM_DIGITS: Final = 15
_MIN_RANDOM_LETTERS: Final = 16
_MIN_CASE_CHANGES: Final = 4
_MIN_DISTINCT: Final = 5


def random_segments(value: str) -> tuple[str, ...]:
    """Return the segments of a value that look random, which are replaced wherever they occur.

    Replacing segments keeps a value consistent when a page splits or joins it.
    """
    return tuple(each for each in dict.fromkeys(_SEGMENT.findall(value)) if looks_random(each.lstrip("-")))


def is_short(value: str) -> bool:
    """Return whether a value is so short that it is part of words and numbers by chance."""
    return len(value) < _MIN_LENGTH_WITHIN_TEXTS


def looks_random(text: str) -> bool:
    """Return whether a text is too long and mixed to be a word or an identifier."""
    if len(text) < MIN_SECRET_LENGTH or len(set(text)) < _MIN_DISTINCT or _DATE.match(text):
        return False
    if text.isdigit():
        return len(text) >= _MIN_RANDOM_DIGITS
    if not any(char.isdigit() for char in text):
        letters = [char for char in text if char.isalpha()]
        changes = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
        return len(text) >= _MIN_RANDOM_LETTERS and changes >= _MIN_CASE_CHANGES
    return any(char.isalpha() for char in text) and not _IDENTIFIER.fullmatch(text)


def has_high_entropy(text: str) -> bool:
    """Return whether a random-looking text has too much entropy to be guessed."""
    kinds = (str.isdigit, str.islower, str.isupper)
    size = 16 if is_hex(text) else sum(n for n, kind in zip((10, 26, 26), kinds, strict=True) if any(map(kind, text)))
    return looks_random(text) and len(text) * math.log2(max(2, size)) >= MIN_ENTROPY_BITS


def is_hex(text: str) -> bool:
    """Return whether a text consists of hexadecimal digits of one case and dashes."""
    return bool(re.fullmatch(r"[0-9a-f-]+|[0-9A-F-]+", text))
