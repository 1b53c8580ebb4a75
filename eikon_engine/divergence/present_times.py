"""Present times: where the recording shows the time at which it was made, an unchanged live site shows its own.

Two texts are the same up to present times if they differ only in dates with a time, in one format, that are as far from
each other as the replay is from the recording. A date of the year after the recording, such as that of a delivery, may
have moved by the days between recording and replay, unless the mission entered it. A time without a date must be that
of the clock on both sides. `3 seconds ago` and `just now` may be any time shortly before; what was `2 hours ago` in the
recording may be as much older as the replay is later, and what is `in 9 days` as much nearer. Pages of a replay have
the time of the recording and their server has the present one, so that `just now` may have become `in 7 days`. An age
without such words, such as `3 seconds`, counts if an attribute of its element has the time since then. A text that
counts the time of the page in the recording, such as `signed in for 3 s`, may have counted as much more as the page is
later. An age that a page computes from its own time and that of the server, such as `-3600 seconds ago`, may be less
than zero by as much as the replay is later.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from eikon_engine.divergence.clock_gap import ClockGap
from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.drawn_ids import DRAWN_ID, find_drawn_ids
from eikon_engine.divergence.masks import expected_read, with_digests
from eikon_engine.divergence.response_diff import is_shortened
from eikon_engine.dom.digest import map_strings
from eikon_engine.dom.inline_scripts import script_digest
from eikon_engine.dom.paths import NodesByPath
from eikon_engine.dom.tree import HTML_WHITESPACE
from eikon_engine.files.text import read_digits
from eikon_engine.trace.read_values import value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.divergence.dom_diff import DomChange
    from eikon_engine.dom import DomNode, PageSnapshot
    from eikon_engine.outcome.outcomes import ResponseChange
    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.observation import Observation, ObservedDialog, PageObservation

_Attributes: TypeAlias = "tuple[tuple[str, str], ...]"
"""Names and values of the attributes of an element."""
PRESENT_TIME: Final = "present time"
"""Name under which steps report what was not compared."""
MOVED_DATE: Final = "date that moved by the days since the recording"
"""The same, of dates that are not the present one."""
CLOSE_NUMBERS: Final = "numbers that differ by less than 0.001"
"""The same, of attributes that place elements."""
LATER_POLL: Final = "text of a poll that the recording did not reach"
"""The same, of texts in the responses to numbered polls."""
TOLERANCE: Final = timedelta(minutes=10)
"""How much the distance of two times may differ from that of recording and replay."""
_NEAR: Final = timedelta(days=366)
"""How long after the recording a date may be that a site computes from the present day, such as that of a delivery."""
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_COLON = "(?::|%3A)"
_CLOCK = (
    rf"(?P<h>\d{{1,2}}){_COLON}(?P<mi>\d\d)(?:{_COLON}(?P<s>\d\d)(?:[.,]\d{{1,9}})?)?"
    r"(?:\s?(?P<half>[AaPp])\.?[Mm]\b\.?)?(?P<zone>Z|[+-](?:0\d|1[0-4]):?[0-5]\d)?"
)
_BETWEEN = r"(?:[T ,+]|%20|\sat\s|\s[-\u2013]\s){1,2}"
_MONTH = rf"(?P<month>(?:{'|'.join(_MONTHS)})[a-z]*)\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s)?"
_UNIT: Final = r"sec(?:ond)?|min(?:ute)?|hour|hr|day|week|wk|month|mo|year|yr"
_LONG_AGE: Final = rf"(?P<ago>\d{{1,3}}|an?|one|a few|less than a) (?P<unit>{_UNIT})s?\.?"
_AGE: Final = rf"(?:{_LONG_AGE}|(?P<short>\d{{1,3}})(?P<letter>s|m|min|h|d|w|mo|y))"
"""Also as `Intl.RelativeTimeFormat` writes it in English, short (`4 min. ago`) and narrow (`4s ago`)."""
_ELAPSED: Final = r"(?P<elapsed>\d{1,5})\s?(?P<count>s(?:ec(?:ond)?s?)?|min(?:ute)?s?)"
_FORMATS: Final = tuple(
    re.compile(rf"(?<![\w.]){each}(?![\w])", re.IGNORECASE | re.ASCII)
    for each in (
        rf"(?P<y>\d{{4}})[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)(?:{_BETWEEN}{_CLOCK})?",
        rf"{_WEEKDAY}{_MONTH}\s(?P<d>\d{{1,2}}),?\s(?P<y>\d{{4}})(?:{_BETWEEN}{_CLOCK})?",
        rf"{_WEEKDAY}(?P<d>\d{{1,2}})\.?[\s-]{_MONTH}[\s-](?P<y>\d{{4}})(?:{_BETWEEN}{_CLOCK})?",
        rf"(?P<a>\d{{1,2}})[/.](?P<b>\d{{1,2}})[/.](?P<y>\d{{4}}|\d\d){_BETWEEN}{_CLOCK}",
        r"(?P<epoch>1\d{9}(?:\d{3}|\d{6}|\d{9})?)(?:\.\d{1,6})?",
        _CLOCK,
        rf"{_AGE} ago",
        rf"(?P<ahead>in) {_AGE}(?!\s(?:ago|left))",
        rf"{_AGE} (?P<ahead>from now|left|to go)",
        rf"(?P<ahead>next) (?P<one>{_UNIT})\.?",
        _ELAPSED,
        r"(?P<just>just now|right now|\Anow\Z|(?:a moment|moments|seconds) ago)",
    )
)
_UNITS: Final = {
    "s": timedelta(seconds=1),
    "mi": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
"""By the begin of their names."""
_ELAPSED_TEXT: Final = re.compile(rf"(?<![\w.:]){_ELAPSED}(?!\w|\sago)")
ELAPSED_TOLERANCE: Final = timedelta(seconds=1)
"""How far a shown elapsed time may be off, in addition to one unit of what is shown."""
_AGE_TEXT: Final = re.compile(_AGE, re.IGNORECASE | re.ASCII)
AGE_TOLERANCE: Final = timedelta(minutes=1)
"""How far a shown age may be off, in addition to one unit of what is shown."""
_NEGATIVE: Final = re.compile(r"[-\u2212][\d,.]+", re.ASCII)
_BEFORE_UNIT: Final = re.compile(r"(?:in|next) \d*$", re.ASCII)
"""How a time that is ahead begins."""
_DIGITS: Final = re.compile(r"\d+")
_NAMES: Final = re.compile(r"[AaPp]\.?[Mm]\b|[A-Za-z]{3,}\.?")
_NOON: Final = 12
_CENTURY: Final = 2000
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
"""The present time, of times that are before or after it."""
_EPOCH_DIGITS: Final = {10: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundTime:
    """A time in a text."""

    start: int
    end: int
    shape: str
    """The text without its digits and names."""
    readings: tuple[datetime | None, ...]
    """What it may mean, read as UTC unless it has a zone; with month or day first, where either may be, None if the
    calendar has no such day."""
    kind: Literal["time", "epoch", "date", "clock", "ago", "elapsed"]
    """A date with a time, a number of seconds since 1970, a date without a time, a time without a date, a time before
    or after the present one, or an elapsed one."""
    resolution: timedelta = timedelta()
    """How much a time before or after the present one, or an elapsed one, may be rounded."""
    ahead: str = ""
    """The words by which a time is after the present one."""

    @property
    def first_reading(self) -> datetime:
        """Return the first reading that exists."""
        return next(each for each in self.readings if each is not None)


def _pair_readings(one: _FoundTime, other: _FoundTime) -> list[tuple[datetime, datetime]]:
    """Return what both times mean if they are read alike."""
    pairs = zip(one.readings, other.readings, strict=False)
    return [(first, second) for first, second in pairs if first is not None and second is not None]


def page_zone(environment: Environment | None) -> tzinfo:
    """Return the time zone of the pages; UTC if it is unknown here."""
    try:
        return UTC if environment is None else ZoneInfo(environment.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def page_time(seen: Observation) -> timedelta:
    """Return the time of the page at an observation."""
    return timedelta(milliseconds=seen.begun_ms + seen.virtual_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentTimes:
    """The times of a step in its recording and in its replay."""

    begin: datetime
    """When the recording began."""
    recorded: datetime
    """When the step was recorded."""
    observed: datetime
    """When it is replayed."""
    begun: datetime | None = None
    """When the replay began, if its pages have the time of the recording."""
    zone: tzinfo = UTC
    """That of the page; servers may also show UTC."""
    page_shift: timedelta | None = None
    """How much later the step is by the clock of the page; None if unknown."""
    counting_texts: Callable[[], frozenset[str]] = frozenset
    """Returns the texts, with 0 for their number, that count the time of the page in the recording."""
    entered_dates: Callable[[], frozenset[date]] = frozenset
    """Returns the dates that the mission entered, which no site computes from the present day."""
    not_compared: dict[str, None] = field(default_factory=dict)
    """The names of what is not compared, as it is found."""
    later_values: frozenset[tuple[str, str]] = frozenset()
    """Recorded and present texts of polls that the recording did not reach, whose page has either of them."""

    @property
    def clock_gap(self) -> ClockGap | None:
        """Return by how much the page is behind its server; None if its clock is that of the server."""
        if self.begun is None:
            return None
        least, most = sorted((self.begun - self.begin, self.observed - self.recorded))
        return ClockGap(least=least, most=most, waited=self.page_shift or timedelta())

    def are_negative_ages(self, recorded: str, observed: str) -> bool:
        """Return whether two texts are ages by the clock of the page, of what has the time of the server."""
        gap = self.clock_gap
        return gap is not None and gap.makes_negative(recorded, observed)

    def are_later(self, recorded: str, observed: str) -> bool:
        """Return whether two texts are those of a poll that the recording did not reach, and of the recorded one."""
        is_later = (recorded.strip(HTML_WHITESPACE), observed.strip(HTML_WHITESPACE)) in self.later_values
        if is_later:
            self.not_compared[LATER_POLL] = None
        return is_later

    def are_same(self, recorded: str, observed: str) -> bool:
        """Return whether two different texts are the same up to present times.

        The text of an element has those of its parts without a space between them, as in `prices.csv13s ago`.
        """
        starts = (0, *_starts_within_word(recorded, observed))
        if any(self._are_same(recorded[start:], observed[start:]) for start in starts):
            return True
        are_ages = self.are_negative_ages(recorded, observed)
        if are_ages:
            self.not_compared[PRESENT_TIME] = None
        return are_ages

    def _are_same(self, recorded: str, observed: str) -> bool:
        ours, theirs = list(_find_times(recorded)), list(_find_times(observed))
        if not ours or len(ours) != len(theirs) or _around(recorded, ours) != _around(observed, theirs):
            return False
        pairs = [
            pair
            for pair in zip(ours, theirs, strict=True)
            if recorded[pair[0].start : pair[0].end] != observed[pair[1].start : pair[1].end]
        ]
        others = [
            (one, other)
            for one, other in pairs
            if not (self._has_counted(recorded, one, other) if one.kind == "elapsed" else self._is_shifted(one, other))
        ]
        if not all(self._has_moved(*pair) for pair in others):
            return False
        self.not_compared.update(dict.fromkeys((PRESENT_TIME, MOVED_DATE) if others else (PRESENT_TIME,)))
        return True

    def are_ages(self, texts: tuple[str, str], attributes: tuple[_Attributes, _Attributes]) -> bool:
        """Return whether two texts are ages at the step, of times that the same attribute of their element has."""
        before, after = map(dict, attributes)
        ages = [_read_age(text) for text in texts]
        steps = (self.recorded, self.observed)
        return any(
            (before[name] == after[name] or self.are_same(before[name], after[name]))
            and all(map(self._has_age, (before[name], after[name]), ages, steps))
            for name in before.keys() & after.keys()
        )

    def _has_age(self, text: str, age: tuple[timedelta, timedelta] | None, step: datetime) -> bool:
        """Return whether a text has a time, in UTC or locally, of this age, given with its unit, at a step."""
        if age is None:
            return False
        shown = (reading for each in _find_times(text) if each.kind in {"time", "epoch"} for reading in each.readings)
        ages = (step - each + offset for each in shown if each is not None for offset in self._offsets(step))
        return any(abs(each - age[0]) <= age[1] + AGE_TOLERANCE for each in ages)

    def _offsets(self, time: datetime) -> set[timedelta]:
        """Return by how much a shown time may differ from UTC."""
        local = self.zone.utcoffset(time.astimezone(self.zone).replace(tzinfo=None))
        return {timedelta(), *(() if local is None else (local,))}

    def _has_counted(self, text: str, recorded: _FoundTime, observed: _FoundTime) -> bool:
        """Return whether an elapsed time is later by as much as the page is, in a text that counts it."""
        if self.page_shift is None or (recorded.kind, recorded.shape) != (observed.kind, observed.shape):
            return False
        counted = observed.first_reading - recorded.first_reading - self.page_shift
        found = find_elapsed(text)
        is_counting = found is not None and found[0] in self.counting_texts()
        return is_counting and abs(counted) <= recorded.resolution + ELAPSED_TOLERANCE

    def _is_shifted(self, recorded: _FoundTime, observed: _FoundTime) -> bool:
        if recorded.kind == observed.kind == "ago":
            return self._has_aged(recorded, observed)
        if recorded.shape != observed.shape:
            return False
        if recorded.kind == "clock":
            one, other = recorded.first_reading, observed.first_reading
            return any(_is_near_clock(one, before) and _is_near_clock(other, now) for before, now in self._here())
        return any(self._is_as_far(*pair, recorded.kind) for pair in _pair_readings(recorded, observed))

    def _is_as_far(self, recorded: datetime, observed: datetime, kind: str) -> bool:
        """Return whether both are the present day, or a time as far from each other as recording and replay."""
        if kind == "date":
            return (recorded.date(), observed.date()) in self._days()
        shift = self.observed - self.recorded
        return self._is_present(recorded) and abs((observed - recorded) - shift) <= TOLERANCE

    def _has_aged(self, recorded: _FoundTime, observed: _FoundTime) -> bool:
        """Return whether the distance to the present time grew with it, by the clock of the server or of the page."""
        grown = observed.first_reading - recorded.first_reading
        shift = self.observed - self.recorded
        rounded = min(recorded.resolution or observed.resolution, observed.resolution or recorded.resolution)
        if recorded.ahead != observed.ahead:  # what is done now, at a page that has the time of the recording
            age = recorded.first_reading - _EPOCH
            rounded = observed.resolution
            is_new = not recorded.ahead and age <= TOLERANCE and shift > timedelta()
            return is_new and -rounded < grown + shift <= rounded
        older = grown - shift  # zero but for rounding, if it was there before
        return -rounded < older <= rounded or (not recorded.ahead and abs(grown) <= TOLERANCE)

    def _has_moved(self, recorded: _FoundTime, observed: _FoundTime) -> bool:
        """Return whether a date of the year after the recording, with its time of day, moved with the present day."""
        if recorded.shape != observed.shape or recorded.kind not in {"date", "time"}:
            return False
        return any(
            one.date() >= before
            and one - self.recorded <= _NEAR
            and one.date() not in self.entered_dates()
            and other - one == now - before > timedelta()
            for one, other in _pair_readings(recorded, observed)
            for before, now in self._days()
        )

    def _here(self) -> list[tuple[datetime, datetime]]:
        """Return the times of recording and replay, in UTC and in the zone of the page."""
        return [(self.recorded.astimezone(zone), self.observed.astimezone(zone)) for zone in (UTC, self.zone)]

    def _days(self) -> list[tuple[date, date]]:
        return [(before.date(), now.date()) for before, now in self._here()]

    def _is_present(self, time: datetime) -> bool:
        """Return whether a recorded time is one between the start of the recording and the step, in UTC or locally."""
        begin, end = self.begin - TOLERANCE, self.recorded + TOLERANCE
        return any(begin + offset <= time <= end + offset for offset in self._offsets(self.recorded))


def _starts_within_word(recorded: str, observed: str) -> Iterator[int]:
    """Yield where two texts differ first, if that is within a word, before the number or word that may begin there."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(recorded, observed, strict=False))
    common = "".join(char for char, _ in same)
    for kept in (common.rstrip(string.digits), _BEFORE_UNIT.sub("", common)):
        if kept[-1:].isalnum():
            yield len(kept)


