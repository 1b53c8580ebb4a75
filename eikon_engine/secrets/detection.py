"""Detect secrets: by their names, by known token formats, and by how random a value looks."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_SECRET_LENGTH: Final = 8
"""Minimum length of a value that is searched for: shorter ones occur in documents by chance."""
MIN_PASSWORD_LENGTH: Final = 3
"""Minimum length of a typed password that is replaced: a shorter one, and its stand-in, are part of other texts."""
MIN_ENTROPY_BITS: Final = 100
"""Minimum entropy of a value that cannot be guessed, so that a hash of it may be published."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS: Final = frozenset(
    {
        *(
            "auth",
            "authorization",
            "bearer",
            "credential",
            "credentials",
            "csrf",
            "jsessionid",
            "jwt",
            "otp",
            "passcode",
        ),
        *("passphrase", "passwd", "password", "phpsessid", "pwd", "secret", "secrets", "sess", "sessid", "session"),
        *("sessionid", "sid", "signature", "token", "tokens", "xsrf"),
    }
)
_SECRET_PARTS: Final = (
    *("token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "privatekey", "sessionid"),
    *("sessid", "csrf", "xsrf", "codeverifier", "credential"),
)
_SECRET_PARAMETERS: Final = frozenset({"code", "key", "nonce", "samlrequest", "samlresponse", "sig", "state", "ticket"})
"""Parameter names of OAuth, SAML and signed URLs, too ambiguous elsewhere."""
_FORM_TOKENS: Final = frozenset({"eventvalidation", "formbuildid", "formhash", "formkey", "viewstate"})
"""Words, joined, in the names of fields with which servers recognize their own forms: those of ASP.NET, JSF, Drupal,
Magento and Discuz.
"""
_MAX_FORM_TOKEN_WORDS: Final = 3
_NONCE: Final = "nonce"
"""End of a word in the names of such fields of WordPress."""
_PASSWORD_PARTS: Final = ("password", "passwd", "passphrase", "passcode")
_PASSWORD_WORDS: Final = frozenset({"pwd", "pin", "secret", "otp"})

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_-]+")
_DATE: Final = re.compile(r"\d{4}-\d\d?-\d\d?")
_IDENTIFIER_PART = r"(?:(?:[A-Z]?[a-z]+|[A-Z]+)\d{0,4}|[a-z]{3,}\d[a-z]{2,}|\d{1,4})"
_IDENTIFIER: Final = re.compile(rf"{_IDENTIFIER_PART}(?:[_-]+{_IDENTIFIER_PART})*")
_MIN_RANDOM_DIGITS: Final = 15
_MIN_RANDOM_LETTERS: Final = 16
_MIN_CASE_CHANGES: Final = 4
_MIN_DISTINCT: Final = 5


def is_secret_name(name: str) -> bool:
    """Return whether the name of a cookie, header, parameter, field or key denotes a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    joined = "".join(words)
    return not _SECRET_WORDS.isdisjoint(words) or any(part in joined for part in _SECRET_PARTS)


def is_secret_parameter(name: str) -> bool:
    """Return whether the name of a parameter of a URL or form denotes a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    return "".join(words) in _SECRET_PARAMETERS or _names_form_token(words) or is_secret_name(name)


def _names_form_token(words: list[str]) -> bool:
    """Return whether the words of a name, or some consecutive ones, name the token of a form."""
    lengths = range(1, _MAX_FORM_TOKEN_WORDS + 1)
    joined = {"".join(words[start : start + length]) for start in range(len(words)) for length in lengths}
    return not _FORM_TOKENS.isdisjoint(joined) or any(word.endswith(_NONCE) for word in words)


def is_password_name(name: str) -> bool:
    """Return whether the name of a field denotes a password."""
    words = [word.lower() for word in _WORD.findall(name)]
    return not _PASSWORD_WORDS.isdisjoint(words) or any(part in "".join(words) for part in _PASSWORD_PARTS)


def random_segments(value: str) -> tuple[str, ...]:
    """Return the segments of a value that look random, which are replaced wherever they occur.

    Replacing segments keeps a value consistent when a page splits or joins it.
    """
    return tuple(each for each in dict.fromkeys(_SEGMENT.findall(value)) if looks_random(each.lstrip("-")))


