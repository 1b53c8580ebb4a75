"""Tell by its name whether a value is a secret, and by its look whether it may be replaced wherever it stands."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Final

SHORTEST: Final = 8
"""Characters below which a value is never searched for: documents hold it by chance."""
STRONG_BITS: Final = 100
"""Chance in a value that nobody finds by trying, so that something computed from it may be told."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORDS: Final = frozenset(
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
_PARTS: Final = (
    *("token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "privatekey", "sessionid"),
    *("sessid", "csrf", "xsrf", "codeverifier", "credential"),
)
_IN_ADDRESSES: Final = frozenset({"code", "key", "nonce", "samlrequest", "samlresponse", "sig", "state", "ticket"})
"""Names of OAuth, SAML and signed addresses, which say too little elsewhere."""
_PASSWORDS: Final = ("password", "passwd", "passphrase", "passcode")
_PASSWORD_WORDS: Final = frozenset({"pwd", "pin", "secret", "otp"})

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_-]+")
_DATE: Final = re.compile(r"\d{4}-\d\d?-\d\d?")
_PLAIN_PART = r"(?:(?:[A-Z]?[a-z]+|[A-Z]+)\d{0,4}|[a-z]{3,}\d[a-z]{2,}|\d{1,4})"
_NUMBERED_WORDS: Final = re.compile(rf"{_PLAIN_PART}(?:[_-]+{_PLAIN_PART})*")
_LONG_NUMBER: Final = 15
_LONG_LETTERS: Final = 16
_CASE_CHANGES: Final = 4
_DIFFERENT: Final = 5


def is_secret_name(name: str) -> bool:
    """Say whether what goes by this name is a secret: of a cookie, header, parameter, field or key."""
    words = [word.lower() for word in _WORD.findall(name)]
    joined = "".join(words)
    return not _WORDS.isdisjoint(words) or any(part in joined for part in _PARTS)


def is_secret_in_address(name: str) -> bool:
    """Say the same of a parameter in an address or a form."""
    return is_secret_name(name) or "".join(_WORD.findall(name)).lower() in _IN_ADDRESSES


def is_password_name(name: str) -> bool:
    """Say whether what is typed into a field of this name is a password."""
    words = [word.lower() for word in _WORD.findall(name)]
    return not _PASSWORD_WORDS.isdisjoint(words) or any(part in "".join(words) for part in _PASSWORDS)


def random_segments(value: str) -> tuple[str, ...]:
    """Return the parts of a value that look drawn by chance, which are replaced wherever they stand.

    A value is replaced part by part, so that what a page takes apart or puts together stays the same value.
    """
    return tuple(each for each in dict.fromkeys(_SEGMENT.findall(value)) if looks_random(each))


def looks_random(text: str) -> bool:
    """Say whether a text is long and mixed enough to be no word of a language or a program."""
    if len(text) < SHORTEST or len(set(text)) < _DIFFERENT or _DATE.match(text):
        return False
    if text.isdigit():
        return len(text) >= _LONG_NUMBER
    if not any(char.isdigit() for char in text):
        letters = [char for char in text if char.isalpha()]
        changes = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
        return len(text) >= _LONG_LETTERS and changes >= _CASE_CHANGES
    return any(char.isalpha() for char in text) and not _NUMBERED_WORDS.fullmatch(text)


def is_strong(text: str) -> bool:
    """Say whether a text that looks random has too much chance in it to be found by trying."""
    kinds = (str.isdigit, str.islower, str.isupper)
    size = 16 if is_hex(text) else sum(n for n, kind in zip((10, 26, 26), kinds, strict=True) if any(map(kind, text)))
    return looks_random(text) and len(text) * math.log2(max(2, size)) >= STRONG_BITS


def is_hex(text: str) -> bool:
    """Say whether a text is written in hexadecimal digits of one case, dashes aside."""
    return bool(re.fullmatch(r"[0-9a-f-]+|[0-9A-F-]+", text))