def find_dates(text: str) -> frozenset[date]:
    """Return what the dates in a text may be."""
    times = (each for each in _find_times(text) if each.kind in {"date", "time"})
    return frozenset(reading.date() for each in times for reading in each.readings if reading is not None)


def find_elapsed(text: str) -> tuple[str, timedelta, timedelta] | None:
    """Return a text with 0 for its elapsed time, that time, and its unit; None unless it has exactly one."""
    found = list(_ELAPSED_TEXT.finditer(text))
    if len(found) != 1:
        return None
    (match,) = found
    unit = _UNITS["mi" if match["count"].startswith("min") else "s"]
    start, end = match.span("elapsed")
    return f"{text[:start]}0{text[end:]}", read_digits(match["elapsed"]) * unit, unit


def _read_age(text: str) -> tuple[timedelta, timedelta] | None:
    """Return an age, and its unit, that is the whole of a text; None if it is none."""
    match = _AGE_TEXT.fullmatch(text)
    if match is None:
        return None
    parts = match.groupdict()
    return next(reading - _EPOCH for reading in _readings(parts) if reading is not None), _UNITS[_unit(parts)]


def without_present_times(comparison: Comparison, times: PresentTimes) -> tuple[Comparison, tuple[str, ...]]:
    """Give both sides of a comparison the same text where they differ only in present times.

    Also return the names of what is therefore not compared.
    """
    recorded, observed = comparison.recorded.observation, comparison.observed
    if recorded is None or observed is None:
        return comparison, ()
    dialogs = _same_dialogs(recorded.dialogs, observed.dialogs, times)
    before, after = _PageSide(recorded), _PageSide(observed.model_copy(update={"dialogs": dialogs}))
    before.is_changed = dialogs != observed.dialogs
    for ordinal in before.pages.keys() & after.pages.keys():
        pair = comparison.recorded_dom(ordinal), comparison.observed_dom(ordinal)
        _adapt(ordinal, before, after, pair, times)
    changed = _without_read(comparison, times)
    if not before.is_changed and changed is comparison:
        return comparison, ()
    value = None if changed.observed is None else changed.observed.value
    return (
        replace(
            changed,
            recorded=changed.recorded.model_copy(update={"observation": before.observation()}),
            observed=after.observation().model_copy(update={"value": value}),
            recorded_dom=lambda page: before.snapshots.get(page) or comparison.recorded_dom(page),
            observed_dom=lambda page: after.snapshots.get(page) or comparison.observed_dom(page),
        ),
        tuple(times.not_compared),
    )


