"""Apply rules to requests: the parts that they name are blanked, so that requests that differ only there match.

A rule ignores a value, not its presence: a request without the part does not match.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote, unquote_plus

from eikon_engine.files.text import read_digits
from eikon_engine.network.keys import (
    BODY_MARK,
    BOUNDARY,
    CANONICAL_JSON_LIMIT,
    CanonicalRequest,
    canonical_method,
    canonical_request,
    canonical_url,
    read_json,
    write_json,
)
from eikon_engine.secrets.redaction import strip_encodings
from eikon_engine.trace.rules import (
    FormFieldRule,
    HeaderRule,
    JsonPathRule,
    PathSegmentRule,
    QueryKeyRule,
    QueryStampRule,
    TelemetryRule,
    TimestampRule,
    matches_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.nearest import BodyReader
    from eikon_engine.trace.rules import VolatileRule

_PATH_STEP: Final = re.compile(r'\.([^.\[\]"]+)|\[([0-9]+)\]|(\[\*\])|\[("[^"\\]+")\]')


class Wildcard(Enum):
    """Wildcard steps of a path."""

    KEY = auto()
    INDEX = auto()


PathStep: TypeAlias = str | int | Wildcard


@cache
def parse_json_path(path: str) -> tuple[PathStep, ...]:
    """Parse a path in the syntax of `JsonPathRule.path`."""
    steps: list[PathStep] = []
    for found in _PATH_STEP.finditer(path):
        name, index, any_index, quoted = found.groups()
        if any_index:
            steps.append(Wildcard.INDEX)
        elif index:
            steps.append(read_digits(index))
        elif quoted:
            steps.append(json.loads(quoted))
        else:
            steps.append(Wildcard.KEY if name == "*" else name)
    return tuple(steps)


def set_null(document: object, path: str, pattern: str | None = None) -> bool:
    """Set every value at the path that matches the pattern to null, in place; return whether there was one.

    Without a pattern, every value matches.
    """
    *parents, last = parse_json_path(path)
    places = [document]
    for step in parents:
        places = [place[key] for place in places for key in _matching_keys(place, step)]  # type: ignore[index] # has the key
    found = False
    for place in places:
        for key in _matching_keys(place, last):
            value = place[key]  # type: ignore[index] # as above
            if pattern is None or (isinstance(value, str) and matches_pattern(pattern, value)):
                place[key] = None  # type: ignore[index] # as above
                found = True
    return found


def _matching_keys(place: object, step: PathStep) -> tuple[str | int, ...]:
    """Return the keys or indices of a value that a step matches."""
    if isinstance(place, dict):
        if step is Wildcard.KEY:
            return tuple(place)
        return (step,) if isinstance(step, str) and step in place else ()
    if isinstance(place, list):
        if step is Wildcard.INDEX:
            return tuple(range(len(place)))
        return (step,) if isinstance(step, int) and step < len(place) else ()
    return ()


SOCKET_METHOD: Final = "WEBSOCKET"
URLENCODED: Final = "application/x-www-form-urlencoded"

_BARE_TIMESTAMP: Final = re.compile(r"(^|&)[0-9]{9,17}(?=&|$)")
"""A bare query parameter that is a number with the length of a timestamp in seconds to microseconds."""
TIMESTAMP: Final = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
"""A date with a time of day, as in ISO 8601."""
_TIME_REPLACEMENT: Final = b"\x00time\x00"
"""Replacement for a time; cannot occur in the text of a page."""
_PART_NAME: Final = re.compile(rb'content-disposition:[^\r\n]*[;\s]name="([^"]*)"', re.IGNORECASE)
_IGNORED_SEGMENT: Final = "\x00"
"""Replacement for a segment of a path; cannot occur in a URL."""
_ESCAPED: Final = ((b"%22", b'"'), (b"%0D", b"\r"), (b"%0A", b"\n"))
"""How forms escape characters in part names: https://html.spec.whatwg.org/#multipart-form-data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankedRequest:
    """A request after blanking the parts that rules ignore."""

    key: str
    """Equal for two requests that differ only in the ignored parts."""
    rules: tuple[VolatileRule, ...]
    """Rules that found their part, in the order of declaration, without header rules."""


def applicable_rules(method: str, url: str, rules: Iterable[VolatileRule]) -> tuple[VolatileRule, ...]:
    """Return the rules for a canonical method and URL."""
    location = url.partition("?")[0]
    return tuple(
        rule
        for rule in rules
        if (rule.method is None or canonical_method(rule.method) == method) and _glob(rule.url).fullmatch(location)
    )


def has_telemetry_rule(rules: Iterable[VolatileRule]) -> bool:
    """Return whether some requests are not compared."""
    return any(isinstance(rule, TelemetryRule) for rule in rules)


