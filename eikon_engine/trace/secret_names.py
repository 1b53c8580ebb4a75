"""Detect secrets by their names, and random-looking values by their form."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Final

MIN_SECRET_LENGTH: Final = 8
"""Minimum length of a value that is searched for: shorter ones occur in documents by chance."""
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
    return is_secret_name(name) or "".join(_WORD.findall(name)).lower() in _SECRET_PARAMETERS


def is_password_name(name: str) -> bool:
    """Return whether the name of a field denotes a password."""
    words = [word.lower() for word in _WORD.findall(name)]
    return not _PASSWORD_WORDS.isdisjoint(words) or any(part in "".join(words) for part in _PASSWORD_PARTS)


def random_segments(value: str) -> tuple[str, ...]:
    """Return the segments of a value that look random, which are replaced wherever they occur.

    Replacing segments keeps a value consistent when a page splits or joins it.
    """
    return tuple(each for each in dict.fromkeys(_SEGMENT.findall(value)) if looks_random(each))


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