def _same_dialogs(
    recorded: tuple[ObservedDialog, ...], observed: tuple[ObservedDialog, ...], times: PresentTimes
) -> tuple[ObservedDialog, ...]:
    """Return the dialogs of a replay with the recorded messages where these differ only in present times."""
    counterparts = (*recorded, *(None for _ in observed))
    return tuple(
        now.model_copy(update={"message": before.message})
        if before is not None and before.message != now.message and times.are_same(before.message, now.message)
        else now
        for now, before in zip(observed, counterparts, strict=False)
    )


def response_without_present_times(change: ResponseChange, times: PresentTimes) -> ResponseChange:
    """Return a changed response without the values that differ only in present times; shortened ones stay."""
    kept = (each for each in change.what if is_shortened(each.live) or not times.are_same(each.recorded, each.live))
    return change.model_copy(update={"what": tuple(kept)})


class _PageSide:
    """The pages of one side, as far as they were changed."""

    def __init__(self, observation: Observation) -> None:
        self._observation = observation
        self.pages: dict[int, PageObservation] = {page.page: page for page in observation.pages}
        self.snapshots: dict[int, PageSnapshot] = {}
        self.is_changed = False

    def observation(self) -> Observation:
        """Return the observation with the changed pages."""
        return self._observation.model_copy(update={"pages": tuple(self.pages.values())})