def find_telemetry_rule(key: str, rules: Iterable[VolatileRule]) -> TelemetryRule | None:
    """Return the rule by which a request is not compared; None if it is. `key` is that of the request."""
    candidates = [rule for rule in rules if isinstance(rule, TelemetryRule)]
    if not candidates:
        return None
    method, _, url = key.partition(BODY_MARK)[0].partition(" ")
    found = applicable_rules(method, url, candidates)
    return found[0] if found and isinstance(found[0], TelemetryRule) else None


def blank_request(request: CanonicalRequest, rules: Iterable[VolatileRule]) -> BlankedRequest:
    """Blank the parts of a request that rules ignore."""
    fitting = applicable_rules(request.method, request.url, rules)
    if (telemetry := find_telemetry_rule(request.key, fitting)) is not None:
        return _blank_all(request.key, telemetry)
    url, of_query = _blank_url(request.url, fitting)
    body, of_body = _blank_body(request, fitting)
    used = {*of_query, *of_body}
    return BlankedRequest(
        key=replace(request, url=url, body=body).key, rules=tuple(rule for rule in fitting if rule in used)
    )


def recorded_request(exchange: Exchange, read_body: BodyReader | None) -> CanonicalRequest | None:
    """Return the recorded request of an exchange; None if its body is too large to compare, or cannot be read."""
    ref, method, url = exchange.request.body, exchange.request.method, exchange.request.url
    content_type = {name.lower(): value for name, value in exchange.request.headers}.get("content-type")
    if ref is not None and (read_body is None or ref.size > CANONICAL_JSON_LIMIT):
        return None
    body = None if ref is None or read_body is None else strip_encodings(read_body(ref))
    return canonical_request(method, url, body, content_type)


def blank_exchange(exchange: Exchange, rules: Iterable[VolatileRule], read_body: BodyReader | None) -> BlankedRequest:
    """Blank the parts of a recorded request that rules ignore; the body is read only if a rule needs it."""
    head, mark, digest = exchange.key.partition(BODY_MARK)
    method, _, url = head.partition(" ")
    fitting = applicable_rules(method, url, rules)
    if (telemetry := find_telemetry_rule(exchange.key, fitting)) is not None:
        return _blank_all(exchange.key, telemetry)
    ref = exchange.request.body
    if ref is not None and read_body is not None and any(_needs_body(rule) for rule in fitting):
        content_type = {name.lower(): value for name, value in exchange.request.headers}.get("content-type")
        body = strip_encodings(read_body(ref))
        return blank_request(canonical_request(method, url, body, content_type), fitting)
    blanked, used = _blank_url(url, fitting)
    return BlankedRequest(key=f"{method} {blanked}{mark}{digest}", rules=used)


def _blank_all(key: str, rule: TelemetryRule) -> BlankedRequest:
    """Blank the query and the body."""
    return BlankedRequest(key=key.partition(BODY_MARK)[0].partition("?")[0], rules=(rule,))


def blank_message(url: str, content: bytes, rules: Iterable[VolatileRule]) -> tuple[bytes, tuple[VolatileRule, ...]]:
    """Blank the parts of a WebSocket message that rules ignore; unchanged if no rule finds its part."""
    fitting = applicable_rules(SOCKET_METHOD, canonical_url(url), rules)
    body, used = _blank_json(content, fitting)
    plain, timed = _blank_times(body, fitting)
    return (plain, (*used, *timed)) if used or timed else (content, ())


def blank_socket_url(url: str, rules: Iterable[VolatileRule]) -> tuple[str, tuple[VolatileRule, ...]]:
    """Return the canonical URL of a WebSocket with the query parts that rules ignore blanked, and those rules."""
    plain = canonical_url(url)
    return _blank_url(plain, applicable_rules(SOCKET_METHOD, plain, rules))


def header_rules(method: str, url: str, rules: Iterable[VolatileRule]) -> tuple[HeaderRule, ...]:
    """Return the header rules for a canonical method and URL."""
    return tuple(rule for rule in applicable_rules(method, url, rules) if isinstance(rule, HeaderRule))


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def _needs_body(rule: VolatileRule) -> bool:
    return isinstance(rule, JsonPathRule | FormFieldRule | TimestampRule)


def _blank_url(url: str, rules: tuple[VolatileRule, ...]) -> tuple[str, tuple[VolatileRule, ...]]:
    by_name = [rule for rule in rules if isinstance(rule, QueryKeyRule)]
    location, mark, query = url.partition("?")
    location, segments = _blank_segments(location, [rule for rule in rules if isinstance(rule, PathSegmentRule)])
    query, named = _blank_pairs(query, by_name)
    stamps = [rule for rule in rules if isinstance(rule, QueryStampRule)]
    query, count = _BARE_TIMESTAMP.subn(r"\1", query) if stamps else (query, 0)
    used = {*named, *segments, *(stamps if count else ())}
    return location + mark + query, tuple(rule for rule in rules if rule in used)


