"""Values of the environment that are secrets by their names, told by these wherever they would be told.

Tests inherit the environment, and may print it; what they print is shown to a model, and kept.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.secret_variables import is_secret_variable
from eikon_engine.trace.secret_names import SHORTEST, is_password_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SHORTEST_PASSWORD: Final = 6
"""Characters of a password below which it is a word of any text, as others are below `SHORTEST`."""


class KnownSecrets:
    """Put names in the place of secret values."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Take the variables whose names say that they are secret, unless they are too short to be looked for."""
        self._names = {
            spelling.encode(errors="surrogateescape"): f"<{name}>".encode()
            for name, value in sorted(environ.items())
            if len(value) >= _shortest(name) and is_secret_variable(name)
            for spelling in _spellings(value)
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


def _shortest(name: str) -> int:
    return _SHORTEST_PASSWORD if is_password_name(name) else SHORTEST


def _spellings(value: str) -> tuple[str, ...]:
    """Write a value as Python, JSON and XML do."""
    return (
        value,
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape(value),
        html.escape(value, quote=False),
    )


NO_SECRETS: Final = KnownSecrets({})
