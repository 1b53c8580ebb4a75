"""Observe the WebSockets of an attached context over the DevTools protocol (domain Network), without a proxy.

The protocol reports neither who closed a socket and with which code, nor the content of sent Blobs. Documents report
both through `init_heard_sockets.js`.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.background import Background
from eikon_engine.browser.sockets import LiveSockets
from eikon_engine.network.socket import ABNORMAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.browser.arrivals import DevTools
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.sockets import SocketListener
    from eikon_engine.network.socket import Side

BINDING: Final = "__eikon_sockets__"
"""Binding through which documents report their sockets; see init_heard_sockets.js."""
TEXT_FRAME: Final = 1
"""Opcode of a text frame (RFC 6455, section 5.2); all other payloads are base64."""
NORMAL: Final = 1000
END_S: Final = 2.0
"""Wall time for a document to report how a socket closed after the browser reported the close."""


@dataclass(slots=True)
class _News:
    """A queued socket event; its callback is None until the document has read the Blob."""

    hear: Callable[[SocketListener], None] | None
    blob: int | None = None


@dataclass(slots=True)
class _Heard:
    ordinal: int
    url: str
    is_accepted: bool = False
    has_failed: bool = False
    is_told: bool = False
    """Whether its document reports it."""
    is_over: bool = False
    blobs: deque[int] = field(default_factory=deque)
    """Blobs about to be sent."""
    news: deque[_News] = field(default_factory=deque)
    """Events queued behind the content of a Blob."""


class _Page:
    """The sockets of one page."""

    def __init__(self, devtools: DevTools) -> None:
        self.devtools = devtools
        self.heard: dict[str, _Heard] = {}
        """Open sockets by protocol request id."""
        self.told: dict[tuple[int, int], _Heard] = {}
        """Sockets by execution context and number within it."""
        self.newest: _Heard | None = None
        """The socket created last; its document reports it next."""


class HeardSockets(LiveSockets):
    """Observe every socket and notify the recorder."""

    def __init__(self, session: Session) -> None:
        """Start without sockets."""
        super().__init__(session)
        self.background = Background(session.ledger)
        self._pages: list[_Page] = []
        self._binding: list[asyncio.Task[None]] = []
        self._count = 0
        self.unheard: list[str] = []
        """Warnings about messages whose content is unknown."""

    def hear(self, devtools: DevTools) -> None:
        """Listen to the sockets of a page."""
        page = _Page(devtools)
        self._pages.append(page)
        devtools.on("Network.webSocketCreated", partial(self._on_created, page))
        devtools.on("Network.webSocketHandshakeResponseReceived", partial(self._on_accepted, page))
        devtools.on("Network.webSocketFrameSent", partial(self._on_frame, page, "page"))
        devtools.on("Network.webSocketFrameReceived", partial(self._on_frame, page, "server"))
        devtools.on("Network.webSocketFrameError", partial(self._on_error, page))
        devtools.on("Network.webSocketClosed", partial(self._on_closed, page))
        devtools.on("Runtime.bindingCalled", partial(self._on_told, page))
        self._binding.append(self.background.begin(_bind(devtools)))

    async def ready(self) -> None:
        """Wait until open pages have their binding."""
        await asyncio.gather(*self._binding, return_exceptions=True)

    async def stop(self) -> None:
        """Stop, and close the queues that wait for Blobs."""
        await super().stop()
        for page in self._pages:
            for socket in {id(each): each for each in (*page.heard.values(), *page.told.values())}.values():
                self._give_up(socket)

    def _on_created(self, page: _Page, event: dict[str, Any]) -> None:
        socket = page.newest = page.heard[event["requestId"]] = _Heard(self._count, event["url"])
        self._count += 1
        self.note_opened(socket.ordinal, socket.url)
        self.inform(lambda listener: listener.opened(socket.ordinal, socket.url))

    def _on_accepted(self, page: _Page, event: dict[str, Any]) -> None:
        socket = page.heard.get(event["requestId"])
        if socket is None:
            return
        socket.is_accepted = True
        headers = {name.lower(): value for name, value in event["response"].get("headers", {}).items()}
        protocol, extensions = headers.get("sec-websocket-protocol", ""), headers.get("sec-websocket-extensions", "")
        self._tell(socket, lambda listener: listener.accepted(socket.ordinal, protocol, extensions))
        self.session.ledger.note_news()

    def _on_frame(self, page: _Page, sender: Side, event: dict[str, Any]) -> None:
        socket = page.heard.get(event["requestId"])
        if socket is None:
            return
        frame = event["response"]
        text = frame["payloadData"]
        content = text if frame["opcode"] == TEXT_FRAME else base64.b64decode(text)
        if sender == "page" and content == b"" and socket.blobs:
            socket.news.append(_News(None, socket.blobs.popleft()))
            return
        if sender == "page" and content == b"" and not socket.is_told:
            self._note_unheard(socket)
        self._take(socket, sender, content)

    def _take(self, heard: _Heard, sender: Side, content: str | bytes) -> None:
        if sender == "page":
            self.note_sent(heard.ordinal, heard.url, content)
        self._tell(heard, lambda listener: listener.message(heard.ordinal, sender, content))
        self.session.ledger.note_news()

    def _on_error(self, page: _Page, event: dict[str, Any]) -> None:
        socket = page.heard.get(event["requestId"])
        if socket is not None:
            socket.has_failed = True

    def _on_closed(self, page: _Page, event: dict[str, Any]) -> None:
        socket = page.heard.pop(event["requestId"], None)
        if socket is None or socket.is_over:
            return
        if socket.is_told:
            self.background.begin(self._await_end(page, socket))
            return
        lost = socket.has_failed or not socket.is_accepted
        self._close(socket, "server", ABNORMAL if lost else NORMAL, "")

    async def _await_end(self, page: _Page, heard: _Heard) -> None:
        """Wait for the document to report the close; a document that was left closed all its sockets."""
        from playwright.async_api import Error

        with suppress(Error, TimeoutError):  # the page is gone
            async with asyncio.timeout(END_S):
                await page.devtools.send("Network.enable")
        if not heard.is_over:
            heard.is_over = True
            self._give_up(heard)
            self._close(heard, "page", None, "")

    def _on_told(self, page: _Page, event: dict[str, Any]) -> None:
        """Process the report of a document about one of its sockets."""
        if event["name"] != BINDING:
            return
        report = json.loads(event["payload"])
        place = (event["executionContextId"], report["socket"])
        if report["kind"] == "opened":
            if page.newest is not None:
                page.newest.is_told = True
                page.told[place] = page.newest
                page.newest = None
            return
        socket = page.told.get(place)
        if socket is None:
            return
        match report["kind"]:
            case "closing":
                self._close(socket, "page", report["code"], report["reason"])
            case "closed":
                socket.is_over = True
                self._close(socket, "server", report["code"], report["reason"])
            case "blob":
                socket.blobs.append(report["blob"])
            case "content":
                self._fill(socket, report["blob"], report["content"])
            case _:
                return

    def _close(self, heard: _Heard, closer: Side, code: int | None, reason: str) -> None:
        self._tell(heard, lambda listener: listener.closed(heard.ordinal, closer, code, reason))

    def _fill(self, heard: _Heard, blob: int, content: str | None) -> None:
        """Set the content of a queued Blob; None if it could not be read."""
        news = next((each for each in heard.news if each.blob == blob and each.hear is None), None)
        if news is None:
            return
        data = base64.b64decode(content or "")
        if content is None:
            self._note_unheard(heard)
        self.note_sent(heard.ordinal, heard.url, data)
        news.hear = lambda listener: listener.message(heard.ordinal, "page", data)
        self._tell_known(heard)

    def _give_up(self, heard: _Heard) -> None:
        """Stop waiting for the content of Blobs."""
        for blob in [each.blob for each in heard.news if each.hear is None]:
            if blob is not None:
                self._fill(heard, blob, None)

    def _tell(self, heard: _Heard, hear: Callable[[SocketListener], None]) -> None:
        """Queue an event behind the Blobs sent before it."""
        heard.news.append(_News(hear))
        self._tell_known(heard)

    def _tell_known(self, heard: _Heard) -> None:
        while heard.news and (hear := heard.news[0].hear) is not None:
            heard.news.popleft()
            self.inform(hear)

    def _note_unheard(self, heard: _Heard) -> None:
        self.unheard.append(
            f"{self.session.redactor.text(heard.url)}: a message of the page is missing: the content of its Blob could "
            "not be read. Replays do not expect this message"
        )


async def _bind(devtools: DevTools) -> None:
    """Add the binding to new documents; Chromium does so only in sessions with the Runtime domain enabled."""
    from playwright.async_api import Error

    with suppress(Error):  # the page is gone
        await asyncio.gather(
            devtools.send("Runtime.enable"),
            devtools.send("Runtime.addBinding", {"name": BINDING}),
        )