def _adapt(
    ordinal: int,
    before: _PageSide,
    after: _PageSide,
    pair: tuple[PageSnapshot | None, PageSnapshot | None],
    times: PresentTimes,
) -> None:
    """Give one page the same texts on both sides."""
    one, other = before.pages[ordinal], after.pages[ordinal]
    same = {
        name: getattr(one, name)
        for name in ("url", "title")
        if getattr(one, name) != getattr(other, name) and times.are_same(getattr(one, name), getattr(other, name))
    }
    other = other.model_copy(update=same)
    digests = [[frame.digest for frame in page.frames] for page in (one, other)]
    left, right = pair
    if digests[0] != digests[1] and left is not None and right is not None:
        names = _common_names(left, right, times)
        if names:
            left, right = (map_strings(side, lambda text: _renamed(text, names)) for side in (left, right))
            one, other = with_digests(one, left), with_digests(other, right)
            before.snapshots[ordinal], after.snapshots[ordinal] = left, right
            same = {**same, "digest": True}
    before.pages[ordinal], after.pages[ordinal] = one, other
    before.is_changed = before.is_changed or bool(same)


def _common_names(left: PageSnapshot, right: PageSnapshot, times: PresentTimes) -> dict[str, str]:
    """Return a text for each of those that are the same up to present times.

    Texts that differ in one place and are the same in others keep theirs, so that the difference stays.
    """
    changes = diff_snapshots(left, right)
    pairs = {change.scripts or change.whole for change in changes}
    elsewhere = {change.whole for change in changes if not _is_place(change)}
    close = {pair for pair in {change.whole for change in changes} - elsewhere if _are_close(*pair)}
    if close:
        times.not_compared[CLOSE_NUMBERS] = None
    aged = _aged_texts(changes, (left, right), times)
    if aged:
        times.not_compared[PRESENT_TIME] = None
    drawn = find_drawn_ids(changes, left, right)
    if drawn:
        times.not_compared[DRAWN_ID] = None
    others = {change.whole for change in changes if change.kind != "text"}
    later = {pair for pair in pairs - others if times.are_later(*pair)}
    same = aged | close | later | drawn | {pair for pair in pairs if times.are_same(*pair)}
    names: dict[str, str] = {}
    for expected, observed in sorted(same):
        root = _root(names, expected)
        names.setdefault(expected, root)
        names[_root(names, observed)] = root
    roots = {text: _root(names, text) for pair in same for text in pair}
    mixed = {roots.get(one) for one, other in pairs - same if roots.get(one, one) == roots.get(other, other)}
    common = {text: root for text, root in roots.items() if root not in mixed}
    scripts = {text for change in changes for text in change.scripts or () if text in common}
    return common | {script_digest(text): script_digest(common[text]) for text in scripts}


