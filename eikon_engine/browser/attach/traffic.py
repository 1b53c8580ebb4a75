"""Traffic of an attached context: live network, observed without routes or proxies.

Playwright reports neither what a server chose when it accepted a WebSocket, nor who closed it and with which code, nor
the content of sent Blobs, nor empty messages. Documents report these through `init_attached_sockets.js`.
"""

from __future__ import annotations

import asyncio
import base64
from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.attach.uploads import AttachedUploads
from eikon_engine.browser.page_reports import listen_to_reports, stop_listening
from eikon_engine.browser.page_tracker import BackgroundTasks
from eikon_engine.browser.playwright_internals import impl_of
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.traffic.sockets import LiveSockets
from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.network.websocket import ABNORMAL_CLOSURE
from eikon_engine.trace.execution import LostData

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import Page, Request, WebSocket, Worker

    from eikon_engine.browser.page_reports import ReportListener
    from eikon_engine.browser.playwright_internals import ClientObject
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.sockets import SocketListener
    from eikon_engine.browser.traffic.streams import DevToolsSession
    from eikon_engine.network.websocket import SocketSide
    from eikon_engine.outcome.outcomes import NetworkOutcome

NORMAL_CLOSE_CODE: Final = 1000
CLOSE_REPORT_S: Final = 0.3
"""Wall time between the browser's report of a close and that of its document, which come from one task of the page."""


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
    queue: deque[_QueuedEvent] = field(default_factory=deque)
    """Events queued behind the content of a Blob."""


class AttachedSockets(LiveSockets):
    """Observe every socket and notify the recorder.

    Documents report a new socket before Playwright does; Playwright reports its messages.
    """

    def __init__(self, session: Session) -> None:
        """Start without sockets."""
        super().__init__(session)
        self.background = BackgroundTasks(session.tracker)
        self._count = 0
        self._sockets: list[_ObservedSocket] = []
        self._by_document: dict[tuple[object, ...], _ObservedSocket] = {}
        self._unpaired: defaultdict[tuple[ClientObject, str], deque[_ObservedSocket]] = defaultdict(deque)
        """Reported sockets that Playwright has not announced yet."""

    def observe(self, page: Page) -> None:
        """Listen to the sockets of a page."""
        page.on("websocket", lambda announced: self._on_announced(page, announced))

    async def stop(self) -> None:
        """Stop, and close the queues that wait for Blobs."""
        await super().stop()
        for socket in self._sockets:
            self._abandon_blobs(socket)

    def _open(self, url: str) -> _ObservedSocket:
        socket = _ObservedSocket(self._count, url)
        self._count += 1
        self._sockets.append(socket)
        self.record_opened(socket.ordinal, socket.url)
        self.notify(lambda listener: listener.on_opened(socket.ordinal, socket.url))
        return socket

    def _on_announced(self, page: Page, announced: WebSocket) -> None:
        unpaired = self._unpaired[impl_of(page), announced.url]
        socket = unpaired.popleft() if unpaired else self._open(announced.url)
        announced.on("framesent", lambda content: self._on_frame(socket, "page", content))
        announced.on("framereceived", lambda content: self._on_frame(socket, "server", content))
        announced.on("socketerror", lambda _error: self._on_error(socket))
        announced.on("close", lambda _socket: self._on_closed(socket))

    def _accept(self, socket: _ObservedSocket, protocol: str = "", extensions: str = "") -> None:
        if not socket.is_accepted:
            socket.is_accepted = True
            self._enqueue(socket, lambda listener: listener.on_accepted(socket.ordinal, protocol, extensions))
            self.session.tracker.note_data()

    def _on_frame(self, socket: _ObservedSocket, sender: SocketSide, content: str | bytes) -> None:
        self._accept(socket)
        self._on_message(socket, sender, content)

    def _on_message(self, socket: _ObservedSocket, sender: SocketSide, content: str | bytes) -> None:
        if sender == "page":
            self.record_sent(socket.ordinal, socket.url, content)
        self._enqueue(socket, lambda listener: listener.on_message(socket.ordinal, sender, content))
        self.session.tracker.note_data()

    def _on_error(self, socket: _ObservedSocket) -> None:
        socket.has_failed = True

    def _on_closed(self, socket: _ObservedSocket) -> None:
        if socket.is_closed:
            return
        if socket.is_reported:
            self.background.start(self._await_close_report(socket))
            return
        lost = socket.has_failed or not socket.is_accepted
        self._close(socket, "server", ABNORMAL_CLOSURE if lost else NORMAL_CLOSE_CODE, "")

    async def _await_close_report(self, socket: _ObservedSocket) -> None:
        """Wait for the document to report the close; a document that was left closed all its sockets."""
        await asyncio.sleep(CLOSE_REPORT_S)
        if not socket.is_closed:
            socket.is_closed = True
            self._abandon_blobs(socket)
            self._close(socket, "page", None, "")

    def on_report(self, page: Page, document: tuple[object, ...], report: dict[str, Any]) -> None:
        """Process the report of a document about one of its sockets."""
        if report["subject"] != "socket":
            return
        place = (*document, report["socket"])
        if report["kind"] == "opened":
            socket = self._by_document[place] = self._open(report["url"])
            socket.is_reported = True
            self._unpaired[impl_of(page), socket.url].append(socket)
            return
        found = self._by_document.get(place)
        if found is None:
            return
        match report["kind"]:
            case "accepted":
                self._accept(found, report["protocol"], report["extensions"])
            case "closing":
                self._close(found, "page", report["code"], report["reason"])
            case "closed":
                found.is_closed = True
                self._close(found, "server", report["code"], report["reason"])
            case "blob":
                found.queue.append(_QueuedEvent(None, report["blob"]))
            case "empty":
                self._on_message(found, report["sender"], b"" if report["binary"] else "")
            case "content":
                self._resolve_blob(found, report["blob"], report["content"])
            case _:
                return

    def _close(self, socket: _ObservedSocket, closer: SocketSide, code: int | None, reason: str) -> None:
        self._enqueue(socket, lambda listener: listener.on_closed(socket.ordinal, closer, code, reason))

    def _resolve_blob(self, socket: _ObservedSocket, blob: int, content: str | None) -> None:
        """Set the content of a queued Blob; None if it could not be read."""
        event = next((each for each in socket.queue if each.blob == blob and each.deliver is None), None)
        if event is None:
            return
        data = base64.b64decode(content or "")
        if content is None:
            self._note_lost_message(socket)
        self.record_sent(socket.ordinal, socket.url, data)
        event.deliver = lambda listener: listener.on_message(socket.ordinal, "page", data)
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
        while socket.queue and (deliver := socket.queue[0].deliver) is not None:
            socket.queue.popleft()
            self.notify(deliver)

    def _note_lost_message(self, socket: _ObservedSocket) -> None:
        what = f"a message of the page to {self.session.redactor.redact_text(socket.url)}"
        self.lost.append(LostData(what=what, why="the content of its Blob could not be read"))


