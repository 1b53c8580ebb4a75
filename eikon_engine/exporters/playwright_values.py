"""Write values of a mission as source: URLs relative to a base URL, secrets from environment variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from eikon_engine.exporters.python_source import call_source, regex_literal, string_literal, value_source
from eikon_engine.secrets.sources import ENVIRONMENT_PREFIX
from eikon_engine.trace.actions import Navigate, SecretRef

if TYPE_CHECKING:
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

    def value_source(self, value: object) -> str:
        """Write what a page returned: secrets and the base URL in its texts are those of the test."""
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
        path = self.relative_url(url)
        expression = ".*".join(map(re.escape, path.split("*"))) + "$"
        if path == url:
            return call_source("re.compile", regex_literal(f"^{expression}"))
        return f're.compile("^" + re.escape(base_url) + {regex_literal(expression)})'


def site_of(trace: ExecutionTrace) -> Site:
    """Return the site of the first URL of a mission."""
    urls = [trace.start.url or ""]
    for subgoal in trace.subgoal_traces:
        urls += [each.action.url for each in subgoal.actions_taken if isinstance(each.action, Navigate)]
    for url in urls:
        try:
            parts = urlsplit(url)
        except ValueError:
            continue
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


def placeholders_in(text: str) -> tuple[str, ...]:
    """Return the distinct secret placeholders in a text."""
    return tuple(dict.fromkeys(found[0] for found in _SECRET_PLACEHOLDER.finditer(text)))


def _encode_source(value: str, encoding: str) -> str:
    for beginning, written in _ENCODINGS:
        if encoding.startswith(beginning):
            return written.format(value)
    return value
