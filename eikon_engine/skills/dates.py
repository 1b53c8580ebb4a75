"""Parse written dates in a dozen languages; an ambiguous date has several readings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

DayOrder: TypeAlias = Literal["dmy", "mdy"]

_MONTHS: Final = (
    "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari января январь stycznia styczeń",
    "february feb februar février févr febrero febbraio fevereiro fev februari февраля февраль lutego luty",
    "march mar märz maerz mrz mars marzo março maart mrt марта март marca marzec",
    "april apr avril avr abril abr aprile апреля апрель kwietnia kwiecień",
    "may mai mayo maggio mag maio mei maj мая май maja",
    "june jun juni juin junio giugno giu junho июня июнь czerwca czerwiec",
    "july jul juli juillet juil julio luglio lug julho июля июль lipca lipiec",
    "august aug août agosto ago augustus augusti августа август sierpnia sierpień",
    "september sep sept septembre septiembre settembre set setembro сентября сентябрь września wrzesień",
    "october oct oktober okt octobre octubre ottobre ott outubro out октября октябрь października październik",
    "november nov novembre noviembre novembro ноября ноябрь listopada listopad",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro декабря декабрь grudnia grudzień",
)
_MONTH_NUMBER: Final = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_NAMES: Final = "|".join(sorted(map(re.escape, _MONTH_NUMBER), key=len, reverse=True))
_YEAR: Final = r"(?:1[5-9]|20|21)\d\d"
_TIME: Final = r"(?:[T ](?P<time>(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
_DATE: Final = re.compile(
    rf"(?<![\d./-])(?P<y>{_YEAR})(?P<sep>[-/.])(?P<m>\d\d?)(?P=sep)(?P<d>\d\d?){_TIME}(?![\d/-])"
    rf"|(?<!\d)(?P<cy>{_YEAR})\s?[年년]\s?(?P<cm>\d\d?)\s?[月월]\s?(?P<cd>\d\d?)\s?[日일]"
    rf"|(?<![\d./-])(?P<a>\d\d?)(?P<sep2>[./-])(?P<b>\d\d?)(?P=sep2)(?P<ny>{_YEAR})(?![\d/-])"
    rf"|(?<!\d)(?P<wd>\d\d?)(?:st|nd|rd|th|er|\.|º)?\s(?:de\s|of\s)?(?P<wm>{_NAMES})\b\.?,?(?:\sde|\sdel)?\s(?P<wy>{_YEAR})\b"
    rf"|\b(?P<em>{_NAMES})\b\.?\s(?P<ed>\d\d?)(?:st|nd|rd|th)?,?\s(?P<ey>{_YEAR})\b",
    re.IGNORECASE,
)
_ISO: Final = re.compile(
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"
    r"(?:[T ](?P<time>(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?)\s?(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
)
_HAS_YEAR: Final = re.compile(_YEAR)
"""Cheap precheck: every supported format has a four-digit year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDate:
    """A date in a text with all its possible readings."""

    text: str
    readings: tuple[str, ...]
    """ISO 8601, earliest first; exactly one if unambiguous."""


def find_dates(text: str, order: DayOrder | None = None) -> Iterator[WrittenDate]:
    """Yield the valid dates of a text in order.

    With dots the day comes first; with slashes and hyphens `order` decides.
    """
    if not _HAS_YEAR.search(text):
        return
    for found in _DATE.finditer(text):
        readings = tuple(sorted(set(_readings(found, order))))
        if readings:
            yield WrittenDate(text=found.group().strip(), readings=readings)


def iso_date(text: str) -> str | None:
    """Return an ISO 8601 date, with time and zone if present; None for any other text."""
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return None
    day = _iso_day(found["y"], found["m"], found["d"])
    return None if day is None else f"{day}{_iso_time(found)}"


def _readings(found: re.Match[str], order: DayOrder | None) -> Iterator[str]:
    if found["y"]:
        day = _iso_day(found["y"], found["m"], found["d"])
        yield from () if day is None else (f"{day}{_iso_time(found)}",)
        return
    if found["ny"]:
        yield from _numeric_readings(found, order)
        return
    parts = {
        "cy": (found["cy"], found["cm"], found["cd"]),
        "wy": (found["wy"], found["wm"], found["wd"]),
        "ey": (found["ey"], found["em"], found["ed"]),
    }
    year, month, number = next(each for each in parts.values() if each[0])
    day = _iso_day(year, str(_MONTH_NUMBER.get(month.lower(), month)), number)
    yield from () if day is None else (day,)


def _numeric_readings(found: re.Match[str], order: DayOrder | None) -> Iterator[str]:
    first, second, year = found["a"], found["b"], found["ny"]
    european, american = _iso_day(year, second, first), _iso_day(year, first, second)
    if found["sep2"] == "." or order == "dmy":
        american = None
    elif order == "mdy":
        european = None
    yield from (day for day in (european, american) if day is not None)


def _iso_time(found: re.Match[str]) -> str:
    return f"T{found['time']}{found['zone'] or ''}" if found["time"] else ""


def _iso_day(year: str, month: str, number: str) -> str | None:
    try:
        return date(int(year), int(month), int(number)).isoformat()
    except ValueError:
        return None
