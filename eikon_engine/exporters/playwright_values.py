"""Write values of a mission as source: URLs relative to a base URL, secrets from environment variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.python_source import call_source, regex_literal, string_literal, value_source
from eikon_engine.files.origins import split_url
from eikon_engine.secrets.sources import ENVIRONMENT_PREFIX
from eikon_engine.trace.actions import Navigate, SecretRef
from eikon_engine.trace.read_values import split_representation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from eikon_engine.trace.actions import Text
    from eikon_engine.trace.execution import ExecutionTrace

_SECRET_PLACEHOLDER: Final = re.compile(r"\{\{eikon-secret:(\w+)(?:\|([^{}|]+))?\}\}")
_END_OF_HOST: Final = r"(?![\w.:-])"
"""What follows a base URL, so that it does not end within a host or a port."""
_ENCODINGS: Final = (
    ("json", "json.dumps({})[1:-1]"),
    ("html", "html.escape({})"),
    ("form", "quote_plus({})"),
    ("url", 'quote({}, safe="")'),
    ("base64-url", "base64.urlsafe_b64encode({}.encode()).decode()"),
    ("base64", "base64.b64encode({}.encode()).decode()"),
)
"""Source of the encoding of a secret, by the prefix of the encoding in its placeholder."""
_FLAGS: Final = {"i": "re.IGNORECASE", "m": "re.MULTILINE", "s": "re.DOTALL"}
_NUMBERS: Final = {"NaN": "math.nan", "Infinity": "math.inf", "-Infinity": "-math.inf"}
NAN: Final = _NUMBERS["NaN"]
"""Source of the number that equals no other; only a test of its own finds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The base URL of the mission."""

    base: str
    """Scheme, host and port of its first URL; empty if it has none."""

    def url_source(self, url: str) -> str:
        """Write a URL relative to the base URL."""
        return text_source(self.relative_url(url))

    def relative_url(self, url: str) -> str:
        """Return a URL relative to the base URL; URLs of other sites are unchanged."""
        rest = url.removeprefix(self.base) if self.base and url.startswith(self.base) else url
        inside = rest != url and (not rest or (rest[0] in "/?#" and not rest.startswith("//")))
        return (rest or "/") if inside else url

    def returned_source(self, value: JsonValue) -> str:
        """Write what a page returned as Playwright for Python returns it; `why_not_comparable` has the exceptions."""
        match split_representation(value):
            case "$numberDouble", str(number):
                return _NUMBERS[number]
            case "$url", url:
                return f"urlparse({self.value_source(url)})"
            case "$regularExpression", {"pattern": pattern, "options": str(flags)}:
                return f"re.compile({', '.join((self.value_source(pattern), *flags_source(flags)))})"
            case _, list(values):
                return f"[{', '.join(map(self.returned_source, values))}]"
            case _, dict(fields):
                written = (f"{self.value_source(name)}: {self.returned_source(each)}" for name, each in fields.items())
                return f"{{{', '.join(written)}}}"
            case _, plain:
                return self.value_source(plain)

    def value_source(self, value: object) -> str:
        """Write a JSON value: secrets and the base URL in its texts are those of the test."""
        match value:
            case str():
                parts = re.split(re.escape(self.base) + _END_OF_HOST, value) if self.base else [value]
                return " + base_url + ".join(map(text_source, parts))
            case list():
                return f"[{', '.join(map(self.value_source, value))}]"
            case dict():
                fields = (f"{self.value_source(name)}: {self.value_source(each)}" for name, each in value.items())
                return f"{{{', '.join(fields)}}}"
            case _:
                return value_source(value)

    def pattern_source(self, url: str) -> str:
        """Write a URL pattern in which `*` matches any characters."""
        if "*" not in url:
            return self.url_source(url)
        return self.regex_source(url, lambda text: ".*".join(map(re.escape, text.split("*"))))

    def regex_source(self, url: str, pattern: Callable[[str], str]) -> str:
        """Write a regular expression of a whole URL; `pattern` returns that of a part of it."""
        path = self.relative_url(url)
        expression = f"{pattern(path)}$"
        if path == url:
            return call_source("re.compile", regex_literal(f"^{expression}"))
        return f're.compile("^" + re.escape(base_url) + {regex_literal(expression)})'


def site_of(trace: ExecutionTrace) -> Site:
    """Return the site of the first URL of a mission."""
    urls = [trace.start.url or ""]
    for subgoal in trace.subgoal_traces:
        urls += [each.action.url for each in subgoal.actions_taken if isinstance(each.action, Navigate)]
    for url in urls:
        parts = split_url(url)
        if parts.scheme in {"http", "https"} and parts.netloc and "{{" not in parts.netloc:
            return Site(base=f"{parts.scheme}://{parts.netloc}")
    return Site(base="")


def secret_source(name: str) -> str:
    """Write the environment lookup of a secret."""
    return f"os.environ[{string_literal(ENVIRONMENT_PREFIX + name)}]"


def text_source(text: Text) -> str:
    """Write a text; secrets and their placeholders become environment lookups."""
    if isinstance(text, SecretRef):
        return secret_source(text.secret)
    parts: list[str] = []
    place = 0
    for found in _SECRET_PLACEHOLDER.finditer(text):
        parts += [string_literal(text[place : found.start()])] if found.start() > place else []
        parts.append(_encode_source(secret_source(found[1]), found[2] or ""))
        place = found.end()
    parts += [string_literal(text[place:])] if place < len(text) or not parts else []
    return " + ".join(parts)


def flags_source(flags: str) -> tuple[str, ...]:
    """Write the flags `i`, `m` and `s` of a regular expression as an argument; none if none is set."""
    names = " | ".join(_FLAGS[flag] for flag in sorted(set(flags)))
    return (names,) if names else ()


def why_not_comparable(value: JsonValue, *, is_whole: bool = True) -> str:
    """Return why Python cannot compare what a page returned; empty if it can. `is_whole` is false for its members."""
    kind, plain = split_representation(value)
    match kind, plain:
        case "$numberDouble", "NaN" if not is_whole:
            return "it contains NaN, which equals nothing"
        case "$date", _:
            return "it contains a date"
        case "$error", _:
            return "it contains an error, which equals no other"
        case "$regularExpression", {"pattern": str(pattern)} if not _is_pattern(pattern):
            return "it contains a regular expression that Python does not have"
        case _:
            pass
    members = _members(plain) if kind in {"", "$object"} else ()
    return next(filter(None, (why_not_comparable(each, is_whole=False) for each in members)), "")


def _members(value: JsonValue) -> tuple[JsonValue, ...]:
    match value:
        case list():
            return tuple(value)
        case dict():
            return tuple(value.values())
        case _:
            return ()


def _is_pattern(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def has_representations(value: JsonValue) -> bool:
    """Return whether a value that a page returned contains one that JSON does not have."""
    kind, plain = split_representation(value)
    return bool(kind) or any(map(has_representations, _members(plain)))


def placeholders_in(text: str) -> tuple[str, ...]:
    """Return the distinct secret placeholders in a text."""
    return tuple(dict.fromkeys(found[0] for found in _SECRET_PLACEHOLDER.finditer(text)))


def _encode_source(value: str, encoding: str) -> str:
    for beginning, written in _ENCODINGS:
        if encoding.startswith(beginning):
            return written.format(value)
    return value
