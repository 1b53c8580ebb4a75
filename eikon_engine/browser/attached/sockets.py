"""Hear of the WebSockets of a watched context over the DevTools protocol (domain Network); nothing is in between."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.background import Background
from eikon_engine.browser.sockets import LiveSockets
from eikon_engine.network.socket import ABNORMAL

if TYPE_CHECKING:
    from eikon_engine.browser.arrivals import DevTools
    from eikon_engine.browser.session import Session
    from eikon_engine.network.socket import Side

TEXT_FRAME: Final = 1
"""Opcode of a frame of text (RFC 6455, section 5.2); everything else is told in base64."""
NORMAL: Final = 1000


@dataclass(slots=True)
class _Heard:
    ordinal: int
    url: str
    is_accepted: bool = False
    has_failed: bool = False


class HeardSockets(LiveSockets):
    """Tell whoever records of every socket; the browser does not say who closed one, nor with which code."""

    def __init__(self, session: Session) -> None:
        """Begin with none."""
        super().__init__(session)
        self.background = Background(session.ledger)
        self._heard: dict[str, _Heard] = {}
        self._count = 0
        self.unheard: list[str] = []
        """What the browser did not tell."""

    def hear(self, devtools: DevTools) -> None:
        """Listen to the sockets of a page."""
        devtools.on("Network.webSocketCreated", self._on_created)
        devtools.on("Network.webSocketHandshakeResponseReceived", self._on_accepted)
        devtools.on("Network.webSocketFrameSent", lambda event: self._on_frame("page", event))
        devtools.on("Network.webSocketFrameReceived", lambda event: self._on_frame("server", event))
        devtools.on("Network.webSocketFrameError", self._on_error)
        devtools.on("Network.webSocketClosed", self._on_closed)

    def _on_created(self, event: dict[str, Any]) -> None:
        heard = self._heard[event["requestId"]] = _Heard(self._count, event["url"])
        self._count += 1
        self.note_opened(heard.ordinal, heard.url)
        self.inform(lambda listener: listener.opened(heard.ordinal, heard.url))

    def _on_accepted(self, event: dict[str, Any]) -> None:
        heard = self._heard.get(event["requestId"])
        if heard is None:
            return
        heard.is_accepted = True
        headers = {name.lower(): value for name, value in event["response"].get("headers", {}).items()}
        protocol, extensions = headers.get("sec-websocket-protocol", ""), headers.get("sec-websocket-extensions", "")
        self.inform(lambda listener: listener.accepted(heard.ordinal, protocol, extensions))
        self.session.ledger.note_news()

    def _on_frame(self, sender: Side, event: dict[str, Any]) -> None:
        heard = self._heard.get(event["requestId"])
        if heard is None:
            return
        frame = event["response"]
        text = frame["payloadData"]
        content = text if frame["opcode"] == TEXT_FRAME else base64.b64decode(text)
        if sender == "page" and not content and not isinstance(content, str):
            self.unheard.append(
                f"{self.session.redactor.text(heard.url)}: a message of the page is not known, as the browser does not "
                "tell what a Blob holds; replays do not meet it"
            )
        if sender == "page":
            self.note_sent(heard.ordinal, heard.url, content)
        self.inform(lambda listener: listener.message(heard.ordinal, sender, content))
        self.session.ledger.note_news()

    def _on_error(self, event: dict[str, Any]) -> None:
        heard = self._heard.get(event["requestId"])
        if heard is not None:
            heard.has_failed = True

    def _on_closed(self, event: dict[str, Any]) -> None:
        heard = self._heard.pop(event["requestId"], None)
        if heard is None:
            return
        lost = heard.has_failed or not heard.is_accepted
        self.inform(lambda listener: listener.closed(heard.ordinal, "server", ABNORMAL if lost else NORMAL, ""))