_DECIMAL: Final = re.compile(r"(?<![\d.])-?\d+\.\d{4,}(?![\deE]|\.\d)")
_MAX_DISTANCE: Final = 0.001
_PLACE_ATTRIBUTES: Final = frozenset(
    {"cx", "cy", "d", "dx", "dy", "height", "points", "r", "rx", "ry", "style", "transform", "viewBox", "width"}
    | {f"{axis}{end}" for axis in "xy" for end in ("", "1", "2")}
)
"""Attributes that place elements, most of them in drawings."""


def _is_place(change: DomChange) -> bool:
    return change.kind == "attribute" and change.name in _PLACE_ATTRIBUTES


def _are_close(recorded: str, observed: str) -> bool:
    """Return whether two values of an attribute differ by almost nothing, in numbers with four or more decimals.

    Such are positions in a drawing that a page computes from the time or from sizes.
    """
    ours, theirs = _DECIMAL.findall(recorded), _DECIMAL.findall(observed)
    return (
        len(ours) == len(theirs)
        and _DECIMAL.split(recorded) == _DECIMAL.split(observed)
        and all(abs(float(one) - float(other)) < _MAX_DISTANCE for one, other in zip(ours, theirs, strict=True))
    )


def _aged_texts(
    changes: Sequence[DomChange], sides: tuple[PageSnapshot, PageSnapshot], times: PresentTimes
) -> set[tuple[str, str]]:
    """Return the pairs of texts that are ages wherever they differ.

    They are ages by an attribute of the element around them; or less than zero, by the unit in the text after them.
    """
    ages = [change for change in changes if None not in map(_read_age, change.whole) or _is_negative(change)]
    nodes = [{frame.path: NodesByPath(frame.root) for frame in side.frames} for side in sides] if ages else []

    def is_aged(change: DomChange) -> bool:
        if change.kind != "text":
            return False
        one, other = (side[change.frame].find(change.path) for side in nodes)
        if not one or not other:
            return False
        shown = [f"{text} {_text_after(nodes)}" for text, nodes in zip(change.whole, (one, other), strict=True)]
        return times.are_negative_ages(*shown) or times.are_ages(
            change.whole, (one[-1].attributes, other[-1].attributes)
        )

    others = {change.whole for change in ages if not is_aged(change)}
    return {change.whole for change in ages} - others


