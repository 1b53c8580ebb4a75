"""Parse amounts of money: currency signs and codes, separators, ambiguous readings."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODES: Final = (
    "USD EUR GBP CHF JPY CNY SEK NOK DKK ISK PLN CZK HUF RON BGN TRY RUB UAH CAD AUD NZD MXN BRL ARS CLP COP INR "
    "KRW THB IDR MYR PHP SGD HKD TWD VND ILS AED SAR QAR KWD BHD OMR JOD EGP MAD TND ZAR NGN KES"
)
CURRENCY_CODES: Final = frozenset(_CODES.split())
"""Recognized ISO 4217 codes."""
_CURRENCY_OF_SIGN: Final = {
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₺": "TRY",
    "₪": "ILS",
    "₴": "UAH",
    "฿": "THB",
    "₫": "VND",
    "₱": "PHP",
    "₦": "NGN",
    "US$": "USD",
    "C$": "CAD",
    "CA$": "CAD",
    "A$": "AUD",
    "AU$": "AUD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "S$": "SGD",
    "R$": "BRL",
    "MX$": "MXN",
    "zł": "PLN",
    "Kč": "CZK",
    "Ft": "HUF",
    "lei": "RON",
    "лв": "BGN",
    "грн": "UAH",
    "руб": "RUB",  # noqa: RUF001 - Cyrillic on purpose
    "Fr.": "CHF",
    "SFr.": "CHF",
    "د.إ": "AED",
    "ر.س": "SAR",
    "元": "CNY",
    "円": "JPY",
}
_AMBIGUOUS_SIGNS: Final = ("$", "¥", "kr")
"""Signs that several currencies share."""
_ZERO_DECIMAL_CURRENCIES: Final = frozenset({"JPY", "KRW", "VND", "CLP", "ISK"})
"""Currencies without decimals: a separator always groups thousands."""
_THREE_DECIMAL_CURRENCIES: Final = frozenset({"KWD", "BHD", "OMR", "JOD", "TND"})
_COMMA_LANGUAGES: Final = (
    "de fr es it pt nl sv da nb nn no fi pl cs sk hu ro bg ru uk tr el hr sl sr lt lv et is ca gl eu id vi"
)
_POINT_LANGUAGES: Final = "en ja zh ko th he ms"
_POINT_REGIONS: Final = frozenset({"ch", "li", "mx", "gt", "hn", "ni", "pa", "pe", "pr", "sv", "do"})
"""Regions that use a decimal point although the language uses a comma elsewhere."""
_DECIMAL_MARKS: Final = {
    **dict.fromkeys(_COMMA_LANGUAGES.split(" "), ","),
    **dict.fromkeys(_POINT_LANGUAGES.split(" "), "."),
}
"""Decimal mark by language."""


def _sign_pattern() -> str:
    letters = [*CURRENCY_CODES, *(sign for sign in (*_CURRENCY_OF_SIGN, "kr") if sign[0].isalpha() and sign[-1] != "$")]
    worded = "|".join(re.escape(sign) for sign in sorted(letters, key=len, reverse=True))
    dollars = "|".join(re.escape(sign) for sign in sorted(_CURRENCY_OF_SIGN, key=len, reverse=True) if sign[-1] == "$")
    return rf"(?:(?<!\w)(?:{dollars})|[$€£¥₹₽₩₺₪₴฿₫₱₦元円]|(?<![^\W\d_])(?:{worded})(?![^\W\d_]))"


_SIGN: Final = _sign_pattern()
_GROUP: Final = r"[ .,'\u2019\u066c\u202f\u00a0]"
_NUMBER: Final = (
    rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?:[.,\u066b]\d{{1,3}})?|\d{{1,3}}(?:,\d{{2}})+,\d{{3}}(?:\.\d{{1,2}})?"
    rf"|\d+(?:[.,\u066b]\d{{1,3}})?)(?![\d])(?:,-{{1,2}}|,\u2013|\.\u2013)?"
)
_DASH: Final = r"\s?(?:-|\u2013|\u2014|~|\uff5e|to|bis|à|a|até)\s?"
_MONEY: Final = re.compile(
    rf"(?P<before>{_SIGN})\s?(?P<minus>[-\u2212])?(?P<low>{_NUMBER})"
    rf"(?:{_DASH}(?:{_SIGN}\s?)?(?P<high>{_NUMBER}))?"
    rf"|(?<![\d.,])(?P<minus2>[-\u2212](?=\d))?(?P<low2>{_NUMBER})(?:\s?{_SIGN})??"
    rf"(?:{_DASH}(?P<high2>{_NUMBER}))?\s?(?P<after>{_SIGN})"
)
_HAS_DIGIT: Final = re.compile(r"\d")
_HAS_SIGN: Final = re.compile(_SIGN)
_GROUP_DIGITS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """One number with all its possible readings."""

    readings: tuple[str, ...]
    """Decimal numbers, smallest first; exactly one if unambiguous."""

    @property
    def unambiguous(self) -> str | None:
        """Return the number, or None if it is ambiguous."""
        return self.readings[0] if len(self.readings) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """An amount or a range in a text."""

    text: str
    sign: str
    currency: str | None
    """ISO 4217 code; None if several currencies use the sign."""
    low: Amount
    high: Amount | None
    """Upper end of a range."""


def find_money(text: str, language: str | None, currency: str | None) -> Iterator[Money]:
    """Yield the amounts with a currency sign or code in a text, in order.

    `language` resolves `1.234`; `currency` resolves signs that several currencies share.
    """
    if not _HAS_DIGIT.search(text) or not _HAS_SIGN.search(text):
        return
    for found in _MONEY.finditer(text):
        sign = found["before"] or found["after"]
        known = _currency(sign, currency)
        minus = "-" if found["minus"] or found["minus2"] else ""
        low, high = found["low"] or found["low2"], found["high"] or found["high2"]
        yield Money(
            text=found.group().strip(),
            sign=sign,
            currency=known,
            low=read_amount(low, language, known, minus),
            high=None if high is None else read_amount(high, language, known),
        )


def has_currency(text: str) -> bool:
    """Return whether a currency sign or code is in a text, with or without an amount."""
    return _HAS_SIGN.search(text) is not None


def read_amount(text: str, language: str | None, currency: str | None, minus: str = "") -> Amount:
    """Read a number with separators; the language decides whether an ambiguous one groups thousands or decimals."""
    digits = re.sub(r"(?:,-{1,2}|,\u2013|\.\u2013)$", "", text)
    plain = "".join(str(unicodedata.digit(each)) if each.isdigit() else each for each in digits)
    plain = plain.replace("\u066b", ".") if "\u066b" in plain else plain
    plain = re.sub(r"[ '\u2019\u066c\u202f\u00a0]", "", plain)
    found = tuple(f"{minus}{each}" for each in _readings(plain, language, currency))
    return Amount(readings=tuple(sorted(found, key=lambda each: (len(each.partition(".")[0]), each))))


def _readings(plain: str, language: str | None, currency: str | None) -> tuple[str, ...]:
    marks = [each for each in plain if each in ".,"]
    if not marks:
        return (plain,)
    whole, last, places = plain.rpartition(marks[-1])
    decimal = f"{whole.replace('.', '').replace(',', '')}.{places}"
    grouped = plain.replace(".", "").replace(",", "")
    if len(set(marks)) > 1:
        return (decimal,)
    if len(marks) > 1 or currency in _ZERO_DECIMAL_CURRENCIES:
        return (grouped,)
    if len(places) != _GROUP_DIGITS or whole == "0" or currency in _THREE_DECIMAL_CURRENCIES:
        return (decimal,)
    mark = _decimal_mark(language)
    return (grouped, decimal) if mark is None else (decimal,) if last == mark else (grouped,)


def _decimal_mark(language: str | None) -> str | None:
    base, _, region = (language or "").lower().replace("_", "-").partition("-")
    return "." if region in _POINT_REGIONS else _DECIMAL_MARKS.get(base)


def _currency(sign: str, currency: str | None) -> str | None:
    if sign in CURRENCY_CODES:
        return sign
    return currency if sign in _AMBIGUOUS_SIGNS else _CURRENCY_OF_SIGN.get(sign)
