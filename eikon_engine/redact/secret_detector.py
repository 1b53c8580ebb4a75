"""The secrets found during a recording and their stand-ins."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from eikon_engine.secrets.detection import MIN_SECRET_LENGTH, has_high_entropy, looks_random, random_segments
from eikon_engine.secrets.encodings import ENCODINGS
from eikon_engine.secrets.names import is_plain_secret
from eikon_engine.secrets.redaction import FoundSecret
from eikon_engine.secrets.search import AUTHORIZATION_HEADERS, SecretKind, SecretMatch, SecretSearch
from eikon_engine.secrets.stand_ins import (
    PUBLIC_KEY,
    StandInMap,
    alone_pattern,
    is_replaced_alone,
    looks_like_stand_in,
    make_plain_stand_in,
    make_stand_in,
)
from eikon_engine.secrets.token_formats import find_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eikon_engine.secrets.search import RedactionRules

_SECRET_HEADERS: Final = frozenset({"set-cookie", "cookie", *AUTHORIZATION_HEADERS})


class SecretDetector:
    """Collect secrets from traffic and storage before they are written; mutable, one per recording."""

    def __init__(
        self,
        rules: RedactionRules,
        key: bytes,
        *,
        is_strict: bool = False,
        known: Iterable[FoundSecret] = (),
        stand_ins: StandInMap | None = None,
    ) -> None:
        """Find secrets by `rules`; `key` is drawn for this recording and never stored.

        `is_strict` treats every value that cannot be guessed as a secret, whatever its name; `known` are existing
        stand-ins; `stand_ins` is the replacement table to extend.
        """
        self.search: Final = SecretSearch(rules, is_strict=is_strict)
        self.stand_ins: Final = stand_ins or StandInMap()
        self._rules = rules
        self._key = key
        self._replaced: dict[str, FoundSecret] = {}
        self._replaced_alone: dict[str, FoundSecret] = {}
        self._replaced_in_place: dict[str, FoundSecret] = {}
        self._known_stand_ins = {each.stand_in for each in known}
        self._exempt = set(self._known_stand_ins)
        """Values that are not secrets: stand-ins, and values left unchanged."""

    @property
    def table(self) -> tuple[FoundSecret, ...]:
        """Return the found secrets without their values."""
        return tuple(found for _, found in self._all)

    @property
    def _all(self) -> Iterator[tuple[str, FoundSecret]]:
        for each in (self._replaced, self._replaced_alone, self._replaced_in_place):
            yield from each.items()

    @property
    def values_by_stand_in(self) -> dict[str, str]:
        """Return the values for requests to the site that issued them; they are never written."""
        return {found.stand_in: value for value, found in self._all}

    def __contains__(self, value: str) -> bool:
        """Return whether a value is replaced."""
        return value in self._replaced or value in self._replaced_alone

    def add(self, matches: Iterable[SecretMatch], *, by_page: bool = False) -> None:
        """Replace the findings from now on; `by_page` means that a page sent or stored them first."""
        for each in matches:
            self._add(each, by_page=by_page)

    def exempt(self, value: str, matches: Iterable[SecretMatch]) -> None:
        """Exempt a value and the secrets found in it from replacement."""
        self._exempt |= {value, *(segment for each in matches for segment in secret_segments(each))}

    def redact_header(self, name: str, value: str, redact: Callable[[str], str]) -> str:
        """Return a header value to write; `redact` applies to all text.

        A value that pages cannot read and requests are not matched by is always replaced.
        """
        lower = name.lower()
        if lower not in _SECRET_HEADERS or self._rules.is_exempt(name):
            return redact(value)
        if lower == "set-cookie":
            return "\n".join(self._redact_set_cookie(line, redact) for line in value.split("\n"))
        if lower == "cookie":
            return "; ".join(self._redact_pair(pair, redact, is_http_only=True) for pair in value.split("; "))
        scheme, space, credentials = value.partition(" ")
        scheme = scheme if space else ""
        return scheme + space + self._replace_in_place(lower, credentials if space else value, redact)

    def redact_cookie(self, name: str, value: str, redact: Callable[[str], str], *, is_http_only: bool) -> str:
        """Return a cookie value to write."""
        return (
            self._replace_in_place(name, value, redact)
            if is_http_only and self._rules.is_secret(name)
            else redact(value)
        )

    def _redact_set_cookie(self, line: str, redact: Callable[[str], str]) -> str:
        cookie, *attributes = line.split(";")
        is_hidden = any(each.strip().lower() == "httponly" for each in attributes)
        return ";".join((self._redact_pair(cookie, redact, is_http_only=is_hidden), *map(redact, attributes)))

    def _redact_pair(self, pair: str, redact: Callable[[str], str], *, is_http_only: bool) -> str:
        name, sign, value = pair.partition("=")
        return name + sign + self.redact_cookie(name.strip(), value, redact, is_http_only=is_http_only)

    def _replace_in_place(self, name: str, value: str, redact: Callable[[str], str]) -> str:
        """Replace a value in place, even if it is too short or plain to be searched for."""
        clean = redact(value)
        if clean != value or not value or looks_like_stand_in(value) or self._is_stand_in(name, value):
            return clean
        replacement = make_stand_in(value, self._key)
        kind: SecretKind = "header" if name in AUTHORIZATION_HEADERS else "cookie"
        self._replaced_in_place[value] = FoundSecret(kind=kind, name=name, stand_in=replacement)
        return replacement

    def _is_stand_in(self, name: str, value: str) -> bool:
        """Return whether a value is or contains a stand-in that a page sends back.

        A stand-in too short to be searched for counts only under its own name.
        """
        if value in self._exempt or any(
            len(each) >= MIN_SECRET_LENGTH and each in value for each in self._known_stand_ins
        ):
            return True
        return any(each.name == name and each.stand_in == value for each in self._replaced_in_place.values())

    def _add(self, match: SecretMatch, *, by_page: bool) -> None:
        for part in secret_parts(match, self._rules):
            is_known = looks_like_stand_in(part.text) or any(each in part.text for each in self._replaced)
            if part.text in self._exempt or part.text in self._replaced_alone or is_known:
                continue  # known already, completely or in part
            if part.is_plain:
                self._add_plain(match, part.text)
                continue
            key = PUBLIC_KEY if part.is_unguessable or by_page else self._key
            replacement = self._register(self._replaced, match, part.text, make_stand_in(part.text, key))
            self.stand_ins.add(part.text, replacement)

    def _add_plain(self, match: SecretMatch, text: str) -> None:
        """Replace a text that could be guessed from a stand-in made with the public key."""
        replacement = make_plain_stand_in(text, self._key)
        if is_replaced_alone(text):
            self.stand_ins.add_alone(text, self._register(self._replaced_alone, match, text, replacement))
        else:
            self.stand_ins.add(text, self._register(self._replaced, match, text, replacement))

    def _register(self, table: dict[str, FoundSecret], match: SecretMatch, text: str, replacement: str) -> str:
        table[text] = FoundSecret(kind=match.kind, name=match.name, stand_in=replacement)
        self._exempt.add(replacement)
        self._known_stand_ins.add(replacement)
        return replacement


@dataclass(frozen=True, slots=True)
class SecretPart:
    """A part of a value that is replaced."""

    text: str = field(repr=False)
    is_unguessable: bool = False
    is_plain: bool = False
    """Whether only its name says that it is a secret."""


def secret_parts(match: SecretMatch, rules: RedactionRules) -> Iterator[SecretPart]:
    """Yield the parts of a value that are replaced, by redaction, and reported, by a scan."""
    if rules.is_user_secret(match.name):
        match = replace(match, is_user_listed=True)
    by_name = match.is_token or match.is_unreadable_by_pages or rules.is_secret(match.name, in_address=True)
    segments = secret_segments(match)
    is_plain = not rules.is_exempt(match.name) and is_plain_secret(match.name, match.value)
    if match.is_in_code:
        is_plain = is_plain and match.value.isdigit()
    if (is_plain or match.is_typed_secret) and match.value not in segments:
        yield SecretPart(match.value, is_plain=True)
        return
    for each in segments:
        is_unguessable = has_high_entropy(each)
        if is_unguessable or by_name:
            yield SecretPart(each, is_unguessable=is_unguessable)


def secret_segments(match: SecretMatch) -> tuple[str, ...]:
    """Return the parts of a value that look random, and the secret parts of tokens in it.

    The rest stays, because pages read it, such as the claims of a JWT.
    """
    is_listed = match.is_user_listed and len(match.value) >= MIN_SECRET_LENGTH
    if match.is_token or is_listed:
        is_redacted = is_listed or looks_random(match.value)
        return (match.value,) if is_redacted and match.value.isascii() else ()
    rest, secret = unquote(match.value), []
    for token in sorted(find_tokens(rest), key=lambda each: each.end, reverse=True):
        if looks_random(token.secret):
            secret.append(token.secret)
        rest = f"{rest[: token.token_start]} {rest[token.end :]}"
    return tuple(dict.fromkeys((*secret, *random_segments(rest))))


class SecretRestorer:
    """Maps stand-ins back to the secrets found so far."""

    def __init__(self, detector: SecretDetector | None) -> None:
        """Take the current mapping; empty if secrets are not searched for."""
        values = {} if detector is None else detector.values_by_stand_in
        pairs = {encode(old): encode(new) for old, new in values.items() for _, encode in ENCODINGS}
        self._values = {old.encode(): new.encode() for old, new in pairs.items()}
        longest_first = sorted(self._values, key=lambda each: (-len(each), each))
        alone = {encode(old).encode() for old in values if is_replaced_alone(old) for _, encode in ENCODINGS}
        patterns = (
            alone_pattern(each.decode()).encode() if each in alone else re.escape(each) for each in longest_first
        )
        self._pattern = re.compile(b"|".join(patterns))

    def restore_bytes(self, data: bytes) -> bytes:
        """Return bytes with the secret values."""
        return self._pattern.sub(lambda found: self._values[found[0]], data) if self._values else data

    def restore_text(self, text: str) -> str:
        """Return a text with the secret values."""
        return self.restore_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
