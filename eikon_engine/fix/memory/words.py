"""Words of code: identifiers and their parts."""

from __future__ import annotations

import keyword
import re
from functools import lru_cache
from typing import Final

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
    whole, parts = name.lower(), [part.lower() for part in _PART.findall(name)]
    return tuple(each for each in (whole, *(parts if parts != [whole] else ())) if _is_informative(each))


def _is_informative(word: str) -> bool:
    return len(word) >= _MIN_LENGTH and word not in _COMMON
