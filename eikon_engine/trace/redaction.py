"""Replace secret values by placeholders in everything that is written, and restore them where a replay needs them.

A placeholder names the secret and the encoding of its value. Recorded and replayed request bodies are therefore equal
whatever the value is, and a recorded response can be served with the current value.
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
"""Prefix of every placeholder."""
_MARK = re.compile(r"\{\{eikon-secret:(\w+)(?:\|[^{}|]+)?\}\}")
_ENCODED_MARK = re.compile(rb"\{\{eikon-secret:(\w+)\|[^{}|]+\}\}")


class Redactor:
    """Replaces the values of secrets by placeholders, and found secrets by stand-ins, in all encodings."""

    def __init__(self, secrets: Mapping[str, str], stand_ins: StandIns | None = None) -> None:
        """Prepare the replacements; longer values take precedence over values they contain.

        `stand_ins` may learn more values while it is used.
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
        """Whether redaction changes nothing."""
        return not self._marks and self.stand_ins.is_idle

    def text(self, text: str) -> str:
        """Return a text without secret values.

        All values are replaced in one pass, so a value that looks like part of a placeholder does not corrupt one.
        """
        named = self._secret.sub(lambda found: self._marks[found[0]], text) if self._marks else text
        return self.stand_ins.text(named)

    def data(self, data: bytes) -> bytes:
        """Return bytes without secret values."""
        named = self._secret_bytes.sub(lambda found: self._byte_marks[found[0]], data) if self._marks else data
        return self.stand_ins.data(named)

    @property
    def named(self) -> Redactor:
        """A redactor for named secrets only, which does not change as secrets are found."""
        other = copy(self)
        other.stand_ins = StandIns()
        return other

    def key_data(self, data: bytes) -> bytes:
        """Return bytes without secret values, with placeholders that do not name an encoding.

        Requests that differ only in the value or encoding of a secret are then equal.
        """
        redacted = self.data(data)
        return without_encodings(redacted) if self._marks else redacted

    def redact_texts(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with all its strings redacted."""
        return _with_texts(value, self.text)

    def restore_texts(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with the current secret values in all its strings."""
        return _with_texts(value, lambda text: self.restore(text.encode()).decode())

    def restore(self, data: bytes) -> bytes:
        """Return recorded bytes with the current values in place of placeholders and stand-ins."""
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
    """Return the names of the secrets whose placeholders appear in a text, without duplicates."""
    return tuple(dict.fromkeys(_MARK.findall(text)))


def without_encodings(data: bytes) -> bytes:
    """Remove the encoding from all placeholders, as in request keys."""
    return _ENCODED_MARK.sub(rb"{{eikon-secret:\1}}", data)


def placeholder(name: str, encoding: str = "") -> str:
    """Return the placeholder of a secret."""
    return "{{eikon-secret:" + name + (f"|{encoding}" if encoding else "") + "}}"
