"""What differs between a recorded answer and a live one: values with their places, for people and for explanations."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.json_diff import ChangeKind, compare_outputs
from eikon_engine.divergence.text_diff import diff_text
from eikon_engine.errors import TraceFieldError
from eikon_engine.outcome.outcomes import ValueChange
from eikon_engine.trace.json_value import canonical_json, child_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.divergence.json_diff import OutputChange

ABSENT: Final = "(absent)"
READ_LIMIT: Final = 2 * 1024 * 1024
"""Bodies above this many bytes are compared by digest alone."""
LEAVES: Final = 20
"""Values shown of a JSON element that came or went as a whole."""
_SHOWN: Final = 160
_TEXTUAL: Final = ("javascript", "xml", "x-www-form-urlencoded", "graphql", "csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The parts of an answer that are compared."""

    url: str
    """After all redirects."""
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    """None if there is none, or it could not be read."""


def compare_answers(recorded: Answer, live: Answer) -> Iterator[ValueChange]:
    """Yield every difference that says something: URL, status, named headers, and the values inside the body."""
    yield from _changed("url", recorded.url, live.url)
    yield from _changed("status", str(recorded.status), str(live.status))
    yield from _changed("header content-type", _content_type(recorded), _content_type(live))
    yield from _changed("header location", _header(recorded, "location"), _header(live, "location"))
    yield from _changed("cookies set", _cookies(recorded), _cookies(live))
    if recorded.body is not None and live.body is not None and recorded.body != live.body:
        yield from _body_changes(recorded, live, recorded.body, live.body)


def _changed(part: str, recorded: str, live: str) -> Iterator[ValueChange]:
    if recorded != live:
        yield ValueChange(part=part, recorded=shortened(recorded) or ABSENT, live=shortened(live) or ABSENT)


def _body_changes(recorded: Answer, live: Answer, before: bytes, after: bytes) -> Iterator[ValueChange]:
    media_types = {_media_type(recorded), _media_type(live)}
    if max(len(before), len(after)) <= READ_LIMIT:
        if all(_is_json(each) for each in media_types):
            try:
                yield from _json_changes(before, after)
            except (ValueError, RecursionError, TraceFieldError):
                yield from _text_changes(before, after)
            return
        if all(_is_text(each) for each in media_types):
            yield from _text_changes(before, after)
            return
    yield ValueChange(part="body", recorded=_digest(before), live=_digest(after))


def _json_changes(before: bytes, after: bytes) -> Iterator[ValueChange]:
    for change in compare_outputs(json.loads(before), json.loads(after)):
        if change.kind is ChangeKind.CHANGED:
            yield _json_change(change)
        elif change.kind is ChangeKind.ADDED:
            for path, value in _leaves(change.path, change.observed):
                yield ValueChange(part=f"body {path}", recorded=ABSENT, live=_plain(value))
        else:
            for path, value in _leaves(change.path, change.expected):
                yield ValueChange(part=f"body {path}", recorded=_plain(value), live=ABSENT)


def _json_change(change: OutputChange) -> ValueChange:
    part, expected, observed = f"body {change.path}", change.expected, change.observed
    if isinstance(expected, str) and isinstance(observed, str):
        if max(len(expected), len(observed)) > _SHOWN:  # show the place where two long texts differ
            _, expected, observed = next(diff_text(expected, observed), (0, expected, observed))
        return ValueChange(part=part, recorded=shortened(expected), live=shortened(observed))
    show = _plain if _plain(expected) != _plain(observed) else canonical_json
    return ValueChange(part=part, recorded=shortened(show(expected)), live=shortened(show(observed)))


def _leaves(path: str, value: JsonValue) -> list[tuple[str, JsonValue]]:
    """Return the values inside an element, in their order, not more than are looked at."""
    leaves: list[tuple[str, JsonValue]] = []
    waiting: list[tuple[str, JsonValue]] = [(path, value)]
    while waiting and len(leaves) < LEAVES:
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
        yield ValueChange(
            part=f"body line {line}", recorded=shortened(recorded) or ABSENT, live=shortened(live) or ABSENT
        )
    if not seen and texts[0] == texts[1]:
        yield ValueChange(part="body", recorded=_digest(before), live=_digest(after))


def _plain(value: JsonValue) -> str:
    return shortened(value if isinstance(value, str) else canonical_json(value))


def shortened(text: str) -> str:
    """Cut a long text for display, and make it one that a file can hold."""
    sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not text.isascii() else text
    return sound if len(sound) <= _SHOWN else f"{sound[:_SHOWN]}… ({len(sound)} characters)"


def _digest(body: bytes) -> str:
    return f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()[:16]}"


def _header(answer: Answer, name: str) -> str:
    return ", ".join(value for key, value in answer.headers if key.lower() == name)


def _content_type(answer: Answer) -> str:
    """Return the content type with nothing that is only spelled otherwise."""
    return ";".join(part.strip() for part in _header(answer, "content-type").lower().replace('"', "").split(";"))


def _media_type(answer: Answer) -> str:
    return _content_type(answer).partition(";")[0]


def _cookies(answer: Answer) -> str:
    values = (value for key, value in answer.headers if key.lower() == "set-cookie")
    lines = (line for value in values for line in value.splitlines())
    return ", ".join(sorted({line.partition("=")[0].strip() for line in lines}))


def _is_json(media_type: str) -> bool:
    return media_type == "application/json" or media_type.endswith("+json")


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or _is_json(media_type) or any(word in media_type for word in _TEXTUAL)
