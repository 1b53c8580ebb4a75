"""Traffic of an attached context: live network, observed without routes or proxies.

The DevTools protocol (domain Network) reports neither who closed a WebSocket and with which code, nor the content of
sent
Blobs. Documents report both through `init_attached_sockets.js`.
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

from eikon_engine.browser.page_tracker import BackgroundTasks
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.traffic.sockets import LiveSockets
from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.network.websocket import ABNORMAL_CLOSURE

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import Request

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.sockets import SocketListener
    from eikon_engine.browser.traffic.streams import DevToolsSession
    from eikon_engine.network.websocket import SocketSide
    from eikon_engine.outcome.outcomes import NetworkOutcome

BINDING: Final = "__eikon_sockets__"
"""Binding through which documents report their sockets; see init_attached_sockets.js."""
TEXT_OPCODE: Final = 1
"""Opcode of a text frame (RFC 6455, section 5.2); all other payloads are base64."""
NORMAL_CLOSE_CODE: Final = 1000
CLOSE_REPORT_TIMEOUT_S: Final = 2.0
"""Wall time for a document to report how a socket closed after the browser reported the close."""


@dataclass(slots=True)
class _QueuedEvent:
    """A queued socket event; its callback is None until the document has read the Blob."""

    deliver: Callable[[SocketListener], None] | None
    blob: int | None = None


@dataclass(slots=True)
class _ObservedSocket:
    ordinal: int
    url: str
    is_accepted: bool = False
    has_failed: bool = False
    is_reported: bool = False
    """Whether its document reports it."""
    is_closed: bool = False
    pending_blobs: deque[int] = field(default_factory=deque)
    """Blobs about to be sent."""
    queue: deque[_QueuedEvent] = field(default_factory=deque)
    """Events queued behind the content of a Blob."""


class _PageSockets:
    """The sockets of one page."""

    def __init__(self, devtools: DevToolsSession) -> None:
        self.devtools = devtools
        self.by_request: dict[str, _ObservedSocket] = {}
        """Open sockets by protocol request id."""
        self.by_document: dict[tuple[int, int], _ObservedSocket] = {}
        """Sockets by execution context and number within it."""
        self.unclaimed: _ObservedSocket | None = None
        """The socket created last; its document reports it next."""


class AttachedSockets(LiveSockets):
    """Observe every socket and notify the recorder."""

    def __init__(self, session: Session) -> None:
        """Start without sockets."""
        super().__init__(session)
        self.background = BackgroundTasks(session.tracker)
        self._pages: list[_PageSockets] = []
        self._binding_tasks: list[asyncio.Task[None]] = []
        self._count = 0
        self.unknown_messages: list[str] = []
        """Warnings about messages whose content is unknown."""

    def observe(self, devtools: DevToolsSession) -> None:
        """Listen to the sockets of a page."""
        page = _PageSockets(devtools)
        self._pages.append(page)
        devtools.on("Network.webSocketCreated", partial(self._on_created, page))
        devtools.on("Network.webSocketHandshakeResponseReceived", partial(self._on_accepted, page))
        devtools.on("Network.webSocketFrameSent", partial(self._on_frame, page, "page"))
        devtools.on("Network.webSocketFrameReceived", partial(self._on_frame, page, "server"))
        devtools.on("Network.webSocketFrameError", partial(self._on_error, page))
        devtools.on("Network.webSocketClosed", partial(self._on_closed, page))
        devtools.on("Runtime.bindingCalled", partial(self._on_report, page))
        self._binding_tasks.append(self.background.start(_add_binding(devtools)))

    async def wait_until_ready(self) -> None:
        """Wait until open pages have their binding."""
        await asyncio.gather(*self._binding_tasks, return_exceptions=True)

    async def stop(self) -> None:
        """Stop, and close the queues that wait for Blobs."""
        await super().stop()
        for page in self._pages:
            for socket in {id(each): each for each in (*page.by_request.values(), *page.by_document.values())}.values():
                self._abandon_blobs(socket)

    def _on_created(self, page: _PageSockets, event: dict[str, Any]) -> None:
        socket = page.unclaimed = page.by_request[event["requestId"]] = _ObservedSocket(self._count, event["url"])
        self._count += 1
        self.record_opened(socket.ordinal, socket.url)
        self.notify(lambda listener: listener.on_opened(socket.ordinal, socket.url))

    def _on_accepted(self, page: _PageSockets, event: dict[str, Any]) -> None:
        socket = page.by_request.get(event["requestId"])
        if socket is None:
            return
        socket.is_accepted = True
        headers = {name.lower(): value for name, value in event["response"].get("headers", {}).items()}
        protocol, extensions = headers.get("sec-websocket-protocol", ""), headers.get("sec-websocket-extensions", "")
        self._enqueue(socket, lambda listener: listener.on_accepted(socket.ordinal, protocol, extensions))
        self.session.tracker.note_data()

    def _on_frame(self, page: _PageSockets, sender: SocketSide, event: dict[str, Any]) -> None:
        socket = page.by_request.get(event["requestId"])
        if socket is None:
            return
        frame = event["response"]
        text = frame["payloadData"]
        content = text if frame["opcode"] == TEXT_OPCODE else base64.b64decode(text)
        if sender == "page" and content == b"" and socket.pending_blobs:
            socket.queue.append(_QueuedEvent(None, socket.pending_blobs.popleft()))
            return
        if sender == "page" and content == b"" and not socket.is_reported:
            self._note_unknown_message(socket)
        self._on_message(socket, sender, content)

    def _on_message(self, socket: _ObservedSocket, sender: SocketSide, content: str | bytes) -> None:
        if sender == "page":
            self.record_sent(socket.ordinal, socket.url, content)
        self._enqueue(socket, lambda listener: listener.on_message(socket.ordinal, sender, content))
        self.session.tracker.note_data()

    def _on_error(self, page: _PageSockets, event: dict[str, Any]) -> None:
        socket = page.by_request.get(event["requestId"])
        if socket is not None:
            socket.has_failed = True

    def _on_closed(self, page: _PageSockets, event: dict[str, Any]) -> None:
        socket = page.by_request.pop(event["requestId"], None)
        if socket is None or socket.is_closed:
            return
        if socket.is_reported:
            self.background.start(self._await_close_report(page, socket))
            return
        lost = socket.has_failed or not socket.is_accepted
        self._close(socket, "server", ABNORMAL_CLOSURE if lost else NORMAL_CLOSE_CODE, "")

    async def _await_close_report(self, page: _PageSockets, socket: _ObservedSocket) -> None:
        """Wait for the document to report the close; a document that was left closed all its sockets."""
        from playwright.async_api import Error

        with suppress(Error, TimeoutError):  # the page is gone
            async with asyncio.timeout(CLOSE_REPORT_TIMEOUT_S):
                await page.devtools.send("Network.enable")
        if not socket.is_closed:
            socket.is_closed = True
            self._abandon_blobs(socket)
            self._close(socket, "page", None, "")

    def _on_report(self, page: _PageSockets, event: dict[str, Any]) -> None:
        """Process the report of a document about one of its sockets."""
        if event["name"] != BINDING:
            return
        report = json.loads(event["payload"])
        place = (event["executionContextId"], report["socket"])
        if report["kind"] == "opened":
            if page.unclaimed is not None:
                page.unclaimed.is_reported = True
                page.by_document[place] = page.unclaimed
                page.unclaimed = None
            return
        socket = page.by_document.get(place)
        if socket is None:
            return
        match report["kind"]:
            case "closing":
                self._close(socket, "page", report["code"], report["reason"])
            case "closed":
                socket.is_closed = True
                self._close(socket, "server", report["code"], report["reason"])
            case "blob":
                socket.pending_blobs.append(report["blob"])
            case "content":
                self._resolve_blob(socket, report["blob"], report["content"])
            case _:
                return

    def _close(self, socket: _ObservedSocket, closer: SocketSide, code: int | None, reason: str) -> None:
        self._enqueue(socket, lambda listener: listener.on_closed(socket.ordinal, closer, code, reason))

    def _resolve_blob(self, socket: _ObservedSocket, blob: int, content: str | None) -> None:
        """Set the content of a queued Blob; None if it could not be read."""
        news = next((each for each in socket.queue if each.blob == blob and each.deliver is None), None)
        if news is None:
            return
        data = base64.b64decode(content or "")
        if content is None:
            self._note_unknown_message(socket)
        self.record_sent(socket.ordinal, socket.url, data)
        news.deliver = lambda listener: listener.on_message(socket.ordinal, "page", data)
        self._deliver_ready(socket)

    def _abandon_blobs(self, socket: _ObservedSocket) -> None:
        """Stop waiting for the content of Blobs."""
        for blob in [each.blob for each in socket.queue if each.deliver is None]:
            if blob is not None:
                self._resolve_blob(socket, blob, None)

    def _enqueue(self, socket: _ObservedSocket, deliver: Callable[[SocketListener], None]) -> None:
        """Queue an event behind the Blobs sent before it."""
        socket.queue.append(_QueuedEvent(deliver))
        self._deliver_ready(socket)

    def _deliver_ready(self, socket: _ObservedSocket) -> None:
        while socket.queue and (hear := socket.queue[0].deliver) is not None:
            socket.queue.popleft()
            self.notify(hear)

    def _note_unknown_message(self, socket: _ObservedSocket) -> None:
        self.unknown_messages.append(
            f"{self.session.redactor.redact_text(socket.url)}: a message of the page is missing: the "
            "content of its Blob could "
            "not be read. Replays do not expect this message"
        )


async def _add_binding(devtools: DevToolsSession) -> None:
    """Add the binding to new documents; Chromium does so only in sessions with the Runtime domain enabled."""
    from playwright.async_api import Error

    with suppress(Error):  # the page is gone
        await asyncio.gather(
            devtools.send("Runtime.enable"),
            devtools.send("Runtime.addBinding", {"name": BINDING}),
        )


BODY_BUFFER_SIZES: Final = {"maxTotalBufferSize": 256_000_000, "maxResourceBufferSize": 64_000_000}
"""Bytes of response bodies that Chromium retains after their documents are gone, in total and per body."""


class AttachedTraffic(LiveTraffic):
    """Observe without routing: with routes, an agent that blocks its loop would stall every page.

    The HTTP cache is disabled over the protocol, as a route would do: replays have none.
    """

    def __init__(self) -> None:
        """Start without cancelled requests."""
        super().__init__()
        self._cancelled: list[str] = []

    async def start(self, session: Session) -> None:
        """Listen to the sockets of every page."""
        self._session = session
        self._uninstrumented_workers.listen(session)
        self.sockets = sockets = AttachedSockets(session)
        session.devtools_listeners.append(sockets.observe)
        session.devtools_listeners.append(self._prepare_page)
        session.context.on("requestfailed", self._on_failed)

    async def wait_until_ready(self) -> None:
        """Wait until open pages can report their sockets."""
        if isinstance(self.sockets, AttachedSockets):
            await self.sockets.wait_until_ready()

    def outcome(self) -> NetworkOutcome:
        """Add the requests that were cancelled before their response, and unknown socket messages."""
        outcome = super().outcome()
        unheard = self.sockets.unknown_messages if isinstance(self.sockets, AttachedSockets) else []
        return outcome.model_copy(update={"notes": (*outcome.notes, *dict.fromkeys((*self._cancelled, *unheard)))})

    def _on_failed(self, request: Request) -> None:
        if request.failure == ABORTED_ERROR and request.resource_type in {"fetch", "xhr"} and self._session is not None:
            request_line = f"{request.method} {self._session.redactor.redact_text(request.url)}"
            self._cancelled.append(
                f"{request_line} was cancelled before the response arrived, by the page or by the agent's next action: "
                "the response is unknown and missing in replays"
            )

    def _prepare_page(self, devtools: DevToolsSession) -> None:
        if self.sockets is not None:
            self.sockets.background.start(_configure_network(devtools))


async def _configure_network(devtools: DevToolsSession) -> None:
    """Disable the HTTP cache and retain bodies after navigations: an agent may navigate before they are read."""
    from playwright.async_api import Error

    with suppress(Error):  # the page is gone
        await devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    with suppress(Error):  # as above, or the browser cannot retain bodies
        await devtools.send("Network.configureDurableMessages", BODY_BUFFER_SIZES)
