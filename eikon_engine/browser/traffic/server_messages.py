"""Compare what a server sends on WebSockets in a live replay with what it sent in the recording."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.traffic.response_changes import server_messages
from eikon_engine.divergence.response_diff import (
    compare_message,
    describe_wait,
    message_name,
    missing_message,
    pair_messages,
    sides_of_pair,
)
from eikon_engine.network.websocket import SocketMessage, SocketOpened, socket_key
from eikon_engine.outcome.outcomes import ResponseChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.browser.traffic.response_changes import ResponseChanges
    from eikon_engine.divergence.response_diff import MessagePair
    from eikon_engine.network.heartbeats import ServerHeartbeat
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.network.websocket import SocketEvent, SocketSide
    from eikon_engine.outcome.outcomes import ValueChange

MAX_MISSING_MESSAGES: Final = 500
"""The last missing messages of a socket that may explain a divergence; a look at them all would take too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedMessages:
    """What a server sent on a recorded WebSocket."""

    key: str
    """Key of the socket."""
    occurrence: int
    """Number of earlier sockets with the same key."""
    contents: Sequence[bytes]
    phases: Sequence[int]
    """Phases in which the messages were delivered."""


class RecordedSockets:
    """What servers sent on the WebSockets of a recording; each socket is read once."""

    def __init__(self, recording: NetworkRecording) -> None:
        """Read nothing yet."""
        self._recording = recording
        self._events: defaultdict[int, list[SocketEvent]] = defaultdict(list)
        self._occurrences: dict[int, int] = {}
        self._read: dict[int, RecordedMessages] = {}
        counts: Counter[str] = Counter()
        for event in recording.sockets:
            self._events[event.socket].append(event)
            if isinstance(event, SocketOpened):
                key = socket_key(event.url)
                self._occurrences[event.socket] = counts[key]
                counts[key] += 1

    def messages(self, opened: SocketOpened, heartbeat: ServerHeartbeat | None) -> RecordedMessages:
        """Return what the server sent on a socket, without its heartbeats: how many there are depends on wall time."""
        if opened.socket not in self._read:
            events = self._events[opened.socket]
            sent = (event for event in events if isinstance(event, SocketMessage) and event.sender == "server")
            contents = server_messages(self._recording, events)
            kept = [
                (content, event.moment.phase)
                for content, event in zip(contents, sent, strict=True)
                if heartbeat is None or not heartbeat.is_sent_in(content)
            ]
            self._read[opened.socket] = RecordedMessages(
                key=socket_key(opened.url),
                occurrence=self._occurrences.get(opened.socket, 0),
                contents=[content for content, _ in kept],
                phases=[phase for _, phase in kept],
            )
        return self._read[opened.socket]


class ServerMessages:
    """The messages that the server sent on the WebSockets of a session."""

    def __init__(self, learn: Callable[[int], None]) -> None:
        """Start without messages; `learn` gets the socket of each before its page gets the message."""
        self._learn = learn
        self.urls: dict[int, str] = {}
        """URL of each socket, in order of opening."""
        self.received: defaultdict[int, list[bytes]] = defaultdict(list)
        """Messages by socket; `learn` removes the heartbeats."""
        self.compared: dict[int, ComparedMessages] = {}
        """Comparisons of the sockets that are paired with recorded ones."""

    def on_opened(self, socket: int, url: str) -> None:
        """Note a socket."""
        self.urls[socket] = url

    def on_accepted(self, socket: int, protocol: str, extensions: str) -> None:
        """Do nothing."""

    def on_message(self, socket: int, sender: SocketSide, content: str | bytes) -> None:
        """Note a message of the server."""
        if sender == "server":
            self.received[socket].append(content.encode() if isinstance(content, str) else content)
            self._learn(socket)

    def on_closed(self, socket: int, closer: SocketSide, code: int | None, reason: str) -> None:
        """Do nothing."""


class ComparedMessages:
    """What the server sent on a socket, compared with what it sent on the recorded one."""

    def __init__(self, recorded: RecordedMessages) -> None:
        """Start without messages."""
        self._recorded = recorded
        self.live: list[bytes] = []
        """Without secrets."""
        self._missing = list(range(len(recorded.contents)))
        """Places of the recorded messages without a live one."""
        self._missing_changes: dict[int, tuple[str, ResponseChange]] = {}
        """How each of them was described last, with the description of the wait."""
        self._values: dict[MessagePair, tuple[ValueChange, ...]] = {}
        """The differences of the pairs that were compared."""
        self._places: dict[MessagePair, int | None] = {}
        """Places of the stored differences; None if there were too many to store it."""

    def add(self, contents: Sequence[bytes], changes: ResponseChanges) -> None:
        """Compare more messages, and store what differs; a message that is merely missing so far is no difference."""
        if not contents:
            return
        self.live += contents
        pairs = pair_messages(self._recorded.contents, self.live)
        self._missing = [place for place, other in pairs if place is not None and other is None]
        found = {_identity(pair): self._compare(pair) for pair in pairs if pair[1] is not None}
        for identity in {**self._places, **found}:
            values, place = found.get(identity, ()), self._places.get(identity)
            if place is not None:
                changes.amend(place, values)
            elif values and identity not in self._places:
                self._places[identity] = changes.record(self._recorded.key, self._recorded.occurrence, values)

    def _compare(self, pair: MessagePair) -> tuple[ValueChange, ...]:
        if pair not in self._values:
            sides = sides_of_pair(self._recorded.contents, self.live, pair)
            self._values[pair] = tuple(compare_message(message_name("message", *pair), *sides))
        return self._values[pair]

    def missing(self, phase: int, waited_ms: float) -> Iterator[ResponseChange]:
        """Yield the recorded messages up to a phase that the server has not sent, although it had the time given."""
        wait = describe_wait(waited_ms)
        due = [place for place in self._missing if self._recorded.phases[place] <= phase]
        for place in due[-MAX_MISSING_MESSAGES:]:
            known = self._missing_changes.get(place)
            if known is None or known[0] != wait:
                known = self._missing_changes[place] = (wait, self._missing_change(place, wait))
            yield known[1]

    def _missing_change(self, place: int, wait: str) -> ResponseChange:
        what = tuple(missing_message(message_name("message", place, None), self._recorded.contents[place], wait))
        key, occurrence = self._recorded.key, self._recorded.occurrence
        return ResponseChange(key=key, occurrence=occurrence, subgoal="", sequence=0, what=what)


def _identity(pair: MessagePair) -> MessagePair:
    """Return what identifies the difference of a pair: the recorded message or, without one, the live one."""
    place, other = pair
    return (None, other) if place is None else (place, None)
