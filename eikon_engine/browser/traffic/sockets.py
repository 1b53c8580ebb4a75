"""Forward the WebSocket messages of a live session, one at a time, and report them to listeners."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from eikon_engine.browser.page_tracker import BackgroundTasks
from eikon_engine.errors import EikonError
from eikon_engine.network.websocket import ABNORMAL_CLOSURE, MESSAGE_MEDIA_TYPE, SOCKET_METHOD, message_key, socket_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from playwright.async_api import WebSocketRoute

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.live_pace import HeldRequest, LivePace
    from eikon_engine.browser.traffic.paced_sockets import PushKind
    from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames
    from eikon_engine.network.websocket import SocketSide
    from eikon_engine.trace.execution import LostData


SOCKET_MARK: Final = "\0eikon:"
"""Prefix of messages between a page and the driver about a socket; see init_sockets.js."""


class SocketListener(Protocol):
    """A listener to the WebSocket traffic of a session."""

    def on_opened(self, socket: int, url: str) -> None:
        """Handle a new socket; sockets are numbered from 0."""

    def on_accepted(self, socket: int, protocol: str, extensions: str) -> None:
        """Handle a connection that the server accepted."""

    def on_message(self, socket: int, sender: SocketSide, content: str | bytes) -> None:
        """Handle a message that is being forwarded."""

    def on_closed(self, socket: int, closer: SocketSide, code: int | None, reason: str) -> None:
        """Handle a socket that one side closed."""


class LiveSockets:
    """Forward the messages of every socket, in both directions."""

    def __init__(self, session: Session, recorded_names: RecordedSocketNames | None = None) -> None:
        """Serve the sockets of one session; `recorded_names` maps them to the names of a recording."""
        self.session = session
        self.recorded_names = recorded_names
        self.listeners: list[SocketListener] = []
        self.lost: list[LostData] = []
        """Messages whose content is unknown."""
        self.background = BackgroundTasks(session.tracker)
        self._connections: list[_SocketConnection] = []
        self.pace: LivePace | None = None
        """Decides when what servers send reaches its page; None if it does at once."""
        session.stabilizer.pending_work.append(lambda: sum(line.pending_messages for line in self._connections))
        session.stabilizer.open_connections.append(lambda: sum(line.is_open for line in self._connections))

    def set_pace(self, pace: LivePace) -> None:
        """Let what servers send wait for its turn, from now on."""
        self.pace = pace
        self.listeners.append(pace)

    async def connect(self, socket: WebSocketRoute) -> None:
        """Connect a page's socket to its server, if paced as late as in the recording."""
        ordinal = len(self._connections)
        self.record_opened(ordinal, socket.url)
        self.notify(lambda listener: listener.on_opened(ordinal, socket.url))
        connection = _SocketConnection(self, ordinal, socket)
        self._connections.append(connection)
        if self.pace is None:
            connection.connect()
            return
        connecting = self.background.start(connection.connect_in_turn(self.pace))
        await asyncio.wait({connecting})  # the page takes its socket for open if this returns before

    def notify(self, call: Callable[[SocketListener], None]) -> None:
        """Call every listener; a failing one, as on a full disk, ends the session."""
        for listener in self.listeners:
            try:
                call(listener)
            except EikonError as error:
                self.session.tracker.fail(error)

    def record_opened(self, socket: int, url: str) -> None:
        """Record for the next observation that a page opened a socket."""
        names, redact = self.recorded_names, self.session.redactor.redact_text
        if names is None:
            self.session.tracker.note_key(socket_key(redact(url)))
            return
        # A value in the URL may be known only once the response that brought it is read.
        self.session.tracker.note_key(cache(lambda: names.key_of_opened(socket, redact(url))))

    def record_sent(self, socket: int, url: str, content: str | bytes, interval_begun_ms: float | None = None) -> None:
        """Record for the next observation that a page sent a message.

        An interval that began at the page time `interval_begun_ms` sent it; none did if that is None.
        """
        sent = content.encode() if isinstance(content, str) else content
        names, redactor = self.recorded_names, self.session.redactor
        if names is not None:
            is_beyond = names.is_beyond_recording(interval_begun_ms, self.session.timeline)

            def recorded_key() -> str | None:
                data = redactor.redact_key_bytes(sent)
                if is_beyond and not names.is_next(socket, data):
                    return None
                return names.key_of_sent(socket, redactor.redact_text(url), data)

            self.session.tracker.note_key(cache(recorded_key))
            return
        key = message_key(redactor.redact_text(url), redactor.redact_key_bytes(sent))
        if self.session.secret_detector is not None:
            self.session.digest_memory.note_request(key, SOCKET_METHOD, url, sent, MESSAGE_MEDIA_TYPE)
        self.session.tracker.note_key(key)

    async def stop(self) -> None:
        """Stop forwarding."""
        await self.background.stop()


