"""Compare a recorded response with a live one: URL, status, headers, and values inside the body.

Body values are located by JSON path, text line, or event of a stream.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.errors import TraceFieldError
from eikon_engine.files.json_text import canonical_json, child_path
from eikon_engine.files.text import differing_part, excerpt, pluralize
from eikon_engine.outcome.json_diff import JsonChangeKind, diff_json
from eikon_engine.outcome.outcomes import ValueChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import JsonValue

    from eikon_engine.outcome.json_diff import JsonChange
    from eikon_engine.outcome.outcomes import ResponseChange

_PIECES: Final = re.compile(r"<[^<>\n]*>|[^<\n]+|<|\n")
"""Tags, texts between them, and line ends, so that single-line HTML is split as well."""
_ALIGNABLE_PAIRS: Final = 1_000_000
"""Longer differing parts are not aligned, since that would take seconds."""
_TAG_PARTS: Final = re.compile(r"""[^\s"'=<>]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?""")
"""The name of a tag, and its attributes."""
_VALUE_END: Final = "<>\"'\n"
_VALUE_REACH: Final = 60
"""Maximum number of unchanged characters shown on each side of a difference."""


def diff_text(recorded: str, live: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line in the recorded text, the recorded value and the live value of each difference.

    An empty value is absent. Line ends and white space at the ends of lines are ignored.
    """
    before, after = _split_pieces(recorded), _split_pieces(live)
    left, right = [text for _, text in before], [text for _, text in after]
    start = _common_prefix_length(left, right)
    end = _common_prefix_length(left[start:][::-1], right[start:][::-1])
    middle = before[start : len(before) - end], after[start : len(after) - end]
    if not middle[0] and not middle[1]:
        return
    line = before[min(start, len(before) - 1)][0] if before else 1
    if len(middle[0]) * len(middle[1]) > _ALIGNABLE_PAIRS:
        yield line, f"{len(middle[0])} pieces of text", f"{len(middle[1])} different pieces of text"
        return
    yield from _diff_pieces(middle[0], middle[1], line)


def _diff_pieces(
    before: Sequence[tuple[int, str]], after: Sequence[tuple[int, str]], line: int
) -> Iterator[tuple[int, str, str]]:
    left, right = [text for _, text in before], [text for _, text in after]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        if tag == "equal":
            continue
        here = before[left_from][0] if left_from < len(before) else before[-1][0] if before else line
        if left_to - left_from == right_to - right_from:
            for (number, one), (_, other) in zip(before[left_from:left_to], after[right_from:right_to], strict=True):
                yield from ((number, *values) for values in _differing_values(one, other))
        else:
            yield here, " ".join(left[left_from:left_to]), " ".join(right[right_from:right_to])


def _split_pieces(text: str) -> list[tuple[int, str]]:
    pieces = []
    line = 1
    for found in _PIECES.finditer(text):
        if found[0] == "\n":
            line += 1
        elif stripped := found[0].strip():
            pieces.append((line, stripped))
    return pieces


def _differing_values(recorded: str, live: str) -> Iterator[tuple[str, str]]:
    """Yield the values in which two pieces differ; tags are compared attribute by attribute."""
    if recorded.startswith("<") and live.startswith("<"):
        before, after = _TAG_PARTS.findall(recorded), _TAG_PARTS.findall(live)
        if before != after and len(before) == len(after):
            yield from (_narrow_to_value(one, other) for one, other in zip(before, after, strict=True) if one != other)
            return
    if recorded != live:
        yield _narrow_to_value(recorded, live)


def _narrow_to_value(recorded: str, live: str) -> tuple[str, str]:
    """Reduce two pieces to the values that differ, extended to the next tag or quotation mark.

    Of a longer text, whole words of the surroundings are kept, if it has white space there.
    """
    start = _common_prefix_length(recorded, live)
    end = _common_prefix_length(recorded[start:][::-1], live[start:][::-1])
    left = start
    while left > 0 and start - left < _VALUE_REACH and recorded[left - 1] not in _VALUE_END:
        left -= 1
    right = end
    while right > 0 and end - right < _VALUE_REACH and recorded[len(recorded) - right] not in _VALUE_END:
        right -= 1
    if left > 0 and recorded[left - 1] not in _VALUE_END:
        left = next((place for place in range(left, start) if recorded[place - 1].isspace()), left)
    if right > 0 and recorded[len(recorded) - right] not in _VALUE_END:
        right = next((place for place in range(right, end) if recorded[len(recorded) - place].isspace()), right)
    return recorded[left : len(recorded) - right].strip(), live[left : len(live) - right].strip()


def _common_prefix_length(left: Sequence[str], right: Sequence[str]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length


ABSENT: Final = "(absent)"
SIGN_IN_PART: Final = "sign-in form"
"""`ValueChange.part` of a response that is a page to sign in, where the recorded one was none."""
ERROR_TEXT_PART: Final = "error text"
"""`ValueChange.part` of what an error page or a plain text says went wrong."""
REDIRECT_PART: Final = "header location"
"""`ValueChange.part` of where a response redirects to."""
WITHHELD_ENDING: Final = "net::ERR_FAILED (withheld by CORS)"
"""How a request ended if the browser's console says that its page may not read the response it was redirected to."""
FIRST_ERROR_STATUS: Final = 400
DATA_PART: Final = re.compile(r"body \$|(?:message|event) \d")
"""Start of `ValueChange.part` for data, as opposed to markup and scripts."""
ENDING_PARTS: Final = frozenset({"status", "ending"})
"""Parts of a response change that say how a request ended."""
MAX_COMPARED_BYTES: Final = 2 * 1024 * 1024
"""Larger bodies, in bytes, are compared by digest alone."""
MAX_LEAVES: Final = 20
"""Maximum number of values shown of a JSON element that was added or removed."""
MAX_ALIGNED_MESSAGES: Final = 500
"""Longer sequences of messages are not aligned, since that takes quadratic time."""
EVENT_STREAM: Final = "text/event-stream"
_MAX_SHOWN_LENGTH: Final = 160
_TEXT_TYPE_WORDS: Final = ("javascript", "xml", "x-www-form-urlencoded", "graphql", "csv")


def compare_values(part: str, recorded: str, live: str) -> Iterator[ValueChange]:
    """Yield a change if two values differ."""
    if recorded != live:
        yield _value_change(part, recorded, live)


def _value_change(part: str, recorded: str, live: str, absent: str = ABSENT) -> ValueChange:
    """Return a changed value; of long texts, the surroundings of the first difference. `absent` is an empty side."""
    before, now = _sound(recorded), _sound(live)
    start, stop = differing_part(before, now, _MAX_SHOWN_LENGTH)
    return ValueChange(part=part, recorded=_cut(before, start, stop) or absent, live=_cut(now, start, stop) or absent)


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
    yield ValueChange(part="body", recorded=_describe_size(before), live=_describe_other(after))


def diff_messages(kind: str, before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[ValueChange]:
    """Yield added, removed and changed messages of a sequence, numbered from 1."""
    for place, other in pair_messages(before, after):
        yield from compare_message(message_name(kind, place, other), *sides_of_pair(before, after, (place, other)))


def message_name(kind: str, place: int | None, other: int | None) -> str:
    """Return the name of a message: its kind and its number in the recording, or else in the replay, from 1."""
    number = place if place is not None else other
    return f"{kind} {(number or 0) + 1}"


def sides_of_pair(before: Sequence[bytes], after: Sequence[bytes], pair: MessagePair) -> tuple[bytes | None, ...]:
    """Return the two messages of a pair; None for one that is absent."""
    return tuple(None if place is None else side[place] for side, place in zip((before, after), pair, strict=True))


MessagePair: TypeAlias = "tuple[int | None, int | None]"
"""Places of a recorded and a live message, from 0; None for one that is absent."""


def pair_messages(before: Sequence[bytes], after: Sequence[bytes]) -> list[MessagePair]:
    """Pair the messages of two sequences, and return the pairs that differ.

    Messages that differ only in numbers and texts are pairs, as far as the order allows. Of messages that are merely in
    another place, only two equal sets are compared, place by place. So are very long sequences.
    """
    start = _equal_prefix_length(before, after)
    end = _equal_prefix_length(before[start:][::-1], after[start:][::-1])
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(left), len(right)) > MAX_ALIGNED_MESSAGES or Counter(left) == Counter(right):
        places = zip_longest(range(len(left)), range(len(right)))
        found = [pair for pair in places if None in pair or left[pair[0]] != right[pair[1]]]
    else:
        found = _without_moved(left, right, _aligned_messages(left, right))
    return [(None if one is None else one + start, None if two is None else two + start) for one, two in found]


def _equal_prefix_length(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    """Return the number of equal messages at the beginning."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)))


def _aligned_messages(before: Sequence[bytes], after: Sequence[bytes]) -> list[MessagePair]:
    """Align equal messages; between them, messages of the same shape, and the others by their place."""
    found: list[MessagePair] = []
    for what, begin, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        shapes = list(map(_message_shape, before[begin:end])), list(map(_message_shape, after[first:last]))
        for _, start, stop, low, high in SequenceMatcher(None, *shapes, autojunk=False).get_opcodes():
            found.extend(zip_longest(range(begin + start, begin + stop), range(first + low, first + high)))
    return found


def _without_moved(before: Sequence[bytes], after: Sequence[bytes], pairs: list[MessagePair]) -> list[MessagePair]:
    """Drop the messages without a partner that both sides have."""
    gone = Counter(before[one] for one, other in pairs if one is not None and other is None)
    moved = gone & Counter(after[other] for one, other in pairs if one is None and other is not None)
    dropped: set[MessagePair] = set()
    for is_live in (False, True):
        left = moved.copy()
        for one, other in pairs:
            place = other if is_live else one
            if place is None or (one if is_live else other) is not None:
                continue
            content = (after if is_live else before)[place]
            if left[content] > 0:
                left[content] -= 1
                dropped.add((one, other))
    return [pair for pair in pairs if pair not in dropped]


_KIND: Final = re.compile(r"[A-Za-z][A-Za-z_.:/-]{0,39}")
"""Values that say what kind of message it is, such as `chat.posted`: a word without digits and blanks."""


def _message_shape(content: bytes) -> str:
    """Return a JSON message with its members and kinds only; all other messages have the same shape."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return type(value).__name__
    kinds = {key: each if isinstance(each, str) and _KIND.fullmatch(each) else "" for key, each in value.items()}
    return json.dumps(kinds, sort_keys=True)


def compare_message(name: str, recorded: bytes | None, live: bytes | None) -> Iterator[ValueChange]:
    """Yield the values in which two messages differ; of one that the other side lacks, all values."""
    if recorded is None or live is None:
        yield from _values_of_message(name, recorded, live)
        return
    try:
        found = list(_json_changes(recorded, live))
    except (ValueError, RecursionError, TraceFieldError):
        found = []
    for each in found:
        yield each.model_copy(update={"part": f"{name} {each.part.removeprefix('body ')}"})
    if not found:
        yield _changed_message(name, recorded, live)


def _values_of_message(name: str, recorded: bytes | None, live: bytes | None) -> Iterator[ValueChange]:
    try:
        value = json.loads((live if recorded is None else recorded) or b"")
        is_shown_whole = not isinstance(value, dict | list) or not value
        leaves = [] if is_shown_whole else [(path, _format_value(leaf)) for path, leaf in _leaves("$", value)]
    except (ValueError, RecursionError, TraceFieldError):  # such as NaN, which Python parses and JSON lacks
        leaves = []
    if not leaves:
        yield ValueChange(part=name, recorded=_format_message(recorded), live=_format_message(live))
    for path, shown in leaves:
        sides = (ABSENT, shown) if recorded is None else (shown, ABSENT)
        yield ValueChange(part=_sound(f"{name} {path}"), recorded=sides[0], live=sides[1])


def missing_message(name: str, recorded: bytes, wait: str) -> Iterator[ValueChange]:
    """Yield the values of a recorded message that a live server has not sent; `wait` is from `describe_wait`."""
    for each in compare_message(name, recorded, None):
        yield each.model_copy(update={"live": wait})


def describe_wait(waited_ms: float) -> str:
    """Say, in place of a message, that a server has sent none within a time in milliseconds: in whole seconds."""
    seconds = int(waited_ms / 1000)
    return f"none within {seconds} s" if seconds else "none so far"


_NOT_SENT: Final = re.compile(r"none (?:within \d+ s|so far)")


def is_missing_message(change: ResponseChange) -> bool:
    """Return whether a change is a message that a live server has not sent."""
    return any(_NOT_SENT.fullmatch(each.live) for each in change.what)


def is_absent(side: str) -> bool:
    """Return whether a side of a value says that there is none."""
    return side == ABSENT or _NOT_SENT.fullmatch(side) is not None


def _changed_message(name: str, recorded: bytes, live: bytes) -> ValueChange:
    try:
        before, now = recorded.decode(), live.decode()
    except UnicodeDecodeError:
        shown, other = _format_message(recorded), _format_message(live)
        return ValueChange(part=name, recorded=shown, live=_describe_other(live) if other == shown else other)
    return _value_change(name, before, now, absent="")


def _format_message(content: bytes | None) -> str:
    if content is None:
        return ABSENT
    try:
        return shorten_value(content.decode())
    except UnicodeDecodeError:
        return _describe_size(content)


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
                yield ValueChange(part=_sound(f"body {path}"), recorded=ABSENT, live=_format_value(value))
        else:
            for path, value in _leaves(change.path, change.expected):
                yield ValueChange(part=_sound(f"body {path}"), recorded=_format_value(value), live=ABSENT)


def _json_change(change: JsonChange) -> ValueChange:
    part, expected, observed = _sound(f"body {change.path}"), change.expected, change.observed
    if isinstance(expected, str) and isinstance(observed, str):
        is_long = max(len(expected), len(observed)) > _MAX_SHOWN_LENGTH  # then the first difference is shown
        sides = next(diff_text(expected, observed), (0, expected, observed))[1:] if is_long else (expected, observed)
        return _value_change(part, *sides, absent="")
    before, now = (each if isinstance(each, str) else canonical_json(each) for each in (expected, observed))
    if before == now:
        before, now = canonical_json(expected), canonical_json(observed)
    return _value_change(part, before, now)


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
        yield _value_change(f"body line {line}", recorded, live)
    if not seen and texts[0] == texts[1]:
        yield ValueChange(part="body", recorded=_describe_size(before), live=_describe_other(after))


def _format_value(value: JsonValue) -> str:
    return shorten_value(value if isinstance(value, str) else canonical_json(value))


def shorten_value(text: str) -> str:
    """Shorten a long text for display, and replace lone surrogates, which files cannot hold."""
    return _cut(_sound(text), 0, _MAX_SHOWN_LENGTH)


def _sound(text: str) -> str:
    """Replace lone surrogates, which files cannot hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cut(text: str, start: int, stop: int) -> str:
    """Return a part of a text, marked where it was cut, with the length of the whole text."""
    if not start and len(text) <= stop:
        return text
    return f"{excerpt(text, start, stop)} ({len(text)} characters)"


_CUT_PART: Final = re.compile(r"(?P<start>…?)(?P<part>.*?)(?P<end>…?) \(\d+ characters\)", re.DOTALL)


def _cut_match(text: str) -> re.Match[str] | None:
    found = _CUT_PART.fullmatch(text)
    return found if found is not None and (found["start"] or found["end"]) else None


def is_shortened(text: str) -> bool:
    """Return whether a text to be shown was cut."""
    return _cut_match(text) is not None


def without_cut_ends(text: str) -> str:
    """Return the whole words of a text that was cut, without the marks; any other text, or a part of a word, as it is.

    The first and the last word of a text that was cut there may be parts of longer words.
    """
    found = _cut_match(text)
    if found is None:
        return text
    part = found["part"]
    whole = re.sub(r"^\S*\s+", "", part) if found["start"] else part
    whole = re.sub(r"\s+\S*$", "", whole) if found["end"] else whole
    return whole if whole.strip() else part


def _describe_size(body: bytes) -> str:
    return pluralize(len(body), "byte")


def _describe_other(body: bytes) -> str:
    """Describe a body that differs from the recorded one in nothing that people can read."""
    return f"{_describe_size(body)} of another content"


def _is_json(media_type: str) -> bool:
    return media_type == "application/json" or media_type.endswith("+json")


def _is_text(media_type: str) -> bool:
    return (
        media_type.startswith("text/") or _is_json(media_type) or any(word in media_type for word in _TEXT_TYPE_WORDS)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedResponse:
    """The compared parts of a response."""

    url: str
    """After all redirects."""
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    """None if there is no body or it could not be read."""


def compare_responses(recorded: ComparedResponse, live: ComparedResponse) -> Iterator[ValueChange]:
    """Yield every relevant difference: status, URL, selected headers, cookie names, and values inside the body."""
    yield from compare_values("status", str(recorded.status), str(live.status))
    yield from compare_values("url", recorded.url, live.url)
    yield from compare_values("header content-type", _content_type(recorded), _content_type(live))
    yield from compare_values(REDIRECT_PART, _header(recorded, "location"), _header(live, "location"))
    yield from compare_values("cookies set", _cookies(recorded), _cookies(live))
    if live.body is None or live.body == recorded.body:
        return
    if recorded.body is not None or live.status >= FIRST_ERROR_STATUS:
        yield from _messages_of_page(recorded, live)
    if _has_new_error_values(recorded, live):
        yield from diff_bodies(b"{}", live.body, {_media_type(live)})
    elif recorded.body is not None:
        yield from diff_bodies(recorded.body, live.body, {_media_type(recorded), _media_type(live)})


def _has_new_error_values(recorded: ComparedResponse, live: ComparedResponse) -> bool:
    """Return whether a live response is an error with a JSON object, and the recorded one has no object to compare."""
    if live.status < FIRST_ERROR_STATUS or not _is_json(_media_type(live)) or not _is_json_object(live.body):
        return False
    return not _is_json(_media_type(recorded)) or not _is_json_object(recorded.body)


def _is_json_object(body: bytes | None) -> bool:
    if body is None or len(body) > MAX_COMPARED_BYTES:
        return False
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def _messages_of_page(recorded: ComparedResponse, live: ComparedResponse) -> Iterator[ValueChange]:
    """Yield that a live response is a sign-in page, and the error that it reports, if the recorded one has neither."""
    from eikon_engine.divergence.response_text import (  # noqa: PLC0415 - a sealed replay has no live responses
        find_error_text,
        find_sign_in_error,
        find_sign_in_form,
    )

    before, now = recorded.body or b"", live.body or b""
    form = find_sign_in_form(now, _media_type(live))
    is_new_form = bool(form) and not find_sign_in_form(before, _media_type(recorded))
    if is_new_form:
        yield ValueChange(part=SIGN_IN_PART, recorded=ABSENT, live=shorten_value(form))
    error = ""
    if live.status >= FIRST_ERROR_STATUS:
        error = find_error_text(now, _media_type(live), before)
    elif is_new_form:
        error = find_sign_in_error(now)
    if error:
        yield ValueChange(part=ERROR_TEXT_PART, recorded=ABSENT, live=shorten_value(error))


def _header(answer: ComparedResponse, name: str) -> str:
    return ", ".join(value for key, value in answer.headers if key.lower() == name)


def _content_type(answer: ComparedResponse) -> str:
    """Return the content type in lower case, without quotes and extra spaces."""
    return ";".join(part.strip() for part in _header(answer, "content-type").lower().replace('"', "").split(";"))


def _media_type(answer: ComparedResponse) -> str:
    return _content_type(answer).partition(";")[0]


def _cookies(answer: ComparedResponse) -> str:
    values = (value for key, value in answer.headers if key.lower() == "set-cookie")
    lines = (line for value in values for line in value.splitlines())
    return ", ".join(sorted({line.partition("=")[0].strip() for line in lines}))
