"""Secrets of the environment and of a test command, told by the names of their variables wherever they would be told.

Tests inherit the environment, and may print it; what they print is shown to a model, and kept. A variable is a secret
by its name, or holds an address with a password.
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
"""Characters of a password below which it is a word of any text, as others are below `SHORTEST`."""


class KnownSecrets:
    """Put names in the place of secret values."""

    def __init__(self, environ: Mapping[str, str], command: str = "") -> None:
        """Take the variables of an environment, and those that a command sets, which are secret and long enough."""
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
        """Return a text without the values."""
        return self.hide_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def hide_bytes(self, data: bytes) -> bytes:
        """Return bytes without the values."""
        return data if self._pattern is None else self._pattern.sub(lambda found: self._names[found[0]], data)

    def hide_begin(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the beginning of a stream without the values, and its end, which may begin one: it has to wait."""
        if self._pattern is None:
            return data, b""
        last = len(data) - self._longest  # where any value that begins is wholly there
        told, behind = [], 0
        for found in self._pattern.finditer(data):
            if found.start() > last:
                break
            told += [data[behind : found.start()], self._names[found[0]]]
            behind = found.end()
        end = max(behind, last + 1)
        return b"".join((*told, data[behind:end])), data[end:]


class HidingStream:
    """Hand on what comes, without the values, also where they come in parts."""

    def __init__(self, sink: Callable[[bytes], None], secrets: KnownSecrets) -> None:
        """Hand it to `sink`."""
        self._sink = sink
        self._secrets = secrets
        self._waiting = b""

    def write(self, data: bytes) -> None:
        """Take some more."""
        told, self._waiting = self._secrets.hide_begin(self._waiting + data)
        self._sink(told)

    def flush(self) -> None:
        """Hand on the end."""
        self._sink(self._secrets.hide_bytes(self._waiting))
        self._waiting = b""


def _secrets(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield what must not be told of a variable, and what is told in its place.

    There may be several addresses, as those of MongoDB. A password in one is looked for elsewhere only if it looks
    drawn by chance: `postgres` is a word of any text.
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
    """Write a value as Python, JSON, XML and addresses do."""
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