def _is_negative(change: DomChange) -> bool:
    return change.kind == "text" and _NEGATIVE.fullmatch(change.whole[1]) is not None


def _text_after(nodes: Sequence[DomNode]) -> str:
    """Return the text that follows the last of these nodes in its parent; empty if there is none."""
    if len(nodes) == 1:
        return ""
    siblings = nodes[-2].children
    after = next((place for place, node in enumerate(siblings, start=1) if node is nodes[-1]), len(siblings))
    texts = (each.text for sibling in siblings[after:] for each in sibling.walk() if each.text is not None)
    return next(filter(None, (text.strip(HTML_WHITESPACE) for text in texts)), "")


def _root(names: dict[str, str], text: str) -> str:
    while names.get(text, text) != text:
        text = names[text]
    return text


def _renamed(text: str, names: dict[str, str]) -> str:
    """Return the common name of a text, with the white space around the text, which differences do not show."""
    inner = text.strip(HTML_WHITESPACE)
    return text.replace(inner, names[inner]) if inner in names else text


def _without_read(comparison: Comparison, times: PresentTimes) -> Comparison:
    """Return a comparison without what was read, if it differs only in present times or is the text of a later poll."""
    expected = expected_read(comparison.recorded.action)
    observed = None if comparison.observed is None else comparison.observed.value
    if comparison.observed is None or expected is None or observed is None or expected == observed:
        return comparison
    if expected.long is not None or observed.long is not None:
        return comparison
    is_text = isinstance(expected.value, str) and isinstance(observed.value, str)
    is_later = is_text and times.are_later(str(expected.value), str(observed.value))
    if not is_later and not times.are_same(value_text(expected.value), value_text(observed.value)):
        return comparison
    return replace(comparison, observed=comparison.observed.model_copy(update={"value": None}))


