"""The secrets that were found while a mission is recorded, and what stands in their place."""

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
    """Learn secrets from what goes by, before it is written; mutable, one for a recording."""

    def __init__(
        self,
        rules: RedactionRules,
        key: bytes,
        *,
        strict: bool = False,
        known: Iterable[FoundSecret] = (),
        stand_ins: StandIns | None = None,
    ) -> None:
        """Find by `rules`; `key` is drawn for this recording and kept nowhere.

        `strict` takes whatever nobody finds by trying for a secret, whatever it is called; `known` are stand-ins that
        are there already, `stand_ins` what replaces by them, where that is in use.
        """
        self.discover: Final = Discovery(rules, is_strict=strict)
        self.stand_ins: Final = stand_ins or StandIns()
        self._rules = rules
        self._key = key
        self._known: dict[str, FoundSecret] = {}
        self._hidden_ones: dict[str, FoundSecret] = {}
        self._replacements = {each.stand_in for each in known}
        self._taken = set(self._replacements)
        """What is no secret by itself: stand-ins, and values that were left as they are."""

    @property
    def table(self) -> tuple[FoundSecret, ...]:
        """Return what was found, without the values."""
        return (*self._known.values(), *self._hidden_ones.values())

    @property
    def values_by_stand_in(self) -> dict[str, str]:
        """Return the values themselves, for what goes back to the site that gave them; they are never written."""
        return {each.stand_in: value for value, each in (*self._known.items(), *self._hidden_ones.items())}

    def __contains__(self, value: str) -> bool:
        """Say whether a value is replaced."""
        return value in self._known

    def learn(self, findings: Iterable[Finding], *, made: bool = False) -> None:
        """Replace what was found from now on; `made` says that a page sent or kept it before anything brought it."""
        for each in findings:
            self._learn(each, made=made)

    def leave(self, value: str, findings: Iterable[Finding]) -> None:
        """Let a value, and the secrets that would be found in it, stay as they are."""
        self._taken |= {value, *(segment for each in findings for segment in secret_segments(each))}

    def header(self, name: str, value: str, redact: Callable[[str], str]) -> str:
        """Return a header as it may be written; `redact` is what all texts go through.

        Where no page can read a value and no request is compared by it, it is replaced whatever it is.
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
        """Return the value of a cookie as it may be written."""
        return self._hidden(name, value, redact) if is_hidden and self._rules.is_secret(name) else redact(value)

    def _set_cookie(self, line: str, redact: Callable[[str], str]) -> str:
        cookie, *attributes = line.split(";")
        is_hidden = any(each.strip().lower() == "httponly" for each in attributes)
        return ";".join((self._pair(cookie, redact, is_hidden=is_hidden), *map(redact, attributes)))

    def _pair(self, pair: str, redact: Callable[[str], str], *, is_hidden: bool) -> str:
        name, sign, value = pair.partition("=")
        return name + sign + self.cookie_value(name.strip(), value, redact, is_hidden=is_hidden)

    def _hidden(self, name: str, value: str, redact: Callable[[str], str]) -> str:
        """Replace a value in its own place, also where it is too short or too plain to be searched for."""
        clean = redact(value)
        if clean != value or not value or is_stand_in(value) or self._is_replaced(name, value):
            return clean
        replacement = stand_in(value, self._key)
        kind: Kind = "header" if name in AUTHORIZATION else "cookie"
        self._hidden_ones[value] = FoundSecret(kind=kind, name=name, stand_in=replacement)
        return replacement

    def _is_replaced(self, name: str, value: str) -> bool:
        """Say whether a page sends back what it was given in the place of a secret, whole or as a part.

        What is too short to be searched for counts where it has its name.
        """
        if value in self._taken or any(len(each) >= SHORTEST and each in value for each in self._replacements):
            return True
        return any(each.name == name and each.stand_in == value for each in self._hidden_ones.values())

    def _learn(self, finding: Finding, *, made: bool) -> None:
        if self._rules.is_listed(finding.name):
            finding = replace(finding, is_listed=True)
        for segment in secret_segments(finding):
            if segment in self._taken or is_stand_in(segment) or any(each in segment for each in self._known):
                continue  # known already, whole or in the part that matters
            by_name = finding.is_token or finding.is_hidden or self._rules.is_secret(finding.name, in_address=True)
            strong = is_strong(segment)
            if not (strong or by_name):
                continue
            key = PUBLIC_KEY if strong or made else self._key
            replacement = stand_in(segment, key)
            self._known[segment] = FoundSecret(kind=finding.kind, name=finding.name, stand_in=replacement)
            self._taken.add(replacement)
            self._replacements.add(replacement)
            self.stand_ins.add(segment, replacement)


def secret_segments(finding: Finding) -> tuple[str, ...]:
    """Return what is replaced of a value: of a token its secret part, and all else that looks random.

    What comes before it, as the claims of a JWT, is read by pages.
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
