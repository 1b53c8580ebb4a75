"""Find the values in which two bodies differ: by JSON path, text line, or event of a stream."""

from __future__ import annotations

import hashlib
import json
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.divergence.json_diff import JsonChangeKind, diff_json
from eikon_engine.divergence.text_diff import diff_text
from eikon_engine.errors import TraceFieldError
from eikon_engine.outcome.outcomes import ValueChange
from eikon_engine.trace.json_value import canonical_json, child_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic import JsonValue

    from eikon_engine.divergence.json_diff import JsonChange

ABSENT: Final = "(absent)"
MAX_COMPARED_BYTES: Final = 2 * 1024 * 1024
"""Larger bodies, in bytes, are compared by digest alone."""
MAX_LEAVES: Final = 20
"""Maximum number of values shown of a JSON element that was added or removed."""
MAX_ALIGNED_MESSAGES: Final = 500
"""Longer sequences of messages are not aligned, since that takes quadratic time."""
EVENT_STREAM: Final = "text/event-stream"
_Pair: TypeAlias = "tuple[bytes | None, bytes | None]"
_MAX_SHOWN_LENGTH: Final = 160
_TEXT_TYPE_WORDS: Final = ("javascript", "xml", "x-www-form-urlencoded", "graphql", "csv")


def compare_values(part: str, recorded: str, live: str) -> Iterator[ValueChange]:
    """Yield a change if two values differ."""
    if recorded != live:
        yield ValueChange(part=part, recorded=shorten(recorded) or ABSENT, live=shorten(live) or ABSENT)


def diff_bodies(before: bytes, after: bytes, media_types: set[str]) -> Iterator[ValueChange]:
    """Yield the values in which two different bodies differ; one digest change if their type has no values."""
    if max(len(before), len(after)) <= MAX_COMPARED_BYTES:
        if all(_is_json(each) for each in media_types):
            try:
                yield from _json_changes(before, after)
            except (ValueError, RecursionError, TraceFieldError):
                yield from _text_changes(before, after)
            return
        if media_types == {EVENT_STREAM}:
            yield from diff_messages("event", _split_events(before), _split_events(after))
            return
        if all(_is_text(each) for each in media_types):
            yield from _text_changes(before, after)
            return
    yield ValueChange(part="body", recorded=_describe_digest(before), live=_describe_digest(after))