def _find_times(text: str) -> Iterator[_FoundTime]:
    """Yield the times in a text, in order; of overlapping ones, the longest."""
    found = []
    for form in _FORMATS:
        for match in form.finditer(text):
            readings = tuple(_readings(match.groupdict()))
            if any(readings):
                shape = _NAMES.sub("a", _DIGITS.sub("0", match[0]))
                found.append(
                    _FoundTime(
                        start=match.start(),
                        end=match.end(),
                        shape=shape,
                        readings=readings,
                        kind=_kind(match.groupdict()),
                        resolution=_UNITS.get(_unit(match.groupdict()), timedelta()),
                        ahead=(match.groupdict().get("ahead") or "").lower(),
                    )
                )
    end = 0
    for each in sorted(found, key=lambda time: (time.start, -time.end)):
        if each.start >= end:
            yield each
            end = each.end


def _readings(parts: dict[str, str | None]) -> Iterator[datetime | None]:
    """Yield what the parts of a time may mean, None for a day that does not exist."""
    if epoch := parts.get("epoch"):
        yield datetime.fromtimestamp(int(epoch) / _EPOCH_DIGITS[len(epoch)], UTC)
        return
    if parts.get("just"):
        yield _EPOCH
        return
    if number := parts.get("ago") or parts.get("short") or parts.get("one") or parts.get("elapsed"):
        unit = _UNITS[_unit(parts)]
        sign = -1 if parts.get("ahead") else 1
        yield _EPOCH + sign * (read_digits(number) if number.isdecimal() else 1) * unit
        return
    year, hour = int(parts.get("y") or _CENTURY), int(parts["h"] or 0)
    if half := parts.get("half"):
        hour = hour % _NOON + (_NOON if half.lower() == "p" else 0)
    zone = UTC if parts.get("zone") in {None, "Z", "z"} else _zone(parts["zone"] or "")
    days = [(parts.get("mo", "1"), parts.get("d", "1"))]
    if name := parts.get("month"):
        days = [(str(_MONTHS.index(name[:3].lower()) + 1), parts["d"])]
    elif "a" in parts:
        days = [(parts["a"], parts["b"]), (parts["b"], parts["a"])]
    for month, day in days:
        try:
            yield datetime(
                year if year > 99 else _CENTURY + year,  # noqa: PLR2004 - two digits
                int(month or 0),
                int(day or 0),
                hour,
                int(parts["mi"] or 0),
                int(parts["s"] or 0),
                tzinfo=zone,
            )
        except ValueError:
            yield None


