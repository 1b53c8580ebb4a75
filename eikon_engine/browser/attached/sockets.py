"""Hear of the WebSockets of a watched context over the DevTools protocol (domain Network); nothing is in between.

The protocol does not tell who closed a socket, with which code, nor what a Blob holds that a page sends. Documents tell
that themselves, by `init_heard_sockets.js`.
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
"""What documents tell of their sockets by; see init_heard_sockets.js."""
TEXT_FRAME: Final = 1
"""Opcode of a frame of text (RFC 6455, section 5.2); everything else is told in base64."""
NORMAL: Final = 1000
END_S: Final = 2.0
"""Wall time that a document has for telling how a socket ended that the browser says is closed."""


@dataclass(slots=True)
class _News:
    """Something that happened on a socket; what is to be told of a Blob is not known until its document has read it."""

    hear: Callable[[SocketListener], None] | None
    blob: int | None = None


@dataclass(slots=True)
class _Heard:
    ordinal: int
    url: str
    is_accepted: bool = False
    has_failed: bool = False
    is_told: bool = False
    """Whether its document tells of it."""
    is_over: bool = False
    blobs: deque[int] = field(default_factory=deque)
    """Blobs that are about to be sent."""
    news: deque[_News] = field(default_factory=deque)
    """What waits for the content of a Blob that was sent before it."""


class _Page:
    """What one page tells, and the protocol tells of it."""

    def __init__(self, devtools: DevTools) -> None:
        self.devtools = devtools
        self.heard: dict[str, _Heard] = {}
        """Open sockets, by their names in the protocol."""
        self.told: dict[tuple[int, int], _Heard] = {}
        """Sockets by their document and their number in it."""
        self.newest: _Heard | None = None
        """The socket that was made last: its document tells of it next."""


class HeardSockets(LiveSockets):
    """Tell whoever records of every socket."""

    def __init__(self, session: Session) -> None:
        """Begin with none."""
        super().__init__(session)
        self.background = Background(session.ledger)
        self._pages: list[_Page] = []
        self._count = 0
        self.unheard: list[str] = []
        """What neither the browser nor a document told."""

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
        self.background.begin(_bind(devtools))

    async def stop(self) -> None:
        """End what waits to be told."""
        await super().stop()
        for page in self._pages:
            for heard in {id(each): each for each in (*page.heard.values(), *page.told.values())}.values():
                self._give_up(heard)

    def _on_created(self, page: _Page, event: dict[str, Any]) -> None:
        heard = page.newest = page.heard[event["requestId"]] = _Heard(self._count, event["url"])
        self._count += 1
        self.note_opened(heard.ordinal, heard.url)
        self.inform(lambda listener: listener.opened(heard.ordinal, heard.url))

    def _on_accepted(self, page: _Page, event: dict[str, Any]) -> None:
        heard = page.heard.get(event["requestId"])
        if heard is None:
            return
        heard.is_accepted = True
        headers = {name.lower(): value for name, value in event["response"].get("headers", {}).items()}
        protocol, extensions = headers.get("sec-websocket-protocol", ""), headers.get("sec-websocket-extensions", "")
        self._tell(heard, lambda listener: listener.accepted(heard.ordinal, protocol, extensions))
        self.session.ledger.note_news()

    def _on_frame(self, page: _Page, sender: Side, event: dict[str, Any]) -> None:
        heard = page.heard.get(event["requestId"])
        if heard is None:
            return
        frame = event["response"]
        text = frame["payloadData"]
        content = text if frame["opcode"] == TEXT_FRAME else base64.b64decode(text)
        if sender == "page" and content == b"" and heard.blobs:
            heard.news.append(_News(None, heard.blobs.popleft()))
            return
        if sender == "page" and content == b"" and not heard.is_told:
            self._note_unheard(heard)
        self._take(heard, sender, content)

    def _take(self, heard: _Heard, sender: Side, content: str | bytes) -> None:
        if sender == "page":
            self.note_sent(heard.ordinal, heard.url, content)
        self._tell(heard, lambda listener: listener.message(heard.ordinal, sender, content))
        self.session.ledger.note_news()

    def _on_error(self, page: _Page, event: dict[str, Any]) -> None:
        heard = page.heard.get(event["requestId"])
        if heard is not None:
            heard.has_failed = True

    def _on_closed(self, page: _Page, event: dict[str, Any]) -> None:
        heard = page.heard.pop(event["requestId"], None)
        if heard is None or heard.is_over:
            return
        if heard.is_told:
            self.background.begin(self._await_end(page, heard))
            return
        lost = heard.has_failed or not heard.is_accepted
        self._close(heard, "server", ABNORMAL if lost else NORMAL, "")

    async def _await_end(self, page: _Page, heard: _Heard) -> None:
        """Let a document tell of the end; one that was left does not, and has ended all its sockets by that."""
        from playwright.async_api import Error

        with suppress(Error, TimeoutError):  # the page is gone
            async with asyncio.timeout(END_S):
                await page.devtools.send("Network.enable")
        if not heard.is_over:
            heard.is_over = True
            self._give_up(heard)
            self._close(heard, "page", None, "")

    def _on_told(self, page: _Page, event: dict[str, Any]) -> None:
        """Take what a document tells of one of its sockets."""
        if event["name"] != BINDING:
            return
        told = json.loads(event["payload"])
        place = (event["executionContextId"], told["socket"])
        if told["kind"] == "opened":
            if page.newest is not None:
                page.newest.is_told = True
                page.told[place] = page.newest
                page.newest = None
            return
        heard = page.told.get(place)
        if heard is None:
            return
        match told["kind"]:
            case "closing":
                self._close(heard, "page", told["code"], told["reason"])
            case "closed":
                heard.is_over = True
                self._close(heard, "server", told["code"], told["reason"])
            case "blob":
                heard.blobs.append(told["blob"])
            case "content":
                self._fill(heard, told["blob"], told["content"])

    def _close(self, heard: _Heard, closer: Side, code: int | None, reason: str) -> None:
        self._tell(heard, lambda listener: listener.closed(heard.ordinal, closer, code, reason))

    def _fill(self, heard: _Heard, blob: int, content: str | None) -> None:
        """Put the content of a Blob where it was sent; None is one that could not be read."""
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
        """Wait no more for what Blobs hold."""
        for blob in [each.blob for each in heard.news if each.hear is None]:
            if blob is not None:
                self._fill(heard, blob, None)

    def _tell(self, heard: _Heard, hear: Callable[[SocketListener], None]) -> None:
        """Tell of something in its order: after the Blobs that were sent before it."""
        heard.news.append(_News(hear))
        self._tell_known(heard)

    def _tell_known(self, heard: _Heard) -> None:
        while heard.news and (hear := heard.news[0].hear) is not None:
            heard.news.popleft()
            self.inform(hear)

    def _note_unheard(self, heard: _Heard) -> None:
        self.unheard.append(
            f"{self.session.redactor.text(heard.url)}: a message of the page is not known, as nobody told what a Blob "
            "holds; replays do not meet it"
        )


async def _bind(devtools: DevTools) -> None:
    """Give documents to come a way to tell: only a session whose domain Runtime is on puts it there."""
    from playwright.async_api import Error

    with suppress(Error):  # the page is gone
        await devtools.send("Runtime.enable")
        await devtools.send("Runtime.addBinding", {"name": BINDING})