class _Push(NamedTuple):
    """Something that a server did on a socket."""

    kind: PushKind
    content: str | bytes
    """That of a message."""
    pass_on: Callable[[], Awaitable[None]]


class _SocketConnection:
    """One socket between a page and its server."""

    def __init__(self, sockets: LiveSockets, ordinal: int, page_side: WebSocketRoute) -> None:
        self._sockets = sockets
        self._ordinal = ordinal
        self._page_side = page_side
        self._server_side: WebSocketRoute | None = None
        """None before it is connected."""
        self._server_queue: asyncio.Queue[_Push] = asyncio.Queue()
        self.accepted = False
        self._answered = asyncio.Event()
        """Set once the server has accepted the connection or closed it."""
        self._delivered = asyncio.Event()
        """Set once the page knows that, or has closed it."""
        self._interval_begun_ms: float | None = None
        """Page time at which the interval began that sends the next message; None if no interval does."""
        self._closers: set[SocketSide] = set()
        """Sides that have closed; when a document unloads, Playwright closes all its sockets again."""
        self._queued = 0
        """How many messages of the server are not forwarded yet."""
        self._to_server = 0
        """How many things that the page did are not forwarded yet."""
        self._waits_for_turn = False
        """Whether the first of them comes later, as in the recording."""
        self._page_queue: asyncio.Queue[tuple[Sequence[HeldRequest], Callable[[], None]]] = asyncio.Queue()
        """What the page does on the socket, each after the requests that the server got before; used if paced."""
        sockets.background.start(self._forward_messages())
        if sockets.pace is not None:
            sockets.background.start(self._forward_to_server(sockets.pace))
        page_side.on_message(self._on_page_message)
        page_side.on_close(self._on_page_close)

    def connect(self) -> None:
        """Connect to the server."""
        self._server_side = self._page_side.connect_to_server()
        self._server_side.on_message(lambda content: self._queue("message", self._forward, content))
        self._server_side.on_close(lambda code, reason: self._queue("closed", self._close_page_side, code, reason))

    async def connect_in_turn(self, pace: LivePace) -> None:
        """Connect to the server when it had accepted the connection in the recording."""
        async with pace.connection_turn(self._ordinal, self._answered, self._delivered):
            if self.is_open:
                self.connect()

    @property
    def pending_messages(self) -> int:
        """How many messages are to be forwarded now."""
        return self._to_server + (0 if self._waits_for_turn else self._queued)

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it."""
        return not self._closers

    def _on_page_message(self, content: str | bytes) -> None:
        if isinstance(content, str) and content.startswith(SOCKET_MARK):
            notice = json.loads(content.removeprefix(SOCKET_MARK))
            if "protocol" in notice:
                self._queue("accepted", self._notify_accepted, notice)
            begun = notice.get("interval")
            self._interval_begun_ms = None if begun is None else self._sockets.session.timeline.page_ms(begun)
            return
        self._sockets.record_sent(self._ordinal, self._page_side.url, content, self._interval_begun_ms)
        self._interval_begun_ms = None
        self._sockets.notify(lambda listener: listener.on_message(self._ordinal, "page", content))
        if self._sockets.pace is None:
            self._send_to_server(content)
        else:
            held = self._sockets.pace.held_before_message(self._ordinal, content)
            self._pass_to_server(held, partial(self._send_to_server, content))

    def _on_page_close(self, code: int | None, reason: str | None) -> None:
        if self._closers:
            return
        self._report_closed("page", code, reason)
        if self._sockets.pace is None:
            self._close_server_side(code, reason)
        else:
            self._pass_to_server((), partial(self._close_server_side, code, reason))

    def _send_to_server(self, content: str | bytes) -> None:
        if self._server_side is not None:
            self._server_side.send(content)

    def _pass_to_server(self, after: Sequence[HeldRequest], forward: Callable[[], None]) -> None:
        self._to_server += 1
        self._page_queue.put_nowait((after, forward))

    def _close_server_side(self, code: int | None, reason: str | None) -> None:
        if self._server_side is not None:
            self._sockets.background.start(close_side(self._server_side, code, reason))

    def _queue(self, kind: PushKind, pass_on: Callable[..., Awaitable[None]], *values: object) -> None:
        if kind != "message":
            self._answered.set()
        content = values[0] if kind == "message" and isinstance(values[0], str | bytes) else b""
        push = _Push(kind, content, partial(pass_on, *values))
        if self._waits_for_turn and self._is_heartbeat(push):
            self._sockets.background.start(self._pass_on(push))
            return
        self._queued += 1
        self._server_queue.put_nowait(push)

    def _is_heartbeat(self, push: _Push) -> bool:
        pace = self._sockets.pace
        return pace is not None and push.kind == "message" and pace.is_heartbeat(self._ordinal, push.content)

    async def _pass_on(self, push: _Push) -> None:
        self._sockets.session.stabilizer.barrier.note_delivery()
        await push.pass_on()
        self._sockets.session.tracker.note_data()

    async def _forward_messages(self) -> None:
        """Forward what a server sends, but not while an action runs or the clock moves."""
        try:
            while True:
                push = await self._server_queue.get()
                await self._wait_for_responses()
                async with self._turn(push):
                    await self._pass_on(push)
                    self._queued -= 1
        finally:
            self._queued = 0

    async def _forward_to_server(self, pace: LivePace) -> None:
        while True:
            held, forward = await self._page_queue.get()
            await pace.let_through(held)
            forward()
            self._to_server -= 1

    @asynccontextmanager
    async def _turn(self, push: _Push) -> AsyncIterator[None]:
        """Wait until something may reach the page, by the body of the `with` statement."""
        if self._sockets.pace is None:
            yield
            return
        self._waits_for_turn = True
        try:
            async with self._sockets.pace.push_turn(self._ordinal, push.kind, push.content):
                self._waits_for_turn = False
                yield
        finally:
            self._waits_for_turn = False

    async def _wait_for_responses(self) -> None:
        """Let responses that are arriving end first, so that all is recorded in the order in which the page gets it.

        A response reaches its page at once but is reported late; a message reaches it through us.
        """
        session = self._sockets.session
        barrier = session.stabilizer.barrier
        while True:
            await barrier.wait_until_open()
            await session.stabilizer.collect_events()
            await session.tracker.requests.wait_for_arriving_responses()
            if barrier.is_open:
                return

    async def _notify_accepted(self, agreed: dict[str, str]) -> None:
        self.accepted = True
        self._delivered.set()
        protocol, extensions = agreed["protocol"], agreed["extensions"]
        self._sockets.notify(lambda listener: listener.on_accepted(self._ordinal, protocol, extensions))
        notify_page(self._page_side, accepted=agreed)

    async def _forward(self, content: str | bytes) -> None:
        self._sockets.notify(lambda listener: listener.on_message(self._ordinal, "server", content))
        self._page_side.send(content)

    async def _close_page_side(self, code: int | None, reason: str | None) -> None:
        if "server" in self._closers:
            return
        if "page" in self._closers and not self.accepted:  # https://websockets.spec.whatwg.org/#dom-websocket-close
            code, reason = ABNORMAL_CLOSURE, ""
        self._report_closed("server", code, reason)
        if code == ABNORMAL_CLOSURE:
            notify_lost(self._page_side, reason or "", was_open=self.accepted)
        else:
            await close_side(self._page_side, code, reason)

    def _report_closed(self, closer: SocketSide, code: int | None, reason: str | None) -> None:
        self._closers.add(closer)
        self._answered.set()
        self._delivered.set()
        self._sockets.notify(lambda listener: listener.on_closed(self._ordinal, closer, code, reason or ""))


def notify_page(side: WebSocketRoute, **notice: object) -> None:
    """Notify init_sockets.js about a page's socket."""
    side.send(SOCKET_MARK + json.dumps(notice))


def notify_lost(side: WebSocketRoute, reason: str, *, was_open: bool) -> None:
    """Notify a page that its connection failed or was lost."""
    notify_page(side, closed={"code": ABNORMAL_CLOSURE, "reason": reason, "wasClean": False, "error": not was_open})


async def close_side(side: WebSocketRoute, code: int | None, reason: str | None) -> None:
    """Close a page's side of a socket, or its server's."""
    from playwright.async_api import Error

    try:
        await side.close(code=code, reason=reason)
    except Error:
        return  # the page closed with its socket