def _unit(parts: dict[str, str | None]) -> str:
    """Return the begin of the unit of a time before the present one, or of an elapsed one; empty for others."""
    name = next(filter(None, map(parts.get, ("count", "unit", "letter", "one"))), "").lower()
    if name.startswith("m"):
        return "mo" if name.startswith("mo") else "mi"
    return name[:1]


def _kind(parts: dict[str, str | None]) -> Literal["time", "epoch", "date", "clock", "ago", "elapsed"]:
    if "elapsed" in parts:
        return "elapsed"
    if {"ago", "one", "just"} & parts.keys():
        return "ago"
    if "epoch" in parts:
        return "epoch"
    if "y" not in parts:
        return "clock"
    return "date" if parts["h"] is None else "time"


def _is_near_clock(time: datetime, present: datetime) -> bool:
    """Return whether a time of day is the present one."""
    shown, now = (timedelta(hours=each.hour, minutes=each.minute, seconds=each.second) for each in (time, present))
    distance = abs(shown - now)
    return min(distance, timedelta(days=1) - distance) <= TOLERANCE


def _zone(text: str) -> timezone:
    """Read an offset from UTC, such as `+01:00`."""
    minutes = 60 * int(text[1:3]) + int(text[-2:])
    return timezone((-1 if text[0] == "-" else 1) * timedelta(minutes=minutes))


def _around(text: str, times: list[_FoundTime]) -> list[str]:
    """Return what a text has around its times."""
    ends = [0, *(each.end for each in times)]
    starts = [*(each.start for each in times), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]
