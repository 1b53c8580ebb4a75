"""Replace secrets of environment variables and of the test command by the names of their variables.

Tests inherit the environment and may print it; their output is sent to a model and stored. A variable is secret by its
name, or if its value is a URL with a password.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus, unquote

from eikon_engine.fix.secret_variables import is_secret_variable, settings_in
from eikon_engine.trace.secret_names import SHORTEST, is_password_name, looks_random

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PASSWORD_IN_ADDRESS: Final = re.compile(r"\w://[^\s/?#@:]*:(?P<password>[^\s/?#]+)@")
"""Source: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1"""
_SHORTEST_PASSWORD: Final = 6
"""Minimum length of a password to search for; shorter ones match ordinary words. `SHORTEST` is the minimum for other
secrets."""


class KnownSecrets:
    """Replace secret values by names."""

    def __init__(self, environ: Mapping[str, str], command: str = "") -> None:
        """Collect the secret values of an environment, and of variables that a command sets."""
        self._names = {
            spelling.encode(errors="surrogateescape"): told.encode()
            for name, value in (*sorted(environ.items()), *settings_in(command))
            for secret, told in _secrets(name, value)
            for spelling in _spellings(secret)
        }
        values = sorted(self._names, key=lambda each: (-len(each), each))
        self._longest = len(values[0]) if values else 0
        self._pattern = re.compile(b"|".join(map(re.escape, values))) if values else None

    def hide(self, text: str) -> str:
        """Return a text without secret values."""
        return self.hide_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def hide_bytes(self, data: bytes) -> bytes:
        """Return bytes without secret values."""
        return data if self._pattern is None else self._pattern.sub(lambda found: self._names[found[0]], data)

    def hide_begin(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the head of a stream without secret values, and the tail that may begin one and must be buffered."""
        if self._pattern is None:
            return data, b""
        last = len(data) - self._longest  # last offset at which a value is complete
        told, behind = [], 0
        for found in self._pattern.finditer(data):
            if found.start() > last:
                break
            told += [data[behind : found.start()], self._names[found[0]]]
            behind = found.end()
        end = max(behind, last + 1)
        return b"".join((*told, data[behind:end])), data[end:]


class HidingStream:
    """Forward a byte stream without secret values, including values split across chunks."""

    def __init__(self, sink: Callable[[bytes], None], secrets: KnownSecrets) -> None:
        """Forward to `sink`."""
        self._sink = sink
        self._secrets = secrets
        self._waiting = b""

    def write(self, data: bytes) -> None:
        """Process a chunk."""
        told, self._waiting = self._secrets.hide_begin(self._waiting + data)
        self._sink(told)

    def flush(self) -> None:
        """Forward the buffered tail."""
        self._sink(self._secrets.hide_bytes(self._waiting))
        self._waiting = b""


def _secrets(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield each text to hide for a variable, and its replacement.

    A value may hold several URLs (MongoDB). A URL password is searched elsewhere only if it looks random: `postgres` is
    an ordinary word.
    """
    if is_secret_variable(name) and len(value) >= _shortest(name):
        yield value, f"<{name}>"
    for found in _PASSWORD_IN_ADDRESS.finditer(value):
        whole = found["password"]
        for password in {whole, unquote(whole), whole.partition("@")[0]}:
            yield f":{password}@", f":<{name}>@"
            if looks_random(password):
                yield password, f"<{name}>"


def _shortest(name: str) -> int:
    return _SHORTEST_PASSWORD if is_password_name(name) else SHORTEST


def _spellings(value: str) -> tuple[str, ...]:
    """Return a value as Python, JSON, XML and URLs write it."""
    return (
        value,
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape(value),
        html.escape(value, quote=False),
        quote(value.encode(errors="surrogateescape"), safe=""),
        quote_plus(value.encode(errors="surrogateescape")),
    )


NO_SECRETS: Final = KnownSecrets({})
