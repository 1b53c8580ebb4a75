"""The secrets found during a recording and their stand-ins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from eikon_engine.redact.discover import AUTHORIZATION, Discovery, Finding, Kind
from eikon_engine.trace.found_secret import FoundSecret
from eikon_engine.trace.secret_names import SHORTEST, is_strong, looks_random, random_segments
from eikon_engine.trace.stand_in import PUBLIC_KEY, is_stand_in, stand_in
from eikon_engine.trace.stand_ins import StandIns
from eikon_engine.trace.token_shapes import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eikon_engine.redact.rules import RedactionRules

_SECRET_HEADERS: Final = frozenset({"set-cookie", "cookie", *AUTHORIZATION})


class FoundSecrets:
    """Collect secrets from traffic and storage before they are written; mutable, one per recording."""

    def __init__(
        self,
        rules: RedactionRules,
        key: bytes,
        *,
        strict: bool = False,
        known: Iterable[FoundSecret] = (),
        stand_ins: StandIns | None = None,
    ) -> None:
        """Find secrets by `rules`; `key` is drawn for this recording and never stored.

        `strict` treats every value that cannot be guessed as a secret, whatever its name; `known` are existing
        stand-ins; `stand_ins` is the replacement table to extend.
        """
        self.discover: Final = Discovery(rules, is_strict=strict)
        self.stand_ins: Final = stand_ins or StandIns()
        self._rules = rules
        self._key = key
        self._known: dict[str, FoundSecret] = {}
        self._hidden_ones: dict[str, FoundSecret] = {}
        self._replacements = {each.stand_in for each in known}
        self._taken = set(self._replacements)
        """Values that are not secrets: stand-ins, and values left unchanged."""

    @property
    def table(self) -> tuple[FoundSecret, ...]:
        """Return the found secrets without their values."""
        return (*self._known.values(), *self._hidden_ones.values())

    @property
    def values_by_stand_in(self) -> dict[str, str]:
        """Return the values for requests to the site that issued them; they are never written."""
        return {each.stand_in: value for value, each in (*self._known.items(), *self._hidden_ones.items())}

    def __contains__(self, value: str) -> bool:
        """Return whether a value is replaced."""
        return value in self._known

    def learn(self, findings: Iterable[Finding], *, made: bool = False) -> None:
        """Replace the findings from now on; `made` means that a page sent or stored them first."""
        for each in findings:
            self._learn(each, made=made)

    def leave(self, value: str, findings: Iterable[Finding]) -> None:
        """Exempt a value and the secrets found in it from replacement."""
        self._taken |= {value, *(segment for each in findings for segment in secret_segments(each))}

    def header(self, name: str, value: str, redact: Callable[[str], str]) -> str:
        """Return a header value to write; `redact` applies to all text.

        A value that pages cannot read and requests are not matched by is always replaced.
        """
        lower = name.lower()
        if lower not in _SECRET_HEADERS or self._rules.is_kept(name):
            return redact(value)
        if lower == "set-cookie":
            return "\n".join(self._set_cookie(line, redact) for line in value.split("\n"))
        if lower == "cookie":
            return "; ".join(self._pair(pair, redact, is_hidden=True) for pair in value.split("; "))
        scheme, space, credentials = value.partition(" ")
        scheme = scheme if space else ""
        return scheme + space + self._hidden(lower, credentials if space else value, redact)

    def cookie_value(self, name: str, value: str, redact: Callable[[str], str], *, is_hidden: bool) -> str:
        """Return a cookie value to write."""
        return self._hidden(name, value, redact) if is_hidden and self._rules.is_secret(name) else redact(value)

    def _set_cookie(self, line: str, redact: Callable[[str], str]) -> str:
        cookie, *attributes = line.split(";")
        is_hidden = any(each.strip().lower() == "httponly" for each in attributes)
        return ";".join((self._pair(cookie, redact, is_hidden=is_hidden), *map(redact, attributes)))

    def _pair(self, pair: str, redact: Callable[[str], str], *, is_hidden: bool) -> str:
        name, sign, value = pair.partition("=")
        return name + sign + self.cookie_value(name.strip(), value, redact, is_hidden=is_hidden)

    def _hidden(self, name: str, value: str, redact: Callable[[str], str]) -> str:
        """Replace a value in place, even if it is too short or plain to be searched for."""
        clean = redact(value)
        if clean != value or not value or is_stand_in(value) or self._is_replaced(name, value):
            return clean
        replacement = stand_in(value, self._key)
        kind: Kind = "header" if name in AUTHORIZATION else "cookie"
        self._hidden_ones[value] = FoundSecret(kind=kind, name=name, stand_in=replacement)
        return replacement

    def _is_replaced(self, name: str, value: str) -> bool:
        """Return whether a value is or contains a stand-in that a page sends back.

        A stand-in too short to be searched for counts only under its own name.
        """
        if value in self._taken or any(len(each) >= SHORTEST and each in value for each in self._replacements):
            return True
        return any(each.name == name and each.stand_in == value for each in self._hidden_ones.values())

    def _learn(self, finding: Finding, *, made: bool) -> None:
        if self._rules.is_listed(finding.name):
            finding = replace(finding, is_listed=True)
        for segment in secret_segments(finding):
            if segment in self._taken or is_stand_in(segment) or any(each in segment for each in self._known):
                continue  # known already, completely or in part
            by_name = finding.is_token or finding.is_hidden or self._rules.is_secret(finding.name, in_address=True)
            is_random = is_strong(segment)
            if not (is_random or by_name):
                continue
            key = PUBLIC_KEY if is_random or made else self._key
            replacement = stand_in(segment, key)
            self._known[segment] = FoundSecret(kind=finding.kind, name=finding.name, stand_in=replacement)
            self._taken.add(replacement)
            self._replacements.add(replacement)
            self.stand_ins.add(segment, replacement)


def secret_segments(finding: Finding) -> tuple[str, ...]:
    """Return the parts of a value to replace: the secret part of tokens, and everything that looks random.

    The rest stays, because pages read it, such as the claims of a JWT.
    """
    is_listed = finding.is_listed and len(finding.value) >= SHORTEST
    if finding.is_token or is_listed:
        is_sought = is_listed or looks_random(finding.value)
        return (finding.value,) if is_sought and finding.value.isascii() else ()
    rest, secret = unquote(finding.value), []
    for token in sorted(tokens(rest), key=lambda each: each.end, reverse=True):
        if looks_random(token.secret):
            secret.append(token.secret)
        rest = f"{rest[: token.begin]} {rest[token.end :]}"
    return tuple(dict.fromkeys((*secret, *random_segments(rest))))
