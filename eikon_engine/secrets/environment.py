"""Secrets of environment variables and shell commands, and keys of known formats: find and replace them in text.

Tests inherit the environment and may print it; their output is sent to a model and stored. A variable is secret by its
name, or if its value is a URL with a password. Form fields follow other rules: `pwd` is a password there, and the
working directory here.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus, unquote

from eikon_engine.secrets.detection import MIN_SECRET_LENGTH, looks_random
from eikon_engine.secrets.names import is_password_name, is_secret_name
from eikon_engine.secrets.token_formats import find_private_keys, find_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PUBLIC_NAMES: Final = frozenset(
    {"PWD", "OLDPWD", "DESKTOP_SESSION", "GDMSESSION", "SESSION_MANAGER", "SESSIONNAME", "TOKENIZERS_PARALLELISM"}
)
"""Matching names that shells, desktops and libraries use for public values.

Source: https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html, https://www.x.org/releases/current/doc/libSM/xsmp.html,
https://huggingface.co/docs/tokenizers
"""
_PUBLIC_PREFIX: Final = re.compile(r"(?:XDG|DBUS)_SESSION_")
"""Source: https://www.freedesktop.org/software/systemd/man/latest/pam_systemd.html"""
_LOCATION_SUFFIX: Final = re.compile(r"_(?:SOCK|SOCKET|FILE|DIR|PATH|HOME)$")
"""Suffixes of variables that hold the location of a secret: SSH_AUTH_SOCK, PASSWORD_STORE_DIR."""


_ASSIGNMENT: Final = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.+)", re.DOTALL)
_EXPANSION: Final = re.compile(r"\$\w+|\$\{\w+\}|\$\(.*\)|`.*`", re.DOTALL)
"""A value that the shell computes, so its text is not the secret."""


def is_secret_variable(name: str) -> bool:
    """Return whether the value of an environment variable is a secret."""
    upper = name.upper()
    if upper in _PUBLIC_NAMES or _PUBLIC_PREFIX.match(upper) or _LOCATION_SUFFIX.search(upper):
        return False
    return is_secret_name(name)


def assignments_in(command: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each variable that a command sets: as prefix, by `env`, or by `export`."""
    for word in _shell_words(command):
        found = _ASSIGNMENT.fullmatch(word)
        if found is not None and not _EXPANSION.fullmatch(found["value"]):
            yield found["name"], found["value"]


def _shell_words(command: str) -> list[str]:
    """Split a command as a shell does; at whitespace if a quote is unbalanced."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return command.split()


_URL_PASSWORD: Final = re.compile(r"\w://[^\s/?#@:]*:(?P<password>[^\s/?#]+)@")
"""Source: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1"""
_MIN_PASSWORD_LENGTH: Final = 6
"""Minimum length of a password to search for; shorter ones match ordinary words. `MIN_SECRET_LENGTH` is for other
secrets."""


class EnvironmentSecrets:
    """Replace secret values by names."""

    def __init__(self, environ: Mapping[str, str], command: str = "") -> None:
        """Collect the secret values of an environment, and of variables that a command sets."""
        self._names = {
            spelling.encode(errors="surrogateescape"): redacted.encode()
            for name, value in (*sorted(environ.items()), *assignments_in(command))
            for secret, redacted in _replacements(name, value)
            for spelling in _encodings(secret)
        }
        values = sorted(self._names, key=lambda each: (-len(each), each))
        self._max_length = len(values[0]) if values else 0
        self._pattern = re.compile(b"|".join(map(re.escape, values))) if values else None

    def redact(self, text: str) -> str:
        """Return a text without secret values."""
        return self.redact_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def redact_bytes(self, data: bytes) -> bytes:
        """Return bytes without secret values."""
        return data if self._pattern is None else self._pattern.sub(lambda found: self._names[found[0]], data)

    def redact_complete(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the head of a stream without secret values, and the tail that may begin one and must be buffered."""
        if self._pattern is None:
            return data, b""
        last = len(data) - self._max_length  # last offset at which a value is complete
        redacted, behind = [], 0
        for found in self._pattern.finditer(data):
            if found.start() > last:
                break
            redacted += [data[behind : found.start()], self._names[found[0]]]
            behind = found.end()
        end = max(behind, last + 1)
        return b"".join((*redacted, data[behind:end])), data[end:]


class RedactingStream:
    """Forward a byte stream without secret values, including values split across chunks."""

    def __init__(self, sink: Callable[[bytes], None], secrets: EnvironmentSecrets) -> None:
        """Forward to `sink`."""
        self._sink = sink
        self._secrets = secrets
        self._pending = b""

    def write(self, data: bytes) -> None:
        """Process a chunk."""
        redacted, self._pending = self._secrets.redact_complete(self._pending + data)
        self._sink(redacted)

    def flush(self) -> None:
        """Forward the buffered tail."""
        self._sink(self._secrets.redact_bytes(self._pending))
        self._pending = b""


def _replacements(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield each text to hide for a variable, and its replacement.

    A value may hold several URLs (MongoDB). A URL password is searched elsewhere only if it looks random: `postgres` is
    an ordinary word.
    """
    if is_secret_variable(name) and len(value) >= _min_length(name):
        yield value, f"<{name}>"
    for found in _URL_PASSWORD.finditer(value):
        whole = found["password"]
        for password in {whole, unquote(whole), whole.partition("@")[0]}:
            yield f":{password}@", f":<{name}>@"
            if looks_random(password):
                yield password, f"<{name}>"


def _min_length(name: str) -> int:
    return _MIN_PASSWORD_LENGTH if is_password_name(name) else MIN_SECRET_LENGTH


def _encodings(value: str) -> tuple[str, ...]:
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


NO_SECRETS: Final = EnvironmentSecrets({})


REPLACEMENT: Final = "<secret>"


def hide_tokens(text: str) -> str:
    """Replace each private key and token of a known format by `<secret>`."""
    spans = sorted(
        {
            *((each.secret_start, each.end) for each in find_tokens(text)),
            *(key.span(1) for key in find_private_keys(text)),
        }
    )
    parts, behind = [], 0
    for start, end in spans:
        if start >= behind:
            parts += [text[behind:start], REPLACEMENT]
        behind = max(behind, end)
    return "".join((*parts, text[behind:]))
