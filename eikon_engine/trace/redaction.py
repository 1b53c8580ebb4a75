"""Keep secret values out of every file, and put them back where a replay needs them.

A value is replaced by a placeholder that names the secret and how it was encoded, so that a recorded request body and
a replayed one are equal whatever the value is, and a recorded response can be served with the value of today.
"""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING

from eikon_engine.trace.encodings import ENCODINGS
from eikon_engine.trace.stand_ins import StandIns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

MARK_START = b"{{eikon-secret:"
"""What every placeholder begins with."""
_MARK = re.compile(r"\{\{eikon-secret:(\w+)(?:\|[^{}|]+)?\}\}")
_ENCODED_MARK = re.compile(rb"\{\{eikon-secret:(\w+)\|[^{}|]+\}\}")


class Redactor:
    """Replace the values of secrets by placeholders, and found secrets by their stand-ins, in all encodings."""

    def __init__(self, secrets: Mapping[str, str], stand_ins: StandIns | None = None) -> None:
        """Prepare the replacements; longer values come first, so that one inside another is found whole.

        `stand_ins` may learn more values while it is in use.
        """
        self.stand_ins = stand_ins or StandIns()
        marks: dict[str, str] = {}
        values: dict[bytes, bytes] = {}
        for name, value in sorted(secrets.items()):
            for encoding, encode in ENCODINGS if value else ():
                encoded, mark = encode(value), placeholder(name, encoding)
                marks.setdefault(encoded, mark)
                values[mark.encode()] = encoded.encode()
        self._marks = marks
        self._byte_marks = {value.encode(): mark.encode() for value, mark in marks.items()}
        self._values = values
        longest_first = sorted(marks, key=lambda value: (-len(value), value))
        self._secret = re.compile("|".join(map(re.escape, longest_first)))
        self._secret_bytes = re.compile(b"|".join(re.escape(value.encode()) for value in longest_first))
        self._mark = re.compile(b"|".join(map(re.escape, values)))

    @property
    def is_idle(self) -> bool:
        """Whether no text is ever changed."""
        return not self._marks and self.stand_ins.is_idle

    def text(self, text: str) -> str:
        """Return the text without secret values.

        All are replaced in one pass: a value that looks like a part of a placeholder never breaks one.
        """
        named = self._secret.sub(lambda found: self._marks[found[0]], text) if self._marks else text
        return self.stand_ins.text(named)

    def data(self, data: bytes) -> bytes:
        """Return the bytes without secret values."""
        named = self._secret_bytes.sub(lambda found: self._byte_marks[found[0]], data) if self._marks else data
        return self.stand_ins.data(named)

    @property
    def named(self) -> Redactor:
        """Return what replaces secrets with names alone, which does not change as others are found."""
        other = copy(self)
        other.stand_ins = StandIns()
        return other

    def key_data(self, data: bytes) -> bytes:
        """Return the bytes with placeholders that do not say how a value was encoded.

        Two requests that differ only in the value of a secret are the same request.
        """
        redacted = self.data(data)
        return without_encodings(redacted) if self._marks else redacted

    def redact_texts(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without secret values in any of its texts."""
        return _with_texts(value, self.text)

    def restore_texts(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with today's values in all its texts."""
        return _with_texts(value, lambda text: self.restore(text.encode()).decode())

    def restore(self, data: bytes) -> bytes:
        """Return recorded bytes with today's values in place of the placeholders, and of stand-ins for them."""
        data = self.stand_ins.restore(data)
        if MARK_START not in data or not self._values:
            return data
        return self._mark.sub(lambda found: self._values[found[0]], data)


def _with_texts(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    match value:
        case str():
            return change(value)
        case list():
            return [_with_texts(each, change) for each in value]
        case dict():
            return {change(key): _with_texts(each, change) for key, each in value.items()}
        case _:
            return value


def secrets_named_in(text: str) -> tuple[str, ...]:
    """Name the secrets whose placeholders stand in a text, each once."""
    return tuple(dict.fromkeys(_MARK.findall(text)))


def without_encodings(data: bytes) -> bytes:
    """Make the placeholders in a recorded body those of keys, which do not say how a value was encoded."""
    return _ENCODED_MARK.sub(rb"{{eikon-secret:\1}}", data)


def placeholder(name: str, encoding: str = "") -> str:
    """Build the text that stands for a secret."""
    return "{{eikon-secret:" + name + (f"|{encoding}" if encoding else "") + "}}"
