"""Find the recorded request most similar to one that was not recorded. It is shown in messages, never served."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl

from eikon_engine.files.blobs import BlobRef
from eikon_engine.files.text import ELLIPSIS
from eikon_engine.network.keys import BODY_MARK, CanonicalRequest, canonical_request, is_json
from eikon_engine.network.rules import TIMESTAMP
from eikon_engine.outcome.outcomes import RequestDifference, shorten_value
from eikon_engine.secrets.redaction import strip_encodings

if TYPE_CHECKING:
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.outcome.outcomes import DifferingPart

MAX_PARSED_BYTES: Final = 64 * 1024
"""Larger bodies, in bytes, are not parsed."""
MAX_FIELDS: Final = 200
"""Maximum number of fields that are extracted."""


def body_fields(body: bytes | None, media_type: str) -> dict[str, str]:
    """Return the values of a JSON body by path (`$.items[0].id`), or of a form by field; empty for other bodies.

    Scripts also send JSON as plain text.
    """
    if body is None or len(body) > MAX_PARSED_BYTES:
        return {}
    try:
        if media_type == "application/x-www-form-urlencoded":
            return pair_fields(parse_qsl(body.decode(), keep_blank_values=True)[:MAX_FIELDS])
        if is_json(media_type) or body.lstrip().startswith((b"{", b"[")):
            return _json_leaves(json.loads(body))
    except (ValueError, RecursionError):
        return {}
    return {}


def pair_fields(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return the values of pairs by name; repeated names get an index (`name[1]`)."""
    fields: dict[str, str] = {}
    seen: dict[str, int] = {}
    for name, value in pairs:
        count = seen.get(name, 0)
        seen[name] = count + 1
        fields[f"{name}[{count}]" if count else name] = value
    return fields


def _json_leaves(document: object) -> dict[str, str]:
    leaves: dict[str, str] = {}
    waiting: list[tuple[str, object]] = [("$", document)]
    while waiting and len(leaves) < MAX_FIELDS:
        path, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting.extend((f"{path}.{name}", member) for name, member in sorted(value.items(), reverse=True))
        elif isinstance(value, list) and value:
            waiting.extend((f"{path}[{place}]", value[place]) for place in reversed(range(len(value))))
        else:
            leaves[path] = json.dumps(value, ensure_ascii=False)
    return leaves


BodyReader: TypeAlias = Callable[[BlobRef], bytes]

