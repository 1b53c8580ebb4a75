"""Names whose values are secrets: of cookies, headers, parameters, fields and keys, by the words of the names.

The values of most are replaced where they look random. A code, a password or the answer to a security question is one
whatever it looks like: short ones are replaced, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS: Final = frozenset(
    {
        *("auth", "authorization", "bearer", "credential", "credentials", "csrf", "jsessionid", "jwt", "mfa", "otp"),
        *("passcode", "passphrase", "passwd", "password", "phpsessid", "pwd", "secret", "secrets", "sess", "sessid"),
        *("session", "sessionid", "sid", "signature", "token", "tokens", "totp", "xsrf"),
    }
)
_SECRET_PARTS: Final = (
    *("token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "accountkey", "authkey"),
    *("encryptionkey", "masterkey", "privatekey", "sharedkey", "signingkey", "sessionid", "sessid", "csrf", "xsrf"),
    *("codeverifier", "credential", "backupcode", "recoverycode"),
)
_SECRET_NAMES: Final = frozenset({"refresh"})
"""Whole names: as one word of several, they name something else (`refresh_interval`)."""
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

PlainSecretKind: TypeAlias = Literal["answer", "code", "password"]

_PLAIN_SECRETS: Final[dict[str, PlainSecretKind]] = {
    **dict.fromkeys(("pin", "otp", "totp", "passcode", "cvc", "cvv", "csc"), "code"),
    **dict.fromkeys(("pinnumber", "otpcode", "totpcode", "mfacode", "smscode", "twofactorcode"), "code"),
    **dict.fromkeys(("authcode", "authenticationcode", "verificationcode", "securitycode", "cardcode"), "code"),
    **dict.fromkeys(("backupcode", "recoverycode", "onetimecode", "onetimepasscode", "onetimepassword"), "code"),
    **dict.fromkeys(("password", "passwd", "pwd", "passphrase"), "password"),
    **dict.fromkeys(("secretanswer", "securityanswer", "challengeanswer"), "answer"),
    **dict.fromkeys(("secretquestionanswer", "securityquestionanswer"), "answer"),
}
"""By the last words of a name, joined. Not here: `pincode`, which is a postal code in India, and `iban`, which is
personal data.
"""
_MAX_PLAIN_WORDS: Final = 3
_QUALIFIERS: Final = frozenset(
    {"again", "check", "confirm", "confirmation", "confirmed", "current", "new", "old", "repeat", "repeated", "verify"}
)
"""Words that may follow the words of a secret; so may numbers: `password_confirmation`, `cvv2`."""

_YEAR: Final = r"(?:19|20)\d\d"
_DATE: Final = rf"{_YEAR}-\d\d?-\d\d?"
_PLAIN_VALUES: Final[dict[PlainSecretKind, re.Pattern[str]]] = {
    "answer": re.compile(rf"(?!{_YEAR}$)(?=.*[^\W\d_])[^\s{{}}<>][^{{}}<>\n]{{1,62}}[^\s{{}}<>]"),
    "code": re.compile(rf"(?=.{{4,19}}$)(?!{_YEAR}$|{_DATE})(?=.*\d)[A-Za-z0-9]+(?:-[A-Za-z0-9]+){{0,3}}"),
    "password": re.compile(rf"(?!{_DATE})(?!.*(?:://|\{{\{{))(?=.*\d)(?=.*[A-Za-z])[^\s/][^\s]{{5,127}}"),
}
_NO_ANSWERS: Final = frozenset(
    {"false", "hidden", "invalid", "missing", "none", "null", "optional", "required", "true", "undefined", "unknown"}
)


def is_secret_name(name: str) -> bool:
    """Return whether the name of a cookie, header, parameter, field or key denotes a secret."""
    words = _words(name)
    joined = "".join(words)
    return (
        not _SECRET_WORDS.isdisjoint(words) or joined in _SECRET_NAMES or any(part in joined for part in _SECRET_PARTS)
    )


def is_secret_parameter(name: str) -> bool:
    """Return whether the name of a parameter of a URL or form denotes a secret."""
    words = _words(name)
    return "".join(words) in _SECRET_PARAMETERS or _names_form_token(words) or is_secret_name(name)


def is_password_name(name: str) -> bool:
    """Return whether the name of a field denotes a password."""
    words = _words(name)
    return not _PASSWORD_WORDS.isdisjoint(words) or any(part in "".join(words) for part in _PASSWORD_PARTS)


def plain_secret_kind(name: str) -> PlainSecretKind | None:
    """Return what a name denotes if its values are secret whatever they look like; None for other names."""
    words = _words(name)
    while words and (words[-1].isdigit() or words[-1] in _QUALIFIERS):
        words.pop()
    ends = ("".join(words[-length:]) for length in range(_MAX_PLAIN_WORDS, 0, -1))
    return next((_PLAIN_SECRETS[each] for each in ends if each in _PLAIN_SECRETS), None)


def is_plain_secret(name: str, value: str) -> bool:
    """Return whether a whole value is a secret because of its name, also if it is short or a word.

    A word for a state (`otp: "required"`), a year, a date and a URL are none, and a code has four characters or more.
    """
    kind = plain_secret_kind(name)
    return kind is not None and bool(_PLAIN_VALUES[kind].fullmatch(value)) and value.lower() not in _NO_ANSWERS


def is_secret_field(attributes: Iterable[tuple[str, str]]) -> bool:
    """Return whether what is typed into an element with these attributes is a secret."""
    return any(
        (name, value) == ("type", "password") or (name in {"id", "name"} and plain_secret_kind(value) is not None)
        for name, value in attributes
    )


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _names_form_token(words: list[str]) -> bool:
    """Return whether the words of a name, or some consecutive ones, name the token of a form."""
    lengths = range(1, _MAX_FORM_TOKEN_WORDS + 1)
    joined = {"".join(words[start : start + length]) for start in range(len(words)) for length in lengths}
    return not _FORM_TOKENS.isdisjoint(joined) or any(word.endswith(_NONCE) for word in words)
