"""What servers sent on recorded WebSockets, and which of it a live server has sent."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from eikon_engine.network.websocket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames
    from eikon_engine.network.exchange import Moment
    from eikon_engine.network.heartbeats import ServerHeartbeat
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.network.websocket import SocketEvent

PushKind: TypeAlias = Literal["accepted", "message", "closed"]
"""What a server does on a WebSocket."""
_DIGIT: Final = re.compile(rb"[0-9]")


class Push(NamedTuple):
    """Something that a server did on a recorded socket."""

    kind: PushKind
    moment: Moment
    recorded_ms: float
    """Page time at which it was recorded; the moment may be another one."""
    sent_before: int
    """How many messages the page had sent on the socket by then."""
    read: Callable[[], bytes]
    """Returns the content of a message; nothing of anything else."""


@dataclass(slots=True)
class PacedSocket:
    """What a server sent on a recorded socket, and how much of it has come on the live one; without heartbeats."""

    left: Mapping[PushKind, deque[Push]]
    """What has not come yet."""
    sent_ms: Sequence[float]
    """Recorded page times at which the page sent messages."""
    opened_ms: float
    """Recorded page time at which the page opened it."""
    sent: int = 0
    """How many messages the page has sent on the live socket."""
    awaited_since_s: float | None = None
    """Wall time at which the next one was due; None if it is not."""
    given_up: Moment | None = None
    """The moment of the last one that was not waited for any longer."""
    not_come: list[Push] = field(default_factory=list)
    """What did not come before the page sent something else; it may still come."""
    connecting: asyncio.Event | None = None
    """Set while the page waits until the server may get the live one; happens once the server has answered."""
    is_connected_in_turn: bool = False
    """Whether the server got it at the moment at which it accepted the recorded one."""

    def next(self) -> Push | None:
        """Return what comes next; None if nothing does."""
        return min((each[0] for each in self.left.values() if each), key=lambda push: push.moment.order, default=None)

    def count_sent(self) -> tuple[Push, ...]:
        """Count a message of the page; return what did not come before it and is no longer expected.

        A server may send less before the page asks for something else, as a process that starts does.
        """
        self.sent += 1
        push = self.next()
        if push is None or self.given_up is not push.moment or self.sent > len(self.sent_ms):
            return ()
        gone = list[Push]()
        for pushes in self.left.values():
            while pushes and pushes[0].sent_before < self.sent:
                gone.append(pushes.popleft())
        self.not_come += gone
        self.awaited_since_s = None
        return tuple(gone)

    def take(self, kind: PushKind, content: bytes) -> Push | None:
        """Return the recorded counterpart of what comes now; None if there is none.

        That is the next one, or one that did not come before and differs in nothing but numbers and ids.
        """
        late = (each for each in self.not_come if each.kind == kind and _shape(each.read()) == _shape(content))
        if (found := next(late, None)) is not None:
            self.not_come.remove(found)
            return found
        return self.left[kind].popleft() if self.left.get(kind) else None


def _shape(content: bytes) -> bytes:
    """Return the text of a message with `#` in place of each number and hexadecimal id."""
    text = re.sub(rb"[^\x20-\x7e]+", b"", content)
    return re.sub(rb"[0-9a-f-]+", lambda found: b"#" if _DIGIT.search(found[0]) else found[0], text)


def find_pushes(
    recording: NetworkRecording, names: RecordedSocketNames
) -> tuple[Mapping[int, Mapping[PushKind, deque[Push]]], Mapping[int, Sequence[float]]]:
    """Return what the servers of the recorded sockets did, and when pages sent messages, by the numbers of the sockets.

    Both are without heartbeats.
    """
    heartbeats = {each.socket: names.heartbeat(each) for each in recording.sockets if isinstance(each, SocketOpened)}
    recorded_ms: defaultdict[tuple[int, PushKind | None], deque[float]] = defaultdict(deque)
    sent: defaultdict[int, list[float]] = defaultdict(list)
    for event in recording.as_recorded.sockets:
        recorded_ms[event.socket, _kind(event)].append(event.moment.at_ms)
        match event:
            case SocketMessage(sender="page") if not is_answer_to(
                heartbeats.get(event.socket), recording.message(event)
            ):
                sent[event.socket].append(event.moment.at_ms)
    found: defaultdict[int, dict[PushKind, deque[Push]]] = defaultdict(dict)
    for event in recording.sockets:
        kind, heartbeat = _kind(event), heartbeats.get(event.socket)
        if kind is None:
            continue
        at_ms = recorded_ms[event.socket, kind].popleft()
        is_heartbeat = (
            isinstance(event, SocketMessage)
            and heartbeat is not None
            and heartbeat.is_sent_in(recording.message(event))
        )
        if not is_heartbeat:
            read = partial(recording.message, event) if isinstance(event, SocketMessage) else bytes
            push = Push(kind, event.moment, at_ms, bisect_left(sent[event.socket], at_ms), read)
            found[event.socket].setdefault(kind, deque()).append(push)
    return found, sent


def is_answer_to(heartbeat: ServerHeartbeat | None, content: bytes) -> bool:
    """Return whether a message of a page answers a heartbeat."""
    return heartbeat is not None and heartbeat.answer is not None and heartbeat.is_answered_by(content)


def _kind(event: SocketEvent) -> PushKind | None:
    """Return what a server did in an event of a socket; None for what a page did."""
    match event:
        case SocketAccepted():
            return "accepted"
        case SocketMessage(sender="server"):
            return "message"
        case SocketClosed(closer="server"):
            return "closed"
        case _:
            return None