MAX_DETAILED_CANDIDATES: Final = 5
"""Number of best candidates that are compared in detail."""
MAX_PATH_LENGTH: Final = 500
"""Maximum number of characters of a path that are compared."""
MAX_QUERY_PAIRS: Final = 100
MAX_SHOWN_PARTS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestRequest:
    """How a recorded request and the requested one agree and differ."""

    exchange: Exchange
    reason: str
    """Why the recorded request was not served, in one clause."""
    equal_parts: tuple[str, ...]
    """Equal parts, such as `method POST` or `query page`."""
    differences: tuple[RequestDifference, ...]
    """Different parts."""
    more_differences: int = 0
    """Number of different parts that are not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestShape:
    method: str
    site: str
    path: str
    segments: tuple[str, ...]
    query: dict[str, str]
    digest: str


class RequestIndex:
    """Search the recorded requests for the nearest one."""

    def __init__(self, exchanges: tuple[Exchange, ...], read_body: BodyReader | None) -> None:
        """Index the requests; without `read_body`, bodies are compared by digest only."""
        self._read_body = read_body
        shapes: dict[str, _RequestShape] = {}
        self._entries = [
            (shapes.setdefault(exchange.key, _shape_of_key(exchange.key)), exchange) for exchange in exchanges
        ]

    def find(self, sent: CanonicalRequest, served: Collection[int]) -> NearestRequest | None:
        """Return the most similar request, preferring those not in `served` (ordinals); None if none is similar."""
        shape = _shape_of_key(sent.key)
        scores: dict[str, float] = {}
        ranked = []
        for place, (recorded, exchange) in enumerate(self._entries):
            score = scores.get(exchange.key)
            if score is None:
                score = scores[exchange.key] = _score(shape, recorded)
            if score > 0:
                ranked.append((score, exchange.ordinal not in served, -exchange.ordinal, place))
        if not ranked:
            return None
        best = max(
            heapq.nlargest(MAX_DETAILED_CANDIDATES, ranked),
            key=lambda rank: (self._detailed_score(rank, sent, shape), rank),
        )
        return self._compare(best[3], sent, shape)

    def _detailed_score(
        self, rank: tuple[float, bool, int, int], sent: CanonicalRequest, shape: _RequestShape
    ) -> float:
        recorded, exchange = self._entries[rank[3]]
        letters = SequenceMatcher(None, recorded.path[:MAX_PATH_LENGTH], shape.path[:MAX_PATH_LENGTH], autojunk=False)
        ours, theirs = self._recorded_fields(exchange), body_fields(sent.body, sent.media_type)
        return rank[0] + 2 * letters.ratio() + 3 * _overlap(ours, theirs)

    def _recorded_fields(self, exchange: Exchange) -> dict[str, str]:
        ref = exchange.request.body
        if ref is None or self._read_body is None:
            return {}
        return _fields(exchange, self._read_body(ref))

    def _recorded_body(self, exchange: Exchange) -> bytes | None:
        ref = exchange.request.body
        if ref is None or self._read_body is None or ref.size > MAX_PARSED_BYTES:
            return None
        return _canonical(exchange, strip_encodings(self._read_body(ref))).body

    def _compare(self, place: int, sent: CanonicalRequest, shape: _RequestShape) -> NearestRequest:
        recorded, exchange = self._entries[place]
        equal_parts: list[str] = []
        differences: list[RequestDifference] = []
        parts: tuple[DifferingPart, ...] = ("method", "site", "path")
        for part in parts:
            ours, theirs = getattr(recorded, part), getattr(shape, part)
            if ours == theirs:
                equal_parts.append(f"{part} {shorten_value(ours)}")
            else:
                differences.append(RequestDifference.shortened(part, "", ours, theirs))
        _compare_fields("query", recorded.query, shape.query, equal_parts, differences)
        if recorded.digest == shape.digest:
            equal_parts.extend(["body"] if shape.digest else [])
        else:
            ours, theirs = self._recorded_fields(exchange), body_fields(sent.body, sent.media_type)
            known = len(differences)
            differences.extend(_time_differences(self._recorded_body(exchange), sent.body))
            if len(differences) == known:
                _compare_fields("body", ours, theirs, equal_parts, differences)
            if len(differences) == known or max(len(ours), len(theirs)) >= MAX_FIELDS:
                differences.append(RequestDifference(part="body", recorded=_digest(recorded), sent=_digest(shape)))
        places = ", ".join(dict.fromkeys(each.place for each in differences[:MAX_SHOWN_PARTS]))
        return NearestRequest(
            exchange=exchange,
            reason=f"it was not recorded; the nearest recorded request differs in {places or 'how its URL is written'}",
            equal_parts=_shorten(equal_parts),
            differences=tuple(differences[:MAX_SHOWN_PARTS]),
            more_differences=max(0, len(differences) - MAX_SHOWN_PARTS),
        )


def _fields(exchange: Exchange, body: bytes) -> dict[str, str]:
    canonical = _canonical(exchange, body)
    return body_fields(canonical.body, canonical.media_type)


def _canonical(exchange: Exchange, body: bytes) -> CanonicalRequest:
    content_type = {name.lower(): value for name, value in exchange.request.headers}.get("content-type")
    return canonical_request(exchange.request.method, exchange.request.url, body, content_type)


def _time_differences(recorded: bytes | None, requested: bytes | None) -> tuple[RequestDifference, ...]:
    """Describe the differences if two bodies differ only in times."""
    if recorded is None or requested is None or TIMESTAMP.split(recorded) != TIMESTAMP.split(requested):
        return ()
    ours, theirs = (TIMESTAMP.findall(body) for body in (recorded, requested))
    pairs = dict.fromkeys(pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1])
    return tuple(RequestDifference(part="times", recorded=one.decode(), sent=other.decode()) for one, other in pairs)


def _shape_of_key(key: str) -> _RequestShape:
    rest, _, digest = key.partition(BODY_MARK)
    method, _, url = rest.partition(" ")
    location, _, query = url.partition("?")
    scheme, _, remainder = location.partition("://")
    authority, slash, path = remainder.partition("/")
    pairs = [part.partition("=")[::2] for part in query.split("&", MAX_QUERY_PAIRS)[:MAX_QUERY_PAIRS] if part]
    return _RequestShape(
        method=method,
        site=f"{scheme}://{authority}" if remainder else scheme,
        path=slash + path,
        segments=tuple(path.split("/")),
        query=pair_fields(list(pairs)),
        digest=digest,
    )


def _score(sent: _RequestShape, recorded: _RequestShape) -> float:
    """Return a similarity score of two requests; 0 if neither their site nor their path is equal."""
    same_path = sent.path == recorded.path
    if sent.site != recorded.site and not (same_path and sent.path != "/"):
        return 0.0
    score = 4.0 * (sent.site == recorded.site) + 2.0 * (sent.method == recorded.method)
    score += 8.0 if same_path else 6.0 * _common_segments(sent.segments, recorded.segments)
    return score + 3.0 * _overlap(recorded.query, sent.query) + 3.0 * (sent.digest == recorded.digest)


def _common_segments(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Return the share of path segments that are equal, counted from both ends."""
    shorter = min(len(one), len(other))
    front = 0
    while front < shorter and one[front] == other[front]:
        front += 1
    back = 0
    while back < shorter - front and one[-1 - back] == other[-1 - back]:
        back += 1
    return (front + back) / max(len(one), len(other))


def _overlap(one: dict[str, str], other: dict[str, str]) -> float:
    """Return 1 for equal fields, two thirds for equal names with different values, 0 for nothing in common."""
    if one == other:
        return 1.0
    names = one.keys() | other.keys()
    shared = one.keys() & other.keys()
    equal = sum(one[name] == other[name] for name in shared)
    return (2 * len(shared) + equal) / (3 * len(names))


def _compare_fields(
    part: DifferingPart,
    recorded: dict[str, str],
    requested: dict[str, str],
    equal_parts: list[str],
    differences: list[RequestDifference],
) -> None:
    for name in recorded | requested:
        ours, theirs = recorded.get(name), requested.get(name)
        if ours == theirs:
            equal_parts.append(f"{part} {shorten_value(name)}")
        else:
            differences.append(RequestDifference.shortened(part, name, ours, theirs))


def _digest(shape: _RequestShape) -> str | None:
    return f"sha256 {shape.digest[:12]}{ELLIPSIS}" if shape.digest else None


def _shorten(lines: list[str]) -> tuple[str, ...]:
    more = len(lines) - MAX_SHOWN_PARTS
    return tuple(lines) if more <= 0 else (*lines[:MAX_SHOWN_PARTS], f"and {more} more")
