"""Keep secret values out of every file, and put them back where a replay needs them.

A value is replaced by a placeholder that names the secret and how it was encoded, so that a recorded request body and
a replayed one are equal whatever the value is, and a recorded response can be served with the value of today.
"""

from __future__ import annotations

import base64
import html
import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

_ENCODINGS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("", lambda value: value),
    ("json", lambda value: json.dumps(value)[1:-1]),
    ("json-utf8", lambda value: json.dumps(value, ensure_ascii=False)[1:-1]),
    ("json-html", lambda value: _escape(json.dumps(value)[1:-1], "<>&'", lambda char: f"\\u{ord(char):04x}")),
    ("json-slash", lambda value: json.dumps(value)[1:-1].replace("/", "\\/")),
    ("html", lambda value: html.escape(value, quote=True)),
    ("html-text", lambda value: html.escape(value, quote=False)),
    ("html-39", lambda value: html.escape(value, quote=True).replace("&#x27;", "&#39;")),
    ("html-34", lambda value: html.escape(value, quote=False).replace('"', "&#34;").replace("'", "&#39;")),
    ("html-attribute", lambda value: value.replace("&", "&amp;").replace('"', "&quot;")),
    ("form", quote_plus),
    ("form-browser", lambda value: quote_plus(value, safe="*").replace("~", "%7E")),
    ("url", lambda value: quote(value, safe="")),
    ("url-component", lambda value: quote(value, safe="!'()*")),
    ("url-path", quote),
    ("url-query", lambda value: _escape(value, " \"#<>'", quote)),
    ("base64", lambda value: base64.b64encode(value.encode()).decode()),
    ("base64-url", lambda value: base64.urlsafe_b64encode(value.encode()).decode()),
)
"""As written by: json.dumps, JSON.stringify, Django's json_script, PHP; Python's html, browsers' innerHTML in text,
Jinja, Go, browsers' innerHTML in attributes; Python's quote_plus, forms of browsers (WHATWG URL, 5.2); RFC 3986,
encodeURIComponent, Python's quote, browsers' address of a query (WHATWG URL, 1.3)."""

_MARK = re.compile(r"\{\{eikon-secret:(\w+)(?:\|[^{}|]+)?\}\}")
_ENCODED_MARK = re.compile(rb"\{\{eikon-secret:(\w+)\|[^{}|]+\}\}")


class Redactor:
    """Replace the values of secrets by placeholders, in all the encodings they travel in."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Prepare the replacements; longer values come first, so that one inside another is found whole."""
        marks: dict[str, str] = {}
        values: dict[bytes, bytes] = {}
        for name, value in sorted(secrets.items()):
            for encoding, encode in _ENCODINGS if value else ():
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
        return not self._marks

    def text(self, text: str) -> str:
        """Return the text without secret values.

        All are replaced in one pass: a value that looks like a part of a placeholder never breaks one.
        """
        return self._secret.sub(lambda found: self._marks[found[0]], text) if self._marks else text

    def data(self, data: bytes) -> bytes:
        """Return the bytes without secret values."""
        return self._secret_bytes.sub(lambda found: self._byte_marks[found[0]], data) if self._marks else data

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
        """Return recorded bytes with today's values in place of the placeholders."""
        if b"{{eikon-secret:" not in data or not self._values:
            return data
        return self._mark.sub(lambda found: self._values[found[0]], data)


def _escape(value: str, characters: str, escape: Callable[[str], str]) -> str:
    """Escape some ASCII characters, and whatever is not ASCII if the escape is the one of URLs."""
    return "".join(
        escape(char) if char in characters or (escape is quote and not char.isascii()) else char for char in value
    )


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
