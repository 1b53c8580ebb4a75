"""Let what a live server sends reach its page when the page got it in the recording."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.browser.frames import is_main_document
from eikon_engine.browser.traffic.schedule import DeliverySchedule
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.network.websocket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from playwright.async_api import Request

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames
    from eikon_engine.network.exchange import Exchange, Moment
    from eikon_engine.network.heartbeats import ServerHeartbeat
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.network.websocket import SocketEvent, SocketSide

PushKind: TypeAlias = Literal["accepted", "message", "closed"]
"""What a server does on a WebSocket."""
RESPONSE_S: Final = 5.0
"""Wall time after which a response that does not end no longer holds back later ones, such as an event stream."""
MESSAGE_S: Final = 3.0
"""Wall time for which page time waits for a message that the server had sent by then in the recording."""


@dataclass(slots=True)
class _RecordedSocket:
    """What a server sent on a recorded socket, and how much of it has come on the live one; without heartbeats."""

    moments: Mapping[PushKind, Sequence[Moment]]
    received: Counter[PushKind] = field(default_factory=Counter)
    awaited_since_s: float | None = None
    """Wall time at which the next one was due; None if it is not."""
    grace_s: float = MESSAGE_S
    """For how much wall time the next one is waited for."""

    def next_moment(self) -> Moment | None:
        """Return the recorded moment of what comes next; None if nothing does."""
        left = (self.moments[kind][self.received[kind] :][:1] for kind in self.moments)
        return min((each[0] for each in left if each), key=lambda moment: moment.order, default=None)

    def take(self, kind: PushKind) -> Moment | None:
        """Return the recorded moment of what comes now; None if the recording has no counterpart."""
        self.received[kind] += 1
        return next(iter(self.moments[kind][self.received[kind] - 1 :]), None)


class LivePace:
    """Paces the responses of a live server, and what it sends on WebSockets, by the moments of a recording.

    A request is let through when its recorded response came, and its response is waited for before anything else
    happens; so a page has as much time as in the recording, however fast the server is.
    """

    def __init__(self, session: Session, recording: NetworkRecording, names: RecordedSocketNames) -> None:
        """Pace a session; `names` pair its sockets with recorded ones."""
        self._session = session
        self._names = names
        self._responses: dict[Request, Moment] = {}
        """Moments of the recorded responses to the requests that are not let through yet."""
        self._cancelled = frozenset(
            was.ordinal
            for was, now in zip(recording.as_recorded.exchanges, recording.exchanges, strict=True)
            if was.is_cancelled and now.is_pending and was.request.method in SAFE_METHODS
        )
        """Ordinals of the recorded requests that pages cancelled before they had a response."""
        self._unanswered: set[Request] = set()
        """Requests that are not let through at all, as these."""
        self._sockets = {number: _RecordedSocket(moments) for number, moments in _push_moments(recording, names)}
        """The recorded sockets, by number."""
        self._urls: dict[int, str] = {}
        """URL of each open live socket."""
        pushes = (each for socket in self._sockets.values() for moments in socket.moments.values() for each in moments)
        responses = filter(None, map(_response_moment, recording.exchanges))
        self._schedule = DeliverySchedule(session.stabilizer, session.tracker, (*responses, *pushes))
        session.stabilizer.paced_deliveries = self._schedule.queue
        session.stabilizer.pending_work.append(lambda: sum(map(self._is_awaited, self._urls)))

    async def stop(self) -> None:
        """Stop pacing."""
        await self._schedule.stop()

    def on_opened(self, socket: int, url: str) -> None:
        """Note a socket."""
        self._urls[socket] = url

    def on_accepted(self, socket: int, protocol: str, extensions: str) -> None:
        """Do nothing."""

    def on_message(self, socket: int, sender: SocketSide, content: str | bytes) -> None:
        """Do nothing."""

    def on_closed(self, socket: int, closer: SocketSide, code: int | None, reason: str) -> None:  # noqa: ARG002
        """Note that nothing more comes on a socket."""
        self._urls.pop(socket, None)

    def expect_response(self, request: Request, recorded: Exchange) -> None:
        """Note which recorded exchange a request corresponds to, before it is let through."""
        if recorded.ordinal in self._cancelled:
            self._unanswered.add(request)
        elif (moment := _response_moment(recorded)) is not None:
            self._responses[request] = moment

    @asynccontextmanager
    async def response_turn(self, request: Request, *, is_background: bool) -> AsyncIterator[None]:
        """Wait until a request may be let through, by the body of the `with` statement; then wait for its response."""
        moment = self._responses.pop(request, None)
        if request in self._unanswered:
            self._schedule.queue.mark_never_answered(request)
            self._session.tracker.changed.set()
            await self._session.tracker.requests.wait_until_ended(request)
        if moment is None:
            yield
            return
        is_immediate = is_main_document(request)
        async with self._schedule.in_turn(moment, request, is_immediate=is_immediate, is_background=is_background):
            yield
            with suppress(TimeoutError):
                async with asyncio.timeout(RESPONSE_S):
                    await self._session.tracker.requests.wait_until_ended(request)

    @asynccontextmanager
    async def push_turn(self, socket: int, kind: PushKind, content: str | bytes = b"") -> AsyncIterator[None]:
        """Wait until what a server sent on a socket may reach its page, by the body of the `with` statement."""
        recorded = self._recorded(socket)
        heartbeat = None if recorded is None else self._heartbeat(socket)
        data = content.encode() if isinstance(content, str) else content
        if recorded is None or (kind == "message" and heartbeat is not None and heartbeat.is_sent_in(data)):
            yield
            return
        moment = recorded.take(kind)
        recorded.awaited_since_s, recorded.grace_s = None, MESSAGE_S
        if moment is None:
            yield
            return
        async with self._schedule.in_turn(moment):
            yield

    def _is_awaited(self, socket: int) -> bool:
        """Return whether page time waits for the server: it had sent something by now in the recording."""
        recorded = self._recorded(socket)
        moment = None if recorded is None else recorded.next_moment()
        timeline, now = self._session.timeline, time.monotonic()
        is_due = moment is not None and (moment.phase, moment.at_ms) <= (timeline.phase, timeline.recorded_ms)
        if recorded is None or moment is None or not is_due:
            return False
        if recorded.awaited_since_s is None:
            recorded.awaited_since_s = now
        if now - recorded.awaited_since_s < recorded.grace_s:
            return True
        recorded.grace_s = 0.0
        self._schedule.queue.stop_expecting((moment.order,))
        return False

    def _recorded(self, socket: int) -> _RecordedSocket | None:
        """Return the recorded socket that a live one is paired with, in the order in which they were opened."""
        if self._names.recorded_socket(socket) is None:
            for earlier, url in self._urls.items():
                if earlier <= socket:
                    self._names.key_of_opened(earlier, self._session.redactor.redact_text(url))
        opened = self._names.recorded_socket(socket)
        return None if opened is None else self._sockets.get(opened.socket)

    def _heartbeat(self, socket: int) -> ServerHeartbeat | None:
        opened = self._names.recorded_socket(socket)
        return None if opened is None else self._names.heartbeat(opened)


def _push_moments(
    recording: NetworkRecording, names: RecordedSocketNames
) -> Iterator[tuple[int, Mapping[PushKind, Sequence[Moment]]]]:
    """Yield each recorded socket with the moments of what its server sent, without heartbeats."""
    events: defaultdict[int, list[SocketEvent]] = defaultdict(list)
    for event in recording.sockets:
        events[event.socket].append(event)
    for socket, own in events.items():
        opened = next((each for each in own if isinstance(each, SocketOpened)), None)
        heartbeat = None if opened is None else names.heartbeat(opened)
        messages = [
            each.moment
            for each in own
            if isinstance(each, SocketMessage)
            and each.sender == "server"
            and (heartbeat is None or not heartbeat.is_sent_in(recording.message(each)))
        ]
        yield (
            socket,
            {
                "accepted": [each.moment for each in own if isinstance(each, SocketAccepted)],
                "message": messages,
                "closed": [each.moment for each in own if isinstance(each, SocketClosed) and each.closer == "server"],
            },
        )


def _response_moment(exchange: Exchange) -> Moment | None:
    """Return when a recorded response began to reach its page."""
    return exchange.pieces[0].moment if exchange.pieces else exchange.moment
