"""The skill `extract_dates`: extract the dates of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.skills.dates import DayOrder, find_dates, iso_date
from eikon_engine.skills.document import normalize_text, select_scopes
from eikon_engine.skills.json_ld import read_json_ld
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill
from eikon_engine.skills.text_runs import text_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document
    from eikon_engine.skills.json_ld import JsonLdNode

DateSource: TypeAlias = Literal["time", "json-ld", "meta", "text"]

_NAME: Final = "extract_dates"
_DATE_MEMBER: Final = re.compile(r"date|time|birthday|expires|validFrom|validThrough", re.IGNORECASE)
_TIME_TAGS: Final = frozenset({"time"})
_DATE_META: Final = re.compile(r"date|time$|published|modified|expires", re.IGNORECASE)


class DatesParameters(Parameters):
    """The part of the page, and its date format."""

    selector: str | None = None
    """CSS selector of the parts to read; if None, the whole page including its head."""
    order: DayOrder | None = None
    """Order of day and month in 03/04/2025; if None, such a date is ambiguous."""


class DateOutput(Output):
    """One date."""

    text: str
    """As written."""
    iso: str | None
    """ISO 8601, with time and zone if present; null if ambiguous."""
    source: DateSource
    name: str | None
    """Property name of a declared date: `datePublished`, `article:modified_time` …"""
    readings: tuple[str, ...]
    """All readings of an ambiguous date, else empty."""


class Dates(Output):
    """The dates of a page: declared ones first, then those in its content, in document order."""

    count: int
    dates: tuple[DateOutput, ...]


class ExtractDates(TypedSkill[DatesParameters, Dates]):
    """Return declared dates, `<time>` elements, and dates in text."""

    name = _NAME
    version = 1
    description = "Extract dates as ISO 8601; ambiguous ones such as 03/04/2025 keep all readings."
    parameters = DatesParameters
    output = Dates
    example = SkillInput(
        html="<p>Posted <time datetime=2025-04-03>last week</time>, updated 5 May 2025, again on 03/04/2025",
        url="https://blog.example/",
    )

    def analyze(self, document: Document, parameters: DatesParameters) -> Dates:
        """Extract all dates; a page without dates is a result, not an error.

        Raises:
            SkillError: the selector is not standard CSS, or matches nothing.
        """
        found = list(_declared_dates(document)) if parameters.selector is None else []
        for scope in select_scopes(document, parameters.selector, _NAME):
            found.extend(_content_dates(scope, parameters.order))
        return Dates(count=len(found), dates=tuple(found))


def _content_dates(scope: LexborNode, order: DayOrder | None) -> Iterator[DateOutput]:
    """Yield the dates of `<time>` elements by their `datetime` attribute, all others by their text."""
    for run in text_runs(scope, separate=_TIME_TAGS):
        stated = iso_date(run.node.attributes.get("datetime") or "") if run.node.tag == "time" else None
        if stated is not None:
            yield DateOutput(text=run.text, iso=stated, source="time", name=None, readings=())
        else:
            yield from _dates_in_text(run.text, order)


def _dates_in_text(text: str, order: DayOrder | None) -> Iterator[DateOutput]:
    for each in find_dates(text, order):
        sure = each.readings[0] if len(each.readings) == 1 else None
        yield DateOutput(
            text=each.text, iso=sure, source="text", name=None, readings=() if sure is not None else each.readings
        )


def _declared_dates(document: Document) -> Iterator[DateOutput]:
    for node in read_json_ld(document).nodes:
        yield from _json_ld_dates(node)
    for meta in document.tree.css("meta[content]"):
        attributes = meta.attributes
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        content = normalize_text(attributes.get("content") or "")
        iso = iso_date(content) if _DATE_META.search(name) else None
        if iso is not None:
            yield DateOutput(text=content, iso=iso, source="meta", name=normalize_text(name), readings=())


def _json_ld_dates(node: JsonLdNode) -> Iterator[DateOutput]:
    for name, value in node.items():
        iso = iso_date(value) if isinstance(value, str) and _DATE_MEMBER.search(name) else None
        if iso is not None and isinstance(value, str):
            yield DateOutput(text=value, iso=iso, source="json-ld", name=name, readings=())