def _blank_segments(location: str, rules: Sequence[PathSegmentRule]) -> tuple[str, set[VolatileRule]]:
    site, segments = split_path(location)
    used = [
        rule
        for rule in rules
        if rule.position < len(segments) and matches_pattern(rule.pattern, unquote(segments[rule.position]))
    ]
    for rule in used:
        segments[rule.position] = _IGNORED_SEGMENT
    return "/".join((site, *segments)) if used else location, set(used)


def split_path(location: str) -> tuple[str, list[str]]:
    """Split a URL without query into its origin and the segments of its path."""
    scheme, mark, rest = location.partition("://")
    site, *segments = rest.split("/") if mark else scheme.split("/")
    return f"{scheme}://{site}" if mark else site, segments


def _blank_pairs(text: str, rules: Sequence[QueryKeyRule | FormFieldRule]) -> tuple[str, set[VolatileRule]]:
    """Empty the values that rules ignore in `a=1&b=2`; also return the rules that were used."""
    used: set[VolatileRule] = set()
    pairs = []
    for pair in text.split("&"):
        written, _, value = pair.partition("=")
        name = unquote_plus(written)
        fitting = [
            rule for rule in rules if pair and rule.name == name and matches_pattern(rule.pattern, unquote_plus(value))
        ]
        used.update(fitting)
        pairs.append(f"{written}=" if fitting else pair)
    return "&".join(pairs), used


def _blank_body(
    request: CanonicalRequest, rules: tuple[VolatileRule, ...]
) -> tuple[bytes | None, tuple[VolatileRule, ...]]:
    if request.body is None:
        return None, ()
    if request.media_type == URLENCODED:
        body, used = _blank_form(request.body, rules)
    elif request.media_type.startswith("multipart/"):
        body, used = _blank_multipart(request.body, rules)
    else:
        body, used = _blank_json(request.body, rules)
    plain, timed = _blank_times(body, rules)
    return plain, (*used, *timed)


def _blank_times(body: bytes, rules: tuple[VolatileRule, ...]) -> tuple[bytes, tuple[VolatileRule, ...]]:
    by_time = tuple(rule for rule in rules if isinstance(rule, TimestampRule))
    if not by_time:
        return body, ()
    plain, count = TIMESTAMP.subn(_TIME_REPLACEMENT, body)
    return plain, by_time if count else ()


def _blank_json(body: bytes, rules: tuple[VolatileRule, ...]) -> tuple[bytes, tuple[VolatileRule, ...]]:
    """Blank values of a JSON text, whatever its media type, since scripts also send JSON as plain text."""
    by_path = [rule for rule in rules if isinstance(rule, JsonPathRule)]
    if not by_path or len(body) > CANONICAL_JSON_LIMIT or not body.lstrip().startswith((b"{", b"[")):
        return body, ()
    try:
        document = read_json(body)
        used = tuple([rule for rule in by_path if set_null(document, rule.path, rule.pattern)])
        return (write_json(document), used) if used else (body, ())
    except (ValueError, RecursionError):
        return body, ()


def _blank_form(body: bytes, rules: tuple[VolatileRule, ...]) -> tuple[bytes, tuple[VolatileRule, ...]]:
    by_name = [rule for rule in rules if isinstance(rule, FormFieldRule)]
    text, used = _blank_pairs(body.decode(errors="surrogateescape"), by_name)
    return text.encode(errors="surrogateescape"), tuple(rule for rule in by_name if rule in used)


def _blank_multipart(body: bytes, rules: tuple[VolatileRule, ...]) -> tuple[bytes, tuple[VolatileRule, ...]]:
    by_name = [rule for rule in rules if isinstance(rule, FormFieldRule)]
    used: set[VolatileRule] = set()
    delimiter = b"--" + BOUNDARY
    first, *parts = body.split(delimiter) if by_name else [body]
    for place, each in enumerate(parts):
        head, gap, value = each.partition(b"\r\n\r\n")
        name = part_name(head)
        text = value.removesuffix(b"\r\n").decode(errors="surrogateescape")
        fitting = [rule for rule in by_name if rule.name.encode() == name and matches_pattern(rule.pattern, text)]
        if gap and fitting:
            used.update(fitting)
            parts[place] = head + gap + b"\r\n"
    parts.insert(0, first)
    return delimiter.join(parts), tuple(rule for rule in by_name if rule in used)


def part_name(head: bytes) -> bytes:
    """Return the name of a part of a multipart body; empty if it has none."""
    found = _PART_NAME.search(head)
    name = found[1] if found is not None else b""
    for written, meant in _ESCAPED:
        name = name.replace(written, meant)
    return name