def looks_random(text: str) -> bool:
    """Return whether a text is too long and mixed to be a word or an identifier."""
    if len(text) < MIN_SECRET_LENGTH or len(set(text)) < _MIN_DISTINCT or _DATE.match(text):
        return False
    if text.isdigit():
        return len(text) >= _MIN_RANDOM_DIGITS
    if not any(char.isdigit() for char in text):
        letters = [char for char in text if char.isalpha()]
        changes = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
        return len(text) >= _MIN_RANDOM_LETTERS and changes >= _MIN_CASE_CHANGES
    return any(char.isalpha() for char in text) and not _IDENTIFIER.fullmatch(text)


def has_high_entropy(text: str) -> bool:
    """Return whether a random-looking text has too much entropy to be guessed."""
    kinds = (str.isdigit, str.islower, str.isupper)
    size = 16 if is_hex(text) else sum(n for n, kind in zip((10, 26, 26), kinds, strict=True) if any(map(kind, text)))
    return looks_random(text) and len(text) * math.log2(max(2, size)) >= MIN_ENTROPY_BITS


def is_hex(text: str) -> bool:
    """Return whether a text consists of hexadecimal digits of one case and dashes."""
    return bool(re.fullmatch(r"[0-9a-f-]+|[0-9A-F-]+", text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token in a text and its secret part."""

    kind: str
    secret: str = field(repr=False)
    token_start: int
    """Start of the token."""
    secret_start: int
    end: int
    """Start and end of its secret part."""


@dataclass(frozen=True, slots=True)
class _TokenFormat:
    kind: str
    prefixes: tuple[str, ...]
    """Fixed prefixes, searched first because that is fast."""
    pattern: re.Pattern[str]
    """Its only group is the secret part."""


def _token_format(kind: str, begins: str, pattern: str) -> _TokenFormat:
    return _TokenFormat(kind, tuple(begins.split()), re.compile(pattern))


TOKEN_FORMATS: Final = (
    _token_format("JWT", "eyJ", r"eyJ[\w-]{5,2048}\.[\w-]{2,65536}\.([\w-]{16,2048})(?:\.[\w-]{1,65536}){0,2}"),
    _token_format("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_([A-Za-z0-9]{20,255})"),
    _token_format("GitHub token", "github_pat_", r"github_pat_(\w{22,255})"),
    _token_format("GitLab token", "glpat-", r"glpat-([\w-]{20,})"),
    _token_format("Slack token", "xox", r"xox[abeoprs]-([\w-]{10,})"),
    _token_format("Stripe key", "k_live_ k_test_", r"[rs]k_(?:live|test)_([A-Za-z0-9]{16,})"),
    _token_format("API key", "sk-", r"(?<![\w-])sk-(?:[a-z]+-)*([A-Za-z0-9_]{20,})"),
    _token_format("Google API key", "AIza", r"AIza([\w-]{35})"),
    _token_format("Google access token", "ya29.", r"ya29\.([\w-]{20,})"),
    _token_format("AWS access key", "AKIA ASIA", r"(?<![A-Z0-9])A[KS]IA([A-Z0-9]{16})(?![A-Z0-9])"),
    _token_format("npm token", "npm_", r"npm_([A-Za-z0-9]{36})"),
)
PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z ]+ )?PRIVATE KEY-----((?:[A-Za-z0-9+/=\s]|\\n){64,16384}?)-----END"
)


def find_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of known formats in a text."""
    for shape in TOKEN_FORMATS:
        yield from _find_format(shape, text)


def _find_format(shape: _TokenFormat, text: str) -> Iterator[Token]:
    """Search for the prefixes first: searching a fixed text is much faster than searching a pattern."""
    for begin in shape.prefixes:
        place = text.find(begin)
        while place >= 0:
            found = shape.pattern.match(text, place) or shape.pattern.match(text, max(0, place - 1))
            if found is not None:
                yield Token(
                    kind=shape.kind,
                    secret=found[1],
                    token_start=found.start(),
                    secret_start=found.start(1),
                    end=found.end(1),
                )
            place = text.find(begin, max(place + len(begin), found.end() if found is not None else 0))
