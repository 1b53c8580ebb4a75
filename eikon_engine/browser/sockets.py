"""Forward the WebSocket messages of a live session, one at a time, and report them to listeners."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.browser.background import Background
from eikon_engine.errors import EikonError
from eikon_engine.network.socket import ABNORMAL, MESSAGE_TYPE, METHOD, message_key, socket_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import WebSocketRoute

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.socket_names import SocketNames
    from eikon_engine.network.socket import Side


MARK: Final = "\0eikon:"
"""Prefix of messages between a page and the driver about a socket; see init_sockets.js."""


class SocketListener(Protocol):
    """A listener to the WebSocket traffic of a session."""

    def opened(self, socket: int, url: str) -> None:
        """Handle a new socket; sockets are numbered from 0."""

    def accepted(self, socket: int, protocol: str, extensions: str) -> None:
        """Handle a connection that the server accepted."""

    def message(self, socket: int, sender: Side, content: str | bytes) -> None:
        """Handle a message that is being forwarded."""

    def closed(self, socket: int, closer: Side, code: int | None, reason: str) -> None:
        """Handle a socket that one side closed."""


class LiveSockets:
    """Forward the messages of every socket, in both directions."""

    def __init__(self, session: Session, names: SocketNames | None = None) -> None:
        """Serve the sockets of one session; `names` maps them to the names of a recording."""
        self.session = session
        self.names = names
        self.listeners: list[SocketListener] = []
        self.background = Background(session.ledger)
        self._lines: list[_Line] = []
        session.rest.pending.append(lambda: sum(line.waiting for line in self._lines))
        session.rest.lines.append(lambda: sum(line.is_open for line in self._lines))

    def connect(self, socket: WebSocketRoute) -> None:
        """Connect a page's socket to its server."""
        ordinal = len(self._lines)
        self.note_opened(ordinal, socket.url)
        self.inform(lambda listener: listener.opened(ordinal, socket.url))
        self._lines.append(_Line(self, ordinal, socket))

    def inform(self, hear: Callable[[SocketListener], None]) -> None:
        """Call every listener; a failing one, as on a full disk, ends the session."""
        for listener in self.listeners:
            try:
                hear(listener)
            except EikonError as error:
                self.session.ledger.fail(error)

    def note_opened(self, socket: int, url: str) -> None:
        """Record for the next observation that a page opened a socket."""
        url = self.session.redactor.text(url)
        self.session.ledger.note_key(self.names.opened(socket, url) if self.names else socket_key(url))

    def note_sent(self, socket: int, url: str, content: str | bytes) -> None:
        """Record for the next observation that a page sent a message."""
        sent = content.encode() if isinstance(content, str) else content
        clean, data = self.session.redactor.text(url), self.session.redactor.key_data(sent)
        key = self.names.sent(socket, clean, data) if self.names else message_key(clean, data)
        if self.session.found is not None:
            self.session.memory.note_request(key, METHOD, url, sent, MESSAGE_TYPE)
        self.session.ledger.note_key(key)

    async def stop(self) -> None:
        """Stop forwarding."""
        await self.background.stop()


class _Line:
    """One socket between a page and its server."""

    def __init__(self, sockets: LiveSockets, ordinal: int, page_side: WebSocketRoute) -> None:
        self._sockets = sockets
        self._ordinal = ordinal
        self._page_side = page_side
        self._server_side = page_side.connect_to_server()
        self._from_server: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self.accepted = False
        self._closers: set[Side] = set()
        """Sides that have closed; when a document unloads, Playwright closes all its sockets again."""
        self.waiting = 0
        """How many messages of the server are not forwarded yet."""
        sockets.background.begin(self._pass_on())
        page_side.on_message(self._on_page_message)
        page_side.on_close(self._on_page_close)
        self._server_side.on_message(lambda content: self._queue(self._hand_over, content))
        self._server_side.on_close(lambda code, reason: self._queue(self._close_page_side, code, reason))

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it."""
        return not self._closers

    def _on_page_message(self, content: str | bytes) -> None:
        if isinstance(content, str) and content.startswith(MARK):
            self._queue(self._accept, json.loads(content.removeprefix(MARK)))
            return
        self._sockets.note_sent(self._ordinal, self._page_side.url, content)
        self._sockets.inform(lambda listener: listener.message(self._ordinal, "page", content))
        self._server_side.send(content)

    def _on_page_close(self, code: int | None, reason: str | None) -> None:
        if self._closers:
            return
        self._tell_closed("page", code, reason)
        self._sockets.background.begin(_close(self._server_side, code, reason))

    def _queue(self, pass_on: Callable[..., Awaitable[None]], *values: object) -> None:
        self.waiting += 1
        self._from_server.put_nowait(partial(pass_on, *values))

    async def _pass_on(self) -> None:
        """Forward what a server sends, but not while an action runs or the clock moves."""
        try:
            while True:
                pass_on = await self._from_server.get()
                await self._sockets.session.rest.gate.wait()
                self._sockets.session.rest.note_given()
                await pass_on()
                self.waiting -= 1
                self._sockets.session.ledger.note_news()
        finally:
            self.waiting = 0

    async def _accept(self, agreed: dict[str, str]) -> None:
        self.accepted = True
        protocol, extensions = agreed["protocol"], agreed["extensions"]
        self._sockets.inform(lambda listener: listener.accepted(self._ordinal, protocol, extensions))
        tell(self._page_side, accepted=agreed)

    async def _hand_over(self, content: str | bytes) -> None:
        self._sockets.inform(lambda listener: listener.message(self._ordinal, "server", content))
        self._page_side.send(content)

    async def _close_page_side(self, code: int | None, reason: str | None) -> None:
        if "server" in self._closers:
            return
        self._tell_closed("server", code, reason)
        if code == ABNORMAL:
            tell_lost(self._page_side, reason or "", was_open=self.accepted)
        else:
            await _close(self._page_side, code, reason)

    def _tell_closed(self, closer: Side, code: int | None, reason: str | None) -> None:
        self._closers.add(closer)
        self._sockets.inform(lambda listener: listener.closed(self._ordinal, closer, code, reason or ""))


def tell(side: WebSocketRoute, **news: object) -> None:
    """Notify init_sockets.js about a page's socket."""
    side.send(MARK + json.dumps(news))


def tell_lost(side: WebSocketRoute, reason: str, *, was_open: bool) -> None:
    """Notify a page that its connection failed or was lost."""
    tell(side, closed={"code": ABNORMAL, "reason": reason, "wasClean": False, "error": not was_open})


async def _close(side: WebSocketRoute, code: int | None, reason: str | None) -> None:
    from playwright.async_api import Error

    try:
        await side.close(code=code, reason=reason)
    except Error:
        return  # the page closed with its socket
