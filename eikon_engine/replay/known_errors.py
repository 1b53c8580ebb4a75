"""Recognize an error that was reported before, although ids, numbers and times in its text vary from visit to visit."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from eikon_engine.network.drawn_values import value_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

_MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_VARYING: Final = re.compile(
    r"(?<='nonce-)[^']+"  # of a Content Security Policy, which browsers quote in the errors of blocked scripts
    r"|\?[^\s'\"<>()]*=[^\s'\"<>()]*"  # query of a URL
    rf"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?=\d|(?:{_MONTH})\b)"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
    rf"|\b(?:{_MONTH})[a-z]* (?=\d)"
    rf"|(?<=\d )(?:{_MONTH})[a-z]*(?= \d)"
    r"|(?<=\d)\s[AP]M\b"
)
"""What is no word of an error: also the weekday and the month of a time, as in `console.error(new Date())`."""
_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
_NUMBERS: Final = re.compile(r"[0-9a-fA-F-]{8,}|\d+")
"""Hexadecimal ids and numbers in a word."""
_NAME_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME_PART_LENGTH: Final = 3
"""Average number of letters of the words in a name, such as `getElementsByName`; it is less in a random text."""


class KnownErrors:
    """The texts of errors that were reported; mutable."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        """Know some errors."""
        self._words: defaultdict[str, dict[tuple[str, ...], tuple[str, ...]]] = defaultdict(dict)
        """The words of each error, by its text without them, and by its words without numbers."""
        self.update(texts)

    def update(self, texts: Iterable[str]) -> None:
        """Know more errors."""
        for text in texts:
            frame, words = _split(text)
            self._words[frame].setdefault(_without_numbers(words), words)

    def __contains__(self, text: str) -> bool:
        """Whether an error is known that differs only in what varies."""
        frame, words = _split(text)
        known = self._words.get(frame, {})
        return _without_numbers(words) in known or any(_are_alike(words, each) for each in known.values())


def _split(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with `#` in place of each word, and its words."""
    text = _VARYING.sub("", text.strip())
    return _WORD.sub("#", text), tuple(_WORD.findall(text))


def _without_numbers(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(_NUMBERS.sub("#", word) for word in words)


def _are_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether words differ only in numbers and random ids."""
    return len(one) == len(other) and all(
        left == right or _NUMBERS.sub("#", left) == _NUMBERS.sub("#", right) or _are_ids(left, right)
        for left, right in zip(one, other, strict=True)
    )


def _are_ids(one: str, other: str) -> bool:
    return not (_is_name(one) or _is_name(other)) and value_pattern("id", one, other) is not None


def _is_name(word: str) -> bool:
    """Return whether a word is one of a language or a program."""
    parts = _NAME_PART.findall(word)
    return word.isalpha() and len(word) >= _NAME_PART_LENGTH * len(parts)
