"""Words of code: identifiers and their parts."""

from __future__ import annotations

import keyword
import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHORTEST: Final = 2
_TOLD: Final = re.compile(r"['\"`]([A-Za-z_]\w+)['\"`]|\b([A-Za-z_]\w+)\(")
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
def words(text: str) -> tuple[str, ...]:
    """Return identifiers and their parts in lower case: `parseURL_list` gives itself, parse, url and list."""
    return tuple(word for name in _WORD.findall(text) for word in _of_name(name))


def names(code: str) -> frozenset[str]:
    """Return the identifiers in code as written."""
    return frozenset(name for name in _WORD.findall(code) if _tells(name.lower()))


def names_told(text: str) -> frozenset[str]:
    """Return the identifiers that a message quotes or calls."""
    return frozenset(quoted or called for quoted, called in _TOLD.findall(text))


@lru_cache(maxsize=1 << 16)
def _of_name(name: str) -> tuple[str, ...]:
    whole, parts = name.lower(), [part.lower() for part in _PART.findall(name)]
    return tuple(each for each in (whole, *(parts if parts != [whole] else ())) if _tells(each))


def _tells(word: str) -> bool:
    return len(word) >= _SHORTEST and word not in _COMMON
