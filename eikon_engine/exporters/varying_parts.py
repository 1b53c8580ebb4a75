"""Find the parts of recorded texts that differ on the unchanged site, and write patterns that open these parts only.

They are values that the server draws, stand-ins of secrets, which no site shows, times, and the date of the recording.
Patterns are valid in Python and JavaScript; Playwright passes them to the browser as they are.
"""

from __future__ import annotations

import html
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from eikon_engine.exporters.playwright_values import site_of
from eikon_engine.exporters.python_source import call_source, regex_literal, string_literal
from eikon_engine.files.patterns import find_matches
from eikon_engine.network.response_values import RequestedSegments, comparable_text, path_before, url_location
from eikon_engine.secrets.detection import MIN_SECRET_LENGTH
from eikon_engine.secrets.encodings import ENCODINGS
from eikon_engine.trace.masks import matches_wildcard
from eikon_engine.trace.rules import ResponseValueRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.execution import ExecutionTrace

_MIN_LONG_VALUE: Final = 8
"""Shorter values occur within words by chance."""
_UUID_START: Final = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]*"
_CLOCK: Final = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[AaPp][Mm])?"
_AGE: Final = r"(?:\d+\s*[A-Za-z]+\s+)?ago\b|\d+\s*(?:ms|s|sec|second|minute|hour|day)s?\s+left\b|just now\b|today\b"
_TIMES: Final = (
    (rf"\b{_CLOCK}\b", _CLOCK),
    (rf"\b(?i:{_AGE})", ".+"),
)
"""Times in texts, each with the pattern that opens it."""
_DIGESTS: Final = (
    (rf"\b{_UUID_START}", _UUID_START),
    (r"\b[0-9a-fA-F]{20,}\b", "[0-9a-fA-F]{20,}"),
)
_NOT_PORTABLE: Final = re.compile(r"\(\?(?![:=!]|<[=!])|\\[aANUZ]|[*+?}]\+|\{,\d|\[\^?\]")
"""What JavaScript does not have: flags, names and possessive quantifiers, anchors and signs by name, `{,3}`, `[]x]`."""
_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")


@dataclass(frozen=True, slots=True)
class _Part:
    """One kind of varying part."""

    pattern: str
    """How it is found."""
    opened: str | Mapping[str, str]
    """The pattern that opens it, or one for each text that is found."""


class VaryingParts:
    """The varying parts of the texts of one recording."""

    def __init__(self, trace: ExecutionTrace, network: NetworkRecording | None = None) -> None:
        """Collect what the server drew from the recorded responses; without them, any value that a rule describes."""
        drawn = (*_drawn_values(trace, network), *_stand_ins(trace))
        moments = (*(_Part(*pair) for pair in _TIMES), *_dates(trace))
        digests = tuple(_Part(*pair) for pair in _DIGESTS)
        self._drawn = _Finder(drawn)
        self._moments = _Finder((*moments, *digests))
        self._of_urls = _Finder((*drawn, *moments))
        self._of_texts = _Finder((*drawn, *moments, *digests))

    def are_in(self, text: str) -> bool:
        """Return whether a text has a varying part."""
        return self._of_texts.finds(text)

    def are_drawn_in(self, text: str) -> bool:
        """Return whether a text has a value that the server draws, or the stand-in of a secret."""
        return self._drawn.finds(text)

    def are_in_url(self, url: str) -> bool:
        """Return whether a URL has a varying part; digests in it name things."""
        return self._of_urls.finds(url)

    def fixed_start(self, text: str) -> str:
        """Return a text up to its first varying part."""
        return self._of_texts.fixed_start(text)

    def text_source(self, text: str) -> str | None:
        """Write a text to expect of an element; None if it has a time, which pages word in many ways."""
        if self._moments.finds("\0".join(self._drawn.fixed_parts(text))):
            return None
        if not self._drawn.finds(text):
            return string_literal(text)
        opened = self._drawn.opened(text, _escape_text)
        return call_source("re.compile", regex_literal(rf"^\s*{opened}\s*$"))

    def title_source(self, title: str) -> str:
        """Write the title to expect of a page."""
        return _pattern_source(self._of_texts.opened(title)) if self.are_in(title) else string_literal(title)

    def drawn_source(self, text: str) -> str:
        """Write a text to expect, in which only drawn values and stand-ins are open."""
        return _pattern_source(self._drawn.opened(text)) if self.are_drawn_in(text) else string_literal(text)

    def name_source(self, name: str) -> str:
        """Write the name of an element to find, in which only drawn values and stand-ins are open.

        Playwright writes it into a selector, where `/` ends a regular expression.
        """
        pattern = re.sub(r"\\.|/", lambda found: r"\/" if found[0] == "/" else found[0], self._drawn.opened(name))
        return _pattern_source(pattern) if self.are_drawn_in(name) else string_literal(name)

    def text_pattern(self, text: str) -> str:
        """Return a regular expression of a text with its varying parts open."""
        return self._of_texts.opened(text)

    def drawn_pattern(self, text: str) -> str:
        """Return a regular expression of a text in which only drawn values and stand-ins are open."""
        return self._drawn.opened(text)

    def url_pattern(self, url: str) -> str:
        """Return a regular expression of a URL with its varying parts open."""
        return self._of_urls.opened(url)


