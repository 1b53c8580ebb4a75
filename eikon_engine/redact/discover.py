"""Find undeclared secrets by where they occur, what they are called, or their shape."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import unquote_plus, urlsplit

from eikon_engine.trace.secret_names import SHORTEST
from eikon_engine.trace.token_shapes import PRIVATE_KEY, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

    from eikon_engine.redact.rules import RedactionRules

Kind: TypeAlias = Literal["address", "body", "cookie", "header", "storage", "token"]

LARGEST_JSON: Final = 2 << 20
"""Bytes above which a body is searched as plain text only."""
LONGEST_TOKEN: Final = 512
"""Characters above which an unnamed stored item counts as data rather than a token."""
AUTHORIZATION: Final = frozenset({"authorization", "proxy-authorization"})
_ADDRESSES: Final = frozenset({"content-location", "location", "referer", "refresh"})
_PLAIN_HEADERS: Final = frozenset(
    {
        *("accept", "accept-language", "cache-control", "content-security-policy", "content-type", "etag", "if-match"),
        *("if-none-match", "sec-websocket-accept", "sec-websocket-extensions", "sec-websocket-key", "user-agent"),
        "content-security-policy-report-only",
    }
)
"""Headers with random-looking values that are not credentials."""
_PARAMETER: Final = re.compile(r"[?&#;]([\w.$-]{2,64})=([^&#;\s\"'<>\\]+)")
_VALUE: Final = re.compile(r"[:=]\s{0,4}\\?[\"']([^\"'\\\s<>]{8,8192})")
_REVERSED_NAME: Final = re.compile(r"[\w.$-]{1,64}")
_BEFORE_VALUE: Final = 72
"""Characters before a value that are searched for its name."""
_ELEMENT: Final = re.compile(r">([^<>\s]{8,8192})</([\w.:-]{1,64})>")
_TAG: Final = re.compile(r"<(?:input|meta)\b[^<>]{0,8192}>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_PART: Final = re.compile(r"name=\"([^\"]{1,128})\"(?:\r\n[^\r\n]{0,256}){0,4}?\r\n\r\n([^\r\n]{8,8192})\r\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A value that is a secret."""

    kind: Kind
    name: str
    """Name of the value; the shape for a token without one."""
    value: str = field(repr=False)
    is_token: bool = False
    """Whether it has a known token shape, so that it needs no further check."""
    is_listed: bool = False
    """Whether a user rule names it, whatever it looks like."""
    is_hidden: bool = False
    """Whether pages cannot read it there, so that any value may be replaced in place."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """Search network traffic and browser storage for secrets."""

    rules: RedactionRules
    is_strict: bool = False
    """Whether to yield values with any name, to be judged by their randomness."""

    def in_headers(self, headers: Iterable[tuple[str, str]]) -> Iterator[Finding]:
        """Search request or response headers; Set-Cookie lines may be separate headers or joined by newlines."""
        for name, value in headers:
            lower = name.lower()
            if lower == "set-cookie":
                for line in value.split("\n"):
                    yield from self._in_set_cookie(line)
            elif lower == "cookie":
                for pair in value.split(";"):
                    yield from self.in_cookie(*_pair(pair), is_hidden=False)
            elif lower in AUTHORIZATION and not self.rules.is_kept(name):
                credentials = value.partition(" ")[2] or value
                yield Finding(kind="header", name=lower, value=credentials, is_hidden=True)
            elif lower in _ADDRESSES:
                yield from self.in_address(value)
            elif self.rules.is_secret(lower) or (self.is_strict and lower not in _PLAIN_HEADERS):
                yield Finding(kind="header", name=lower, value=value)
            yield from self._shapes("header", value)

    def in_cookie(self, name: str, value: str, *, is_hidden: bool) -> Iterator[Finding]:
        """Search a cookie; an httpOnly cookie is a secret whatever its name."""
        if is_hidden and not self.rules.is_kept(name):
            yield Finding(kind="cookie", name=name, value=value, is_hidden=True)
        yield from self._in_kept("cookie", name, value)

    def in_storage(self, name: str, value: str) -> Iterator[Finding]:
        """Search an item of local or session storage."""
        yield from self._in_kept("storage", name, value)

    def in_address(self, url: str) -> Iterator[Finding]:
        """Search query, fragment, path parameters and user info of a URL."""
        yield from self._in_parameters("address", url)
        yield from self._shapes("address", url)
        password = _password(url)
        if password:
            yield Finding(kind="address", name="password", value=password)

    def in_body(self, data: bytes, content_type: str) -> Iterator[Finding]:
        """Search a body; binary bodies have no findings."""
        if b"\0" in data[:1024] or content_type.startswith(("image/", "font/", "video/", "audio/")):
            return
        text = data.decode("utf-8", "replace")
        if "x-www-form-urlencoded" in content_type:
            yield from self._in_parameters("body", f"?{text}")
        elif content_type.startswith("multipart/"):
            for name, value in _PART.findall(text):
                if self.rules.is_secret(name, in_address=True):
                    yield Finding(kind="body", name=name, value=value)
        yield from self.in_text(text)

    def in_text(self, text: str) -> Iterator[Finding]:
        """Search any text: documents, scripts, JSON, messages."""
        if text[:1] in {"{", "["} and len(text) <= LARGEST_JSON:
            yield from self._in_json("body", text)
        yield from self._in_parameters("body", text)
        yield from self._named(text)
        yield from self._in_tags(text)
        yield from self._shapes("body", text)

    def in_values(self, kind: Kind, value: JsonValue, name: str = "") -> Iterator[Finding]:
        """Search a JSON value by its keys."""
        waiting = [(name, value)]
        while waiting:
            key, each = waiting.pop()
            if isinstance(each, dict):
                waiting.extend(each.items())
            elif isinstance(each, list):
                waiting.extend((key, one) for one in each)
            elif isinstance(each, str) and len(each) >= SHORTEST:
                if (key and self.rules.is_secret(key)) or (self.is_strict and len(each) <= LONGEST_TOKEN):
                    yield Finding(kind=kind, name=key, value=each)
                elif each[0] in "{[" and len(each) <= LARGEST_JSON:
                    yield from self._in_json(kind, each)

    def _in_set_cookie(self, line: str) -> Iterator[Finding]:
        cookie, *attributes = line.split(";")
        is_hidden = any(each.strip().lower() == "httponly" for each in attributes)
        yield from self.in_cookie(*_pair(cookie), is_hidden=is_hidden)

    def _in_kept(self, kind: Kind, name: str, value: str) -> Iterator[Finding]:
        plain = unquote_plus(value) if kind == "cookie" else value
        if plain[:1] in {"{", "["}:
            yield from self._in_json(kind, plain)
        elif self.rules.is_secret(name) or (len(value) <= LONGEST_TOKEN and not self.rules.is_kept(name)):
            yield Finding(kind=kind, name=name, value=value)
        yield from self._shapes(kind, value)

    def _in_json(self, kind: Kind, text: str) -> Iterator[Finding]:
        try:
            value: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            return
        yield from self.in_values(kind, value)

    def _in_parameters(self, kind: Kind, text: str) -> Iterator[Finding]:
        if "=" not in text:
            return
        for name, value in _PARAMETER.findall(text):
            if self.is_strict or self.rules.is_secret(name, in_address=True):
                yield Finding(kind=kind, name=name, value=unquote_plus(value))

    def _named(self, text: str) -> Iterator[Finding]:
        """Search for `name: "value"` and `<name>value</name>`."""
        for found in _VALUE.finditer(text):
            before = text[max(0, found.start() - _BEFORE_VALUE) : found.start()].rstrip(" \t\r\n\"'\\")
            name = _REVERSED_NAME.match(before[::-1])
            if name is not None and self.rules.is_secret(name[0][::-1]):
                yield Finding(kind="body", name=name[0][::-1], value=found[1])
        for value, name_after in _ELEMENT.findall(text):
            if self.rules.is_secret(name_after):
                yield Finding(kind="body", name=name_after, value=value)

    def _in_tags(self, text: str) -> Iterator[Finding]:
        if "<input" not in text and "<meta" not in text and "<INPUT" not in text:
            return
        for tag in _TAG.findall(text):
            attributes = {name.lower(): one or two or three for name, one, two, three in _ATTRIBUTE.findall(tag)}
            name, value = attributes.get("name", ""), attributes.get("value") or attributes.get("content")
            if value and self.rules.is_secret(name, in_address=True):
                yield Finding(kind="body", name=name, value=value)

    def _shapes(self, kind: Kind, text: str) -> Iterator[Finding]:
        for token in tokens(text):
            yield Finding(kind="token", name=f"{token.kind} in a {kind}", value=token.secret, is_token=True)
        if "PRIVATE KEY" in text:
            for lines in PRIVATE_KEY.findall(text):
                for line in re.split(r"\s+|\\n", lines):
                    yield Finding(kind="token", name=f"private key in a {kind}", value=line, is_token=True)
        for value in self.rules.matches(text):
            yield Finding(kind="token", name=f"pattern in a {kind}", value=value, is_token=True, is_listed=True)


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.strip().partition("=")
    return name.strip(), value.strip().strip('"')


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""
