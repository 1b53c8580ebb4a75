"""Recognize what pages send on WebSockets by themselves, such as heartbeats: how often they do varies from run to run.

What an action causes is sent once for each action, so two things tell a heartbeat: the regular intervals between its
recorded messages, and a timer that sends it in the replay while no action can be the cause.

Servers send heartbeats as well, and pages close a socket on which none came for too long. What a server would keep
sending after the end of the recording is known from the intervals of its recorded messages, or from the handshake of
Engine.IO.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qs

from eikon_engine.errors import TraceError
from eikon_engine.files.origins import split_url
from eikon_engine.network.rules import TIMESTAMP
from eikon_engine.network.unsent import MISSED_INTERVALS
from eikon_engine.network.websocket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.network.websocket import SocketEvent, SocketSide

MessageKey: TypeAlias = tuple[str, bytes | None]
"""Key of a socket, and a message without what the rules ignore; None instead of it for the opening of a socket."""
MAX_JITTER: Final = 1.2
"""Ratio of two successive intervals between the heartbeats of a timer."""
EFFECT_MS: Final = 2000.0
"""Page time after an action within which what a page sends may be an effect of it, such as a debounced save."""

MIN_SERVER_INTERVAL_MS: Final = 1000.0
"""Page time that at least passes between two heartbeats of a server, unless a handshake names less."""
NAME_OF_HEARTBEAT: Final = re.compile(
    r"(?:\w+(?::+|[./]))?(?:ping|ka|hb|heart[-_ ]?beat|keep[-_ ]?alive)(?:::?\d*)?", re.IGNORECASE
)
"""Also with a namespace before it, such as `pusher:ping`, or a time behind it, such as `primus::ping::1700000000`."""
TYPE_MEMBERS: Final = frozenset({"type", "event", "op", "method", "action"})
"""Members of JSON objects that name the type of a message."""
UNNAMED_HEARTBEATS: Final = frozenset({b"", b"h", b"\n", b'{"type":6}\x1e'})
"""Heartbeats of servers with empty messages, SockJS, STOMP and SignalR."""
MAX_HEARTBEAT: Final = 200
"""Bytes of the longest message that may be a heartbeat."""
LONG_NUMBER: Final = re.compile(rb"\d{9,}")
"""A time in a heartbeat, such as those of Action Cable."""
ENGINE_IO_PING: Final = b"2"
ENGINE_IO_PONG: Final = b"3"
SERVER_PINGS_SINCE: Final = 4
"""Version of the Engine.IO protocol since which the server sends the pings, and not the page."""


@dataclass(frozen=True, slots=True)
class RegularMessage:
    """A message that a page sent at least three times on one socket, in similar intervals."""

    content: bytes
    """As it was first recorded."""
    last_ms: float
    """Page time of the last one."""
    interval_ms: float
    """The longest interval."""


def find_regular_messages(
    messages: Iterable[tuple[int, MessageKey, bytes, float]],
) -> Iterator[tuple[MessageKey, RegularMessage]]:
    """Yield the messages that a page sent at regular intervals.

    `messages` are all recorded ones of pages: socket, key, content and page time of each, in order.
    """
    contents: dict[MessageKey, bytes] = {}
    times: defaultdict[MessageKey, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for socket, key, content, at_ms in messages:
        contents.setdefault(key, content)
        times[key][socket].append(at_ms)
    for key, by_socket in times.items():
        intervals = [[after - before for before, after in pairwise(each)] for each in by_socket.values()]
        if any(map(_is_regular, intervals)):
            last_ms = max(max(each) for each in by_socket.values())
            yield key, RegularMessage(contents[key], last_ms, max(map(max, filter(None, intervals))))


def _is_regular(intervals: list[float]) -> bool:
    return any(min(pair) > 0 and max(pair) < MAX_JITTER * min(pair) for pair in pairwise(intervals))


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A message of either side of one socket."""

    sender: SocketSide
    is_binary: bool
    content: bytes
    at_ms: float


@dataclass(frozen=True, slots=True)
class ServerHeartbeat:
    """A message that a server sends at regular intervals, so that the page knows that it is connected."""

    content: bytes
    """As it was recorded last."""
    is_binary: bool
    interval_ms: float
    """The longest interval."""
    answer: bytes | None = None
    """What the page sends back, if anything."""
    _timeless: tuple[bytes, bytes | None] = field(init=False, repr=False, compare=False)
    """Content and answer without times."""

    def __post_init__(self) -> None:
        """Remove the times once, since every message of a socket is compared."""
        answer = None if self.answer is None else _without_time(self.answer)
        object.__setattr__(self, "_timeless", (_without_time(self.content), answer))

    def is_sent_in(self, content: bytes) -> bool:
        """Return whether a message of the server is this heartbeat."""
        return _is_short(content, self.content) and _without_time(content) == self._timeless[0]

    def is_answered_by(self, content: bytes) -> bool:
        """Return whether a message of the page answers this heartbeat."""
        return _is_short(content, self.answer or b"") and _without_time(content) == self._timeless[1]