def diff_messages(kind: str, before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[ValueChange]:
    """Yield added, removed and changed messages of a sequence, numbered from 1 in recorded order."""
    start = _equal_prefix_length(before, after)
    end = _equal_prefix_length(before[start:][::-1], after[start:][::-1])
    for begin, pairs in _differing_runs(before[start : len(before) - end], after[start : len(after) - end]):
        for number, (recorded, live) in enumerate(pairs, start=start + begin + 1):
            yield from _message_change(f"{kind} {number}", recorded, live)


def _equal_prefix_length(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    """Return the number of equal messages at the beginning."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)))


def _differing_runs(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[tuple[int, Iterable[_Pair]]]:
    """Yield the runs of differing messages with their index; very long sequences are paired by position."""
    if max(len(before), len(after)) > MAX_ALIGNED_MESSAGES:
        yield from ((place, (pair,)) for place, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1])
        return
    for what, begin, end, first, last in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if what != "equal":
            yield begin, zip_longest(before[begin:end], after[first:last])


def _message_change(name: str, recorded: bytes | None, live: bytes | None) -> Iterator[ValueChange]:
    if recorded is None or live is None:
        yield ValueChange(part=name, recorded=_format_message(recorded), live=_format_message(live))
        return
    try:
        found = list(_json_changes(recorded, live))
    except (ValueError, RecursionError, TraceFieldError):
        found = []
    for each in found:
        yield each.model_copy(update={"part": f"{name} {each.part.removeprefix('body ')}"})
    if not found:
        yield ValueChange(part=name, recorded=_format_message(recorded), live=_format_message(live))


def _format_message(content: bytes | None) -> str:
    if content is None:
        return ABSENT
    try:
        return shorten(content.decode())
    except UnicodeDecodeError:
        return _describe_digest(content)


def _split_events(stream: bytes) -> list[bytes]:
    """Split a stream into events; of events with only data, return the data. Comments are ignored.

    https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
    """
    lines = stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events = [
        [line for line in event.split(b"\n") if line and not line.startswith(b":")] for event in lines.split(b"\n\n")
    ]
    return [_event_data(event) for event in events if event]


def _event_data(event: list[bytes]) -> bytes:
    data = [line.removeprefix(b"data:").removeprefix(b" ") for line in event if line.startswith(b"data:")]
    return b"\n".join(data if len(data) == len(event) else event)


def _json_changes(before: bytes, after: bytes) -> Iterator[ValueChange]:
    for change in diff_json(json.loads(before), json.loads(after)):
        if change.kind is JsonChangeKind.CHANGED:
            yield _json_change(change)
        elif change.kind is JsonChangeKind.ADDED:
            for path, value in _leaves(change.path, change.observed):
                yield ValueChange(part=f"body {path}", recorded=ABSENT, live=_format_value(value))
        else:
            for path, value in _leaves(change.path, change.expected):
                yield ValueChange(part=f"body {path}", recorded=_format_value(value), live=ABSENT)


def _json_change(change: JsonChange) -> ValueChange:
    part, expected, observed = f"body {change.path}", change.expected, change.observed
    if isinstance(expected, str) and isinstance(observed, str):
        if max(len(expected), len(observed)) > _MAX_SHOWN_LENGTH:  # show the first difference of two long texts
            _, expected, observed = next(diff_text(expected, observed), (0, expected, observed))
        return ValueChange(part=part, recorded=shorten(expected), live=shorten(observed))
    show = _format_value if _format_value(expected) != _format_value(observed) else canonical_json
    return ValueChange(part=part, recorded=shorten(show(expected)), live=shorten(show(observed)))


def _leaves(path: str, value: JsonValue) -> list[tuple[str, JsonValue]]:
    """Return at most `MAX_LEAVES` values inside an element, in order."""
    leaves: list[tuple[str, JsonValue]] = []
    waiting: list[tuple[str, JsonValue]] = [(path, value)]
    while waiting and len(leaves) < MAX_LEAVES:
        here, item = waiting.pop()
        if isinstance(item, dict) and item:
            waiting.extend((child_path(here, key), member) for key, member in reversed(item.items()))
        elif isinstance(item, list) and item:
            waiting.extend((child_path(here, place), item[place]) for place in reversed(range(len(item))))
        else:
            leaves.append((here, item))
    return leaves


def _text_changes(before: bytes, after: bytes) -> Iterator[ValueChange]:
    texts = before.decode("utf-8", "replace"), after.decode("utf-8", "replace")
    seen = False
    for line, recorded, live in diff_text(*texts):
        seen = True
        yield ValueChange(part=f"body line {line}", recorded=shorten(recorded) or ABSENT, live=shorten(live) or ABSENT)
    if not seen and texts[0] == texts[1]:
        yield ValueChange(part="body", recorded=_describe_digest(before), live=_describe_digest(after))


def _format_value(value: JsonValue) -> str:
    return shorten(value if isinstance(value, str) else canonical_json(value))


def shorten(text: str) -> str:
    """Shorten a long text for display, and replace lone surrogates, which files cannot hold."""
    sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not text.isascii() else text
    return sound if len(sound) <= _MAX_SHOWN_LENGTH else f"{sound[:_MAX_SHOWN_LENGTH]}… ({len(sound)} characters)"


def _describe_digest(body: bytes) -> str:
    return f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()[:16]}"


def _is_json(media_type: str) -> bool:
    return media_type == "application/json" or media_type.endswith("+json")


def _is_text(media_type: str) -> bool:
    return (
        media_type.startswith("text/") or _is_json(media_type) or any(word in media_type for word in _TEXT_TYPE_WORDS)
    )