class AttachedTraffic(LiveTraffic):
    """Observe without routing: with routes, an agent that blocks its loop would stall every page.

    The HTTP cache is disabled over the protocol, as a route would do: replays have none.
    """

    def __init__(self) -> None:
        """Start without notes."""
        super().__init__()
        self._notes: list[str] = []
        """Lines about cancelled requests and service workers."""
        self._report_listeners: tuple[ReportListener, ...] = ()

    async def start(self, session: Session) -> None:
        """Listen to the sockets and uploads of every page."""
        self._session = session
        self._uninstrumented_workers.listen(session)
        self.sockets = sockets = AttachedSockets(session)
        for page in session.context.pages:
            sockets.observe(page)
        session.context.on("page", sockets.observe)
        session.request_bodies = uploads = AttachedUploads(session)
        self._report_listeners = (sockets.on_report, uploads.on_report)
        await listen_to_reports(session.context, *self._report_listeners)
        session.devtools_listeners.append(self._prepare_page)
        session.context.on("requestfailed", self._on_failed)
        session.context.on("serviceworker", self._on_service_worker)
        for worker in session.context.service_workers:
            self._on_service_worker(worker)

    async def stop(self) -> None:
        """Stop listening."""
        await super().stop()
        if self._session is not None:
            stop_listening(self._session.context, *self._report_listeners)

    def outcome(self) -> NetworkOutcome:
        """Add the requests that were cancelled before their response, service workers, and lost socket messages."""
        outcome = super().outcome()
        lost = () if self.sockets is None else (f"{each.what} was lost: {each.why}" for each in self.sockets.lost)
        return outcome.model_copy(update={"notes": (*outcome.notes, *dict.fromkeys((*self._notes, *lost)))})

    def _on_failed(self, request: Request) -> None:
        if request.existing_response is not None:
            return  # what arrived of it is recorded
        if request.failure == ABORTED_ERROR and request.resource_type in {"fetch", "xhr"} and self._session is not None:
            request_line = f"{request.method} {self._session.redactor.redact_text(request.url)}"
            self._notes.append(
                f"{request_line} was cancelled before the response arrived, by the page or by the agent's next action: "
                "the response is unknown and missing in replays"
            )

    def _on_service_worker(self, worker: Worker) -> None:
        if self._session is not None:
            self._notes.append(
                f"{self._session.redactor.redact_text(worker.url)}: a service worker. Replays block service workers: "
                "pages get the recorded responses, but what waits for the worker does not happen"
            )

    def _prepare_page(self, devtools: DevToolsSession) -> None:
        if self.sockets is not None:
            self.sockets.background.start(_disable_cache(devtools))


async def _disable_cache(devtools: DevToolsSession) -> None:
    from playwright.async_api import Error

    with suppress(Error):  # the page is gone
        await devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
