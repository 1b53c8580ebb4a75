"""Find undeclared secrets by place, name or shape; with built-in and user-defined rules."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import unquote, unquote_plus

from eikon_engine.errors import UsageError
from eikon_engine.secrets.detection import MIN_SECRET_LENGTH
from eikon_engine.secrets.names import is_secret_name, is_secret_parameter, plain_secret_kind
from eikon_engine.secrets.token_formats import find_private_keys, find_tokens, find_url_passwords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

SecretKind: TypeAlias = Literal["address", "body", "cookie", "header", "storage", "token"]

MAX_JSON_BYTES: Final = 2 << 20
"""Bytes above which a body is searched as plain text only."""
MAX_TOKEN_LENGTH: Final = 512
"""Characters above which an unnamed stored item counts as data rather than a token."""
AUTHORIZATION_HEADERS: Final = frozenset({"authorization", "proxy-authorization"})
_URL_HEADERS: Final = frozenset({"content-location", "location", "referer", "refresh"})
_HARMLESS_HEADERS: Final = frozenset(
    {
        *("accept", "accept-language", "cache-control", "content-security-policy", "content-type", "etag", "if-match"),
        *("if-none-match", "sec-websocket-accept", "sec-websocket-extensions", "sec-websocket-key", "user-agent"),
        "content-security-policy-report-only",
    }
)
"""Headers with random-looking values that are not credentials."""
_URL_PARAMETER: Final = re.compile(r"[?&#;]([\w.$-]{2,64})=([^&#;\s\"'<>\\]+)")
_QUOTED_VALUE: Final = re.compile(r"[:=]\s{0,4}\\?[\"']([^\"'\\\s<>]{4,8192})")
_REVERSED_NAME: Final = re.compile(r"[\w.$-]{1,64}")
_NAME_WINDOW: Final = 72
"""Characters before a value that are searched for its name."""
_ELEMENT: Final = re.compile(r">([^<>\s]{4,8192})</([\w.:-]{1,64})>")
_TAG: Final = re.compile(r"<(?:input|meta)\b[^<>]{0,8192}>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_MULTIPART_FIELD: Final = re.compile(
    r"name=\"([^\"]{1,128})\"(?:\r\n[^\r\n]{0,256}){0,4}?\r\n\r\n([^\r\n]{3,8192})\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretMatch:
    """A value that is a secret."""

    kind: SecretKind
    name: str
    """Name of the value; the shape for a token without one."""
    value: str = field(repr=False)
    is_token: bool = False
    """Whether it has a known token shape, so that it needs no further check."""
    is_user_listed: bool = False
    """Whether a user rule names it, whatever it looks like."""
    is_typed_secret: bool = False
    """Whether it was typed into a field for secrets, so that it is one whatever it looks like."""
    is_in_code: bool = False
    """Whether it is quoted in a script, where words beside such names are seldom secrets."""
    is_unreadable_by_pages: bool = False
    """Whether pages cannot read it there, so that any value may be replaced in place."""


@dataclass(frozen=True, slots=True)
class SecretSearch:
    """Search network traffic and browser storage for secrets."""

    rules: RedactionRules
    is_strict: bool = False
    """Whether to yield values with any name, to be classified by their randomness."""

    def in_headers(self, headers: Iterable[tuple[str, str]]) -> Iterator[SecretMatch]:
        """Search request or response headers; Set-Cookie lines may be separate headers or joined by newlines."""
        for name, value in headers:
            lower = name.lower()
            if lower == "set-cookie":
                for line in value.split("\n"):
                    yield from self._in_set_cookie(line)
            elif lower == "cookie":
                for pair in value.split(";"):
                    yield from self.in_cookie(*_split_pair(pair), is_hidden=False)
            elif lower in AUTHORIZATION_HEADERS and not self.rules.is_exempt(name):
                credentials = value.partition(" ")[2] or value
                yield SecretMatch(kind="header", name=lower, value=credentials, is_unreadable_by_pages=True)
            elif lower in _URL_HEADERS:
                yield from self.in_url(value)
            elif self.rules.is_secret(lower) or (self.is_strict and lower not in _HARMLESS_HEADERS):
                yield SecretMatch(kind="header", name=lower, value=value)
            yield from self._by_shape("header", value)

    def in_cookie(self, name: str, value: str, *, is_hidden: bool) -> Iterator[SecretMatch]:
        """Search a cookie; an httpOnly cookie is a secret whatever its name."""
        if is_hidden and not self.rules.is_exempt(name):
            yield SecretMatch(kind="cookie", name=name, value=value, is_unreadable_by_pages=True)
        yield from self._in_stored_item("cookie", name, value)

    def in_storage(self, name: str, value: str) -> Iterator[SecretMatch]:
        """Search an item of local or session storage."""
        yield from self._in_stored_item("storage", name, value)

    def in_url(self, url: str) -> Iterator[SecretMatch]:
        """Search query, fragment, path parameters and user info of a URL."""
        yield from self._in_parameters("address", url)
        yield from self._by_shape("address", url)

    def in_body(self, data: bytes, content_type: str) -> Iterator[SecretMatch]:
        """Search a body; binary bodies have no findings."""
        if b"\0" in data[:1024] or content_type.startswith(("image/", "font/", "video/", "audio/")):
            return
        text = data.decode("utf-8", "replace")
        if "x-www-form-urlencoded" in content_type:
            yield from self._in_parameters("body", f"?{text}")
        elif content_type.startswith("multipart/"):
            for name, value in _MULTIPART_FIELD.findall(text):
                if self.rules.is_secret(name, in_address=True):
                    yield SecretMatch(kind="body", name=name, value=value)
        yield from self.in_text(text)

    def in_text(self, text: str) -> Iterator[SecretMatch]:
        """Search any text: documents, scripts, JSON, messages."""
        if text[:1] in {"{", "["} and len(text) <= MAX_JSON_BYTES:
            yield from self._in_json("body", text)
        yield from self._in_parameters("body", text)
        yield from self._in_named_values(text)
        yield from self._in_tags(text)
        yield from self._by_shape("body", text)

    def by_format(self, text: str) -> Iterator[SecretMatch]:
        """Search what a page shows: for tokens of known formats, because names beside values are only words there."""
        yield from self._by_shape("body", text)

    def in_values(self, kind: SecretKind, value: JsonValue, name: str = "") -> Iterator[SecretMatch]:
        """Search a JSON value by its keys."""
        waiting = [(name, value)]
        while waiting:
            key, each = waiting.pop()
            if isinstance(each, dict):
                waiting.extend(each.items())
            elif isinstance(each, list):
                waiting.extend((key, one) for one in each)
            elif plain_secret_kind(key) is not None and isinstance(each, str | int) and not isinstance(each, bool):
                if self.rules.is_secret(key):
                    yield SecretMatch(kind=kind, name=key, value=str(each))
            elif isinstance(each, str) and len(each) >= MIN_SECRET_LENGTH:
                if (key and self.rules.is_secret(key)) or (self.is_strict and len(each) <= MAX_TOKEN_LENGTH):
                    yield SecretMatch(kind=kind, name=key, value=each)
                elif each[0] in "{[" and len(each) <= MAX_JSON_BYTES:
                    yield from self._in_json(kind, each)

    def _in_set_cookie(self, line: str) -> Iterator[SecretMatch]:
        cookie, *attributes = line.split(";")
        is_hidden = any(each.strip().lower() == "httponly" for each in attributes)
        yield from self.in_cookie(*_split_pair(cookie), is_hidden=is_hidden)

    def _in_stored_item(self, kind: SecretKind, name: str, value: str) -> Iterator[SecretMatch]:
        plain = unquote_plus(value) if kind == "cookie" else value
        if plain[:1] in {"{", "["}:
            yield from self._in_json(kind, plain)
        elif self.rules.is_secret(name) or (len(value) <= MAX_TOKEN_LENGTH and not self.rules.is_exempt(name)):
            yield SecretMatch(kind=kind, name=name, value=value)
        yield from self._by_shape(kind, value)

    def _in_json(self, kind: SecretKind, text: str) -> Iterator[SecretMatch]:
        try:
            value: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            return
        yield from self.in_values(kind, value)

    def _in_parameters(self, kind: SecretKind, text: str) -> Iterator[SecretMatch]:
        if "=" not in text:
            return
        for name, value in _URL_PARAMETER.findall(text):
            if self.is_strict or self.rules.is_secret(name, in_address=True):
                yield SecretMatch(kind=kind, name=name, value=unquote_plus(value))

    def _in_named_values(self, text: str) -> Iterator[SecretMatch]:
        """Search for `name: "value"` and `<name>value</name>`."""
        for found in _QUOTED_VALUE.finditer(text):
            before = text[max(0, found.start() - _NAME_WINDOW) : found.start()].rstrip(" \t\r\n\"'\\")
            name = _REVERSED_NAME.match(before[::-1])
            if name is not None and self.rules.is_secret(name[0][::-1]):
                yield SecretMatch(kind="body", name=name[0][::-1], value=found[1], is_in_code=True)
        for value, name_after in _ELEMENT.findall(text):
            if self.rules.is_secret(name_after):
                yield SecretMatch(kind="body", name=name_after, value=value)

    def _in_tags(self, text: str) -> Iterator[SecretMatch]:
        if "<input" not in text and "<meta" not in text and "<INPUT" not in text:
            return
        for tag in _TAG.findall(text):
            attributes = {name.lower(): one or two or three for name, one, two, three in _ATTRIBUTE.findall(tag)}
            name, value = attributes.get("name", ""), attributes.get("value") or attributes.get("content")
            if value and self.rules.is_secret(name, in_address=True):
                yield SecretMatch(kind="body", name=name, value=value)

    def _by_shape(self, kind: SecretKind, text: str) -> Iterator[SecretMatch]:
        for token in find_tokens(text):
            yield SecretMatch(kind="token", name=f"{token.kind} in a {kind}", value=token.secret, is_token=True)
        for key in find_private_keys(text):
            for line in re.split(r"(?:\s|\\n|\\r)+", key[1]):
                yield SecretMatch(kind="token", name=f"private key in a {kind}", value=line, is_token=True)
        for password in find_url_passwords(text):
            yield SecretMatch(kind="address", name="password", value=unquote(password))
        for value in self.rules.find_matches(text):
            yield SecretMatch(
                kind="token", name=f"pattern in a {kind}", value=value, is_token=True, is_user_listed=True
            )


def _split_pair(text: str) -> tuple[str, str]:
    name, _, value = text.strip().partition("=")
    return name.strip(), value.strip().strip('"')


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionRules:
    """Additional rules for undeclared secrets, and exceptions."""

    names: tuple[str, ...] = ()
    """Names of cookies, headers, parameters, fields and keys with secret values; case-insensitive."""
    patterns: tuple[str, ...] = ()
    """Regular expressions of secret values; the first group counts, or the whole match without one."""
    keep: tuple[str, ...] = ()
    """Names whose values are never replaced, because a page computes with them; case-insensitive."""

    def __post_init__(self) -> None:
        """Validate the patterns.

        Raises:
            UsageError: a pattern is not a Python regular expression.
        """
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                message = f"malformed redaction pattern {pattern!r}: {error}; expected a Python regular expression"
                raise UsageError(message) from error

    def is_secret(self, name: str, *, in_address: bool = False) -> bool:
        """Return whether values with this name are secret."""
        return _is_secret(self, name, in_address)

    def is_user_secret(self, name: str) -> bool:
        """Return whether a user rule lists the name: its values are secret whatever they look like."""
        return name.lower() in {each.lower() for each in self.names} and not self.is_exempt(name)

    def is_exempt(self, name: str) -> bool:
        """Return whether values with this name are never replaced."""
        return name.lower() in {each.lower() for each in self.keep}

    def find_matches(self, text: str) -> Iterator[str]:
        """Yield the parts of a text that match a pattern."""
        for pattern in self.patterns:
            for found in re.finditer(pattern, text):
                yield next((group for group in found.groups() if group), found[0])


@lru_cache(maxsize=1 << 16)
def _is_secret(rules: RedactionRules, name: str, in_address: bool) -> bool:  # noqa: FBT001 - part of the cache key
    """Cache the result by name: documents repeat names thousands of times."""
    if rules.is_exempt(name):
        return False
    is_secret = is_secret_parameter(name) if in_address else is_secret_name(name)
    return is_secret or rules.is_user_secret(name) or plain_secret_kind(name) is not None
