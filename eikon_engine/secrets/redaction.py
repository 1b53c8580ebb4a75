"""Replace secret values by placeholders in everything that is written, and restore them where a replay needs them.

A placeholder names the secret and the encoding of its value. Recorded and replayed request bodies are therefore equal
whatever the value is, and a recorded response can be served with the current value. Secrets without a name are replaced
by stand-ins; `Redaction` is what a trace records about them.
"""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from eikon_engine.files.models import FileModel
from eikon_engine.secrets.detection import is_short
from eikon_engine.secrets.encodings import ENCODINGS
from eikon_engine.secrets.stand_ins import StandInMap, alone_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

PLACEHOLDER_PREFIX = b"{{eikon-secret:"
"""Prefix of every placeholder."""
_PLACEHOLDER = re.compile(r"\{\{eikon-secret:(\w+)(?:\|[^{}|]+)?\}\}")
_ENCODED_PLACEHOLDER = re.compile(rb"\{\{eikon-secret:(\w+)\|[^{}|]+\}\}")


class Redactor:
    """Replaces the values of secrets by placeholders, and found secrets by stand-ins, in all encodings."""

    def __init__(self, secrets: Mapping[str, str], stand_ins: StandInMap | None = None) -> None:
        """Prepare the replacements; longer values take precedence over values they contain.

        A short value is replaced where it stands alone: it is also a part of words and numbers by chance.

        `stand_ins` may learn more values while it is used.
        """
        self.stand_ins = stand_ins or StandInMap()
        marks: dict[str, str] = {}
        values: dict[bytes, bytes] = {}
        for name, value in sorted(secrets.items()):
            for encoding, encode in ENCODINGS if value else ():
                encoded, mark = encode(value), placeholder(name, encoding)
                marks.setdefault(encoded, mark)
                values[mark.encode()] = encoded.encode()
        self._placeholders = marks
        self._byte_placeholders = {value.encode(): mark.encode() for value, mark in marks.items()}
        self._values = values
        longest_first = sorted(marks, key=lambda value: (-len(value), value))
        alone = {encode(value) for value in secrets.values() if is_short(value) for _, encode in ENCODINGS}
        patterns = [alone_pattern(value) if value in alone else re.escape(value) for value in longest_first]
        self._secret_pattern = re.compile("|".join(patterns))
        self._secret_bytes_pattern = re.compile("|".join(patterns).encode())
        self._placeholder_pattern = re.compile(b"|".join(map(re.escape, values)))

    @property
    def is_noop(self) -> bool:
        """Whether redaction changes nothing."""
        return not self._placeholders and self.stand_ins.is_noop

    def redact_text(self, text: str) -> str:
        """Return a text without secret values.

        All values are replaced in one pass, so a value that looks like part of a placeholder does not corrupt one.
        """
        named = (
            self._secret_pattern.sub(lambda found: self._placeholders[found[0]], text) if self._placeholders else text
        )
        return self.stand_ins.replace_text(named)

    def redact_bytes(self, data: bytes) -> bytes:
        """Return bytes without secret values."""
        named = (
            self._secret_bytes_pattern.sub(lambda found: self._byte_placeholders[found[0]], data)
            if self._placeholders
            else data
        )
        return self.stand_ins.replace_bytes(named)

    @property
    def named_only(self) -> Redactor:
        """A redactor for named secrets only, which does not change as secrets are found."""
        return self.with_stand_ins(StandInMap())

    def with_stand_ins(self, stand_ins: StandInMap) -> Redactor:
        """Return a redactor for the same named secrets with other stand-ins."""
        other = copy(self)
        other.stand_ins = stand_ins
        return other

    def redact_key_bytes(self, data: bytes) -> bytes:
        """Return bytes without secret values, with placeholders that do not name an encoding.

        Requests that differ only in the value or encoding of a secret are then equal.
        """
        redacted = self.redact_bytes(data)
        return strip_encodings(redacted) if self._placeholders else redacted

    def redact_json(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with all its strings redacted."""
        return _map_strings(value, self.redact_text)

    def restore_json(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with the current secret values in all its strings."""
        return _map_strings(value, lambda text: self.restore_bytes(text.encode()).decode())

    def restore_bytes(self, data: bytes, *, is_own: bool = True) -> bytes:
        """Return recorded bytes with the current values in place of placeholders and stand-ins.

        `is_own` is as for `RecordedStandIns.restore_bytes`.
        """
        data = self.stand_ins.restore_bytes(data, is_own=is_own)
        if PLACEHOLDER_PREFIX not in data or not self._values:
            return data
        return self._placeholder_pattern.sub(lambda found: self._values[found[0]], data)


def _map_strings(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    match value:
        case str():
            return change(value)
        case list():
            return [_map_strings(each, change) for each in value]
        case dict():
            return {change(key): _map_strings(each, change) for key, each in value.items()}
        case _:
            return value


def secret_names_in(text: str) -> tuple[str, ...]:
    """Return the names of the secrets whose placeholders appear in a text, without duplicates."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))


def strip_encodings(data: bytes) -> bytes:
    """Remove the encoding from all placeholders, as in request keys."""
    return _ENCODED_PLACEHOLDER.sub(rb"{{eikon-secret:\1}}", data)


def placeholder(name: str, encoding: str = "") -> str:
    """Return the placeholder of a secret."""
    return "{{eikon-secret:" + name + (f"|{encoding}" if encoding else "") + "}}"


class FoundSecret(FileModel):
    """An unnamed secret that was found and replaced by a stand-in."""

    kind: Literal["address", "body", "cookie", "header", "storage", "token"]
    """Where it was first found."""
    name: str
    """Its name there: of a cookie, header, parameter or key, or the kind of token."""
    stand_in: str = Field(min_length=1)
    """The text that replaces it in every file, as it is or encoded."""


class TypedSecret(FileModel):
    """The text that a sealed replay types for a secret that is not provided."""

    name: str
    stand_in: str = Field(min_length=1, repr=False)
    """As long as the secret, with the same kinds of characters, and unique in the bundle."""


class Redaction(FileModel):
    """What was replaced in the files of a bundle."""

    found: tuple[FoundSecret, ...] = ()
    typed: tuple[TypedSecret, ...] = ()