@dataclass(frozen=True, slots=True)
class EngineIoHandshake:
    """What the first message of an Engine.IO session agrees on."""

    version: int
    interval_ms: float
    """Page time between two pings."""
    timeout_ms: float
    """Page time beyond the interval after which a client without a ping, or an answer to its own, closes the socket."""


def read_handshake(url: str, content: bytes) -> EngineIoHandshake | None:
    """Read the first message of a server on an Engine.IO socket; None if it is none."""
    version = parse_qs(split_url(url).query).get("EIO", [""])[0]
    if not version.isdecimal() or not content.startswith(b"0{"):
        return None
    try:
        agreed = json.loads(content[1:])
        return EngineIoHandshake(int(version), float(agreed["pingInterval"]), float(agreed["pingTimeout"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def find_server_heartbeat(
    messages: Sequence[RecordedMessage], handshake: EngineIoHandshake | None, *, opened_ms: float, ended_ms: float
) -> ServerHeartbeat | None:
    """Return the heartbeat of the server of a socket; None if none is known.

    `messages` are all recorded ones of the socket. They were recorded from the page time `opened_ms`, when it was
    accepted, until `ended_ms`, when it was closed or the recording ended.

    Without a handshake, it was sent three times at regular intervals, and the page answered each time alike; or it is
    a usual one, and was sent twice. It was sent as long as the socket was open, with no longer pause before the first
    one or after the last one.
    """
    if handshake is not None:
        return _engine_io_heartbeat(messages, handshake)
    by_content: defaultdict[bytes, list[RecordedMessage]] = defaultdict(list)
    for each in messages:
        if each.sender == "server":
            by_content[_without_time(each.content)].append(each)
    for content, sent in by_content.items():
        intervals = [after.at_ms - before.at_ms for before, after in pairwise(sent)]
        interval_ms = max(intervals, default=0.0)
        pause_ms = max(sent[0].at_ms - opened_ms, ended_ms - sent[-1].at_ms)
        if interval_ms < MIN_SERVER_INTERVAL_MS or pause_ms > MAX_JITTER * interval_ms:
            continue
        answer = find_answer(messages, "server", _has_content(content))
        if is_usual_heartbeat(sent[-1].content, answer) or (answer is not None and _is_regular(intervals)):
            return ServerHeartbeat(sent[-1].content, sent[-1].is_binary, interval_ms, answer)
    return None


def recorded_messages(recording: NetworkRecording, events: Iterable[SocketEvent]) -> list[RecordedMessage]:
    """Return the messages among the events of a socket.

    In place of one that is too long for a heartbeat, or cannot be read, there is a content that no other one equals.
    """
    return [
        RecordedMessage(each.sender, each.binary, _short_content(recording, each), each.moment.at_ms)
        for each in events
        if isinstance(each, SocketMessage)
    ]


def _short_content(recording: NetworkRecording, message: SocketMessage) -> bytes:
    unequal = f"message {message.moment.order}".encode()
    if message.body is not None and message.body.size > MAX_HEARTBEAT:
        return unequal
    try:
        return recording.message(message)
    except TraceError:  # reported when it is delivered, or compared
        return unequal


def find_answered_heartbeats(recording: NetworkRecording) -> Iterator[tuple[SocketOpened, ServerHeartbeat]]:
    """Yield the sockets whose server sends heartbeats that the page answers, with these.

    How often it does depends on the wall time for which the socket is open.
    """
    end_ms = recording.end_ms if math.isfinite(recording.end_ms) else _last_moment_ms(recording.as_recorded)
    recording = recording.as_recorded
    events: defaultdict[int, list[SocketEvent]] = defaultdict(list)
    for event in recording.sockets:
        events[event.socket].append(event)
    for own in events.values():
        opened = next((each for each in own if isinstance(each, SocketOpened)), None)
        heartbeat = None if opened is None else _recorded_heartbeat(recording, opened.url, own, end_ms)
        if opened is not None and heartbeat is not None and heartbeat.answer is not None:
            yield opened, heartbeat


def _last_moment_ms(recording: NetworkRecording) -> float:
    """Return the page time of the last recorded event."""
    moments = (*(each.moment for each in recording.exchanges), *(each.moment for each in recording.sockets))
    return max((each.at_ms for each in moments if each is not None), default=0.0)


def _recorded_heartbeat(
    recording: NetworkRecording, url: str, events: list[SocketEvent], end_ms: float
) -> ServerHeartbeat | None:
    messages = recorded_messages(recording, events)
    first = next((each for each in messages if each.sender == "server"), None)
    accepted = next((each for each in events if isinstance(each, SocketAccepted)), events[0])
    closed = (each.moment.at_ms for each in events if isinstance(each, SocketClosed))
    return find_server_heartbeat(
        messages,
        None if first is None else read_handshake(url, first.content),
        opened_ms=accepted.moment.at_ms,
        ended_ms=min((*closed, end_ms)),
    )


def _engine_io_heartbeat(messages: Sequence[RecordedMessage], handshake: EngineIoHandshake) -> ServerHeartbeat | None:
    if handshake.version < SERVER_PINGS_SINCE:
        return None
    times = [each.at_ms for each in messages if each.sender == "server" and each.content == ENGINE_IO_PING]
    recorded_ms = max((after - before for before, after in pairwise(times)), default=0.0)
    interval_ms = min(max(handshake.interval_ms, recorded_ms), handshake.interval_ms + handshake.timeout_ms / 2)
    return ServerHeartbeat(ENGINE_IO_PING, False, interval_ms, ENGINE_IO_PONG)  # noqa: FBT003 - a field


def is_usual_heartbeat(content: bytes, answer: bytes | None = None) -> bool:
    """Return whether a message of a server is a usual heartbeat: by its whole text, or by the type that its JSON names.

    `answer` is what the page sends back, if anything. It distinguishes the ping of Engine.IO from any other number 2.
    """
    if content in UNNAMED_HEARTBEATS or (content, answer) == (ENGINE_IO_PING, ENGINE_IO_PONG):
        return True
    return len(content) <= MAX_HEARTBEAT and any(map(NAME_OF_HEARTBEAT.fullmatch, _names(content)))


def _names(content: bytes) -> Iterator[str]:
    """Yield what may name the type of a message: the text itself, or members of its JSON."""
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        return
    try:
        message: object = json.loads(text)
    except ValueError:
        message = text
    if isinstance(message, str):
        yield message
    elif isinstance(message, dict):
        yield from (each for name, each in message.items() if name in TYPE_MEMBERS and isinstance(each, str))


def find_answer(
    messages: Iterable[RecordedMessage], sender: SocketSide, is_heartbeat: Callable[[bytes], bool]
) -> bytes | None:
    """Return what the other side sent first after each heartbeat of `sender`; None if it sent nothing, or varied."""
    answers: dict[bytes, bytes] = {}
    is_awaited, was_skipped = False, False
    for each in messages:
        if each.sender == sender and is_heartbeat(each.content):
            was_skipped = was_skipped or is_awaited
            is_awaited = True
        elif each.sender != sender and is_awaited:
            answers[_without_time(each.content)] = each.content
            is_awaited = False
    return next(iter(answers.values())) if len(answers) == 1 and not was_skipped else None


def _has_content(content: bytes) -> Callable[[bytes], bool]:
    return lambda other: _without_time(other) == content


def _is_short(content: bytes, recorded: bytes) -> bool:
    """Return whether a message is as short as a heartbeat, or as a longer recorded one."""
    return len(content) <= max(MAX_HEARTBEAT, len(recorded))


def _without_time(content: bytes) -> bytes:
    return LONG_NUMBER.sub(b"0", TIMESTAMP.sub(b"", content))


class SpontaneousMessages:
    """What timers have sent in a replay while no action can be the cause.

    That is more than `EFFECT_MS` after the last action, or once more since then.
    """

    def __init__(self) -> None:
        """Start without messages."""
        self._by_timer: dict[MessageKey, int] = {}
        """The number of actions before each message of a timer."""
        self._last_ms: dict[MessageKey, float] = {}
        """When each of those without a cause was last sent, in the recorded timeline."""

    def note_sent_by_timer(self, key: MessageKey, *, actions: int, since_action_ms: float, recorded_ms: float) -> None:
        """Note that a timer sends a message now, `since_action_ms` after the last of a number of actions."""
        if key in self._last_ms or since_action_ms > EFFECT_MS or self._by_timer.get(key) == actions:
            self._last_ms[key] = recorded_ms
        self._by_timer[key] = actions

    def __contains__(self, key: MessageKey) -> bool:
        """Return whether a page has sent a message without an action."""
        return key in self._last_ms

    def has_continued(self, key: MessageKey, regular: RegularMessage, end_ms: float) -> bool:
        """Return whether a page went on to send a message as long as in the recording, or until `end_ms`."""
        until = min(end_ms, regular.last_ms) - MISSED_INTERVALS * regular.interval_ms
        return self._last_ms.get(key, float("-inf")) >= until