def mask_source(pattern: str) -> str | None:
    """Write the pattern of a mask as what a text has to match in full; None if JavaScript may not have it."""
    return _pattern_source(f"(?:{pattern})") if _is_portable(pattern) else None


def _pattern_source(pattern: str) -> str:
    return call_source("re.compile", regex_literal(f"^{pattern}$"))


def _is_portable(pattern: str) -> bool:
    """Return whether a regular expression of Python means the same in JavaScript."""
    return _NOT_PORTABLE.search(pattern) is None


def _escape(text: str) -> str:
    """Escape what has a meaning in regular expressions; unlike `re.escape`, readable and valid in JavaScript."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _escape_text(text: str) -> str:
    """Escape a text whose white space browsers may break or collapse."""
    return r"\s+".join(map(_escape, text.split(" ")))


class _Finder:
    """Finds parts of some kinds in texts."""

    def __init__(self, parts: tuple[_Part, ...]) -> None:
        self._parts = parts
        groups = (f"(?P<part_{number}>{part.pattern})" for number, part in enumerate(parts))
        self._pattern = re.compile("|".join(groups)) if parts else None

    def finds(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(text) is not None

    def fixed_start(self, text: str) -> str:
        found = None if self._pattern is None else self._pattern.search(text)
        return text if found is None else text[: found.start()]

    def fixed_parts(self, text: str) -> list[str]:
        """Return what is between the parts."""
        return [text] if self._pattern is None else self._pattern.sub("\0", text).split("\0")

    def opened(self, text: str, escape: Callable[[str], str] = _escape) -> str:
        """Return a pattern with the parts open; `escape` writes what is between them."""
        pieces, end = [], 0
        for found in self._pattern.finditer(text) if self._pattern is not None else ():
            part = self._parts[int((found.lastgroup or "").removeprefix("part_"))]
            opened = part.opened if isinstance(part.opened, str) else part.opened[found[0]]
            pieces += [escape(text[end : found.start()]), opened]
            end = found.end()
        return "".join((*pieces, escape(text[end:])))


def _drawn_values(trace: ExecutionTrace, network: NetworkRecording | None) -> Iterator[_Part]:
    """Yield the values that the server drew."""
    rules = () if trace.network is None else trace.network.rules
    by_response = [rule for rule in rules if isinstance(rule, ResponseValueRule)]
    for rule in by_response:
        if rule.path is not None:
            yield from _drawn_segments(rule, site_of(trace).base + rule.path.removesuffix("*"), network)
    by_response = [rule for rule in by_response if rule.path is None]
    if network is None:
        patterns = dict.fromkeys(rule.value_pattern for rule in by_response)
        yield from (_Part(_within_signs(each), _alone(each)) for each in patterns)
        return
    values: dict[str, str] = {}
    for rule in by_response:
        for _, text in _recorded_texts(rule, network):
            for found in find_matches(rule.pattern, text):
                if found[1]:
                    values |= _written(found[1], rule.value_pattern) | values
    yield from _literals(values)


def _drawn_segments(rule: ResponseValueRule, url: str, network: NetworkRecording | None) -> Iterator[_Part]:
    """Yield the values that the server drew as segments of URLs: those after `url`, also without its origin."""
    path = path_before(url)
    befores = [rf"(?<![\w./%:\\-]{re.escape(path)})(?<={re.escape(path)})"]
    befores += [f"(?<={re.escape(url)})"] if url != path else []
    values = rule.value_pattern
    if network is not None:
        requested = RequestedSegments(network.exchanges)
        urls: dict[str, None] = {}
        drawn: dict[str, None] = {}
        for exchange, text in _recorded_texts(rule, network):
            for value in filter(None, (found[1] for found in find_matches(rule.pattern, text))):
                here = [each for each in requested.urls_before(value, exchange) if path_before(each) == path]
                urls |= dict.fromkeys(here)
                drawn |= dict.fromkeys([value] if here else ())
        if not drawn:
            return
        befores += [f"(?<={re.escape(each)})" for each in urls]
        values = "|".join(re.escape(each) for each in sorted(drawn, key=lambda each: (-len(each), each)))
    yield _Part(rf"(?:{'|'.join(befores)})(?:{values})(?![\w-])", _alone(rule.value_pattern))


def _written(value: str, pattern: str) -> dict[str, str]:
    """Return how pages may show and send a value of a response, each with the pattern that opens it."""
    decoded = {value, html.unescape(value), unquote(value)}
    with suppress(ValueError):
        decoded.add(str(json.loads(f'"{value}"')))
    written = dict.fromkeys((value, *(encode(each) for each in decoded if each for _, encode in ENCODINGS)))
    return {each: _alone(pattern) if re.fullmatch(pattern, each) else _class_of(each) for each in written}


def _class_of(written: str) -> str:
    """Return a pattern of texts with no other signs than this one."""
    signs = "".join(sorted(set(re.sub(r"[\w-]", "", written, flags=re.ASCII))))
    return f"[\\w{_escape(signs)}-]+"


def _recorded_texts(rule: ResponseValueRule, network: NetworkRecording) -> Iterator[tuple[Exchange, str]]:
    """Yield the URLs and bodies of responses in which a rule finds its values, each with its exchange."""
    for exchange in network.exchanges:
        response = exchange.response
        if response is None or not matches_wildcard(rule.url, url_location(response.url)):
            continue
        yield exchange, url_location(response.url)
        if response.body is not None:
            yield exchange, comparable_text(network.body(response.body))


def _stand_ins(trace: ExecutionTrace) -> Iterator[_Part]:
    known = (each.stand_in for each in trace.redaction.found if len(each.stand_in) >= MIN_SECRET_LENGTH)
    values: dict[str, str] = {}
    for stand_in in known:
        for _, encode in ENCODINGS:
            written = encode(stand_in)
            values.setdefault(written, _class_of(written))
    yield from _literals(values)


def _literals(values: dict[str, str]) -> Iterator[_Part]:
    """Yield parts for texts, the longest first, each with the pattern that opens it."""
    ordered = sorted(values, key=lambda each: (-len(each), each))
    long = [re.escape(each) for each in ordered if len(each) >= _MIN_LONG_VALUE]
    short = [re.escape(each) for each in ordered if len(each) < _MIN_LONG_VALUE]
    if long:
        yield _Part("|".join(long), values)
    if short:
        yield _Part(_within_signs("|".join(short)), values)


def _within_signs(pattern: str) -> str:
    """Return a pattern that matches no part of a word."""
    return rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])"


def _alone(pattern: str) -> str:
    """Return a pattern that may stand between others; of one that JavaScript may not have, any text."""
    if not _is_portable(pattern):
        return ".+"
    return f"(?:{pattern})" if "|" in pattern else pattern


def _dates(trace: ExecutionTrace) -> Iterator[_Part]:
    """Yield the common spellings of the day of the recording."""
    moments = [trace.started_at]
    if trace.environment is not None:
        moments.append(datetime.fromtimestamp(trace.environment.clock_start_ms / 1000, tz=UTC))
    spellings = dict.fromkeys(each for moment in moments for each in _spellings(moment))
    for each in sorted(spellings, key=lambda text: (-len(text), text)):
        opened = re.sub(r"\d+|[A-Za-z]+", lambda found: r"\d+" if found[0].isdigit() else "[A-Za-z]+", _escape(each))
        yield _Part(re.escape(each), opened)


def _spellings(moment: datetime) -> Iterable[str]:
    """Return common spellings of a date."""
    day, month, year = moment.day, moment.month, moment.year
    word = f"{moment:%b}"
    return (
        f"{moment:%Y-%m-%d}",
        *(f"{one}{mark}{two}{mark}" for mark in "/." for one, two in ((day, month), (month, day))),
        *(f"{moment:%d{mark}%m{mark}%Y}" for mark in "/.-"),
        *(f"{moment:%m{mark}%d{mark}%Y}" for mark in "/-"),
        *(f"{name} {day}, {year}" for name in (word, f"{moment:%B}", f"{word}.")),
        *(f"{day} {name} {year}" for name in (word, f"{moment:%B}")),
    )
