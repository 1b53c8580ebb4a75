"""A socket that cannot be recorded or replayed ends the session with an error."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from eikon_engine.browser.page_clock import SteppedClock
from eikon_engine.browser.stabilizer import PageStabilizer
from eikon_engine.browser.traffic.schedule import DeliverySchedule
from eikon_engine.browser.traffic.socket_replay import SocketReplay, SocketRules
from eikon_engine.browser.traffic.sockets import LiveSockets
from eikon_engine.errors import OutputError
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.network.exchange import Moment
from eikon_engine.network.matching import RuleUsage
from eikon_engine.network.store import NetworkRecording
from eikon_engine.network.websocket import SocketMessage, SocketOpened
from eikon_engine.secrets.redaction import Redactor
from tests.browser.fake_context import fake_tracker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.async_api import WebSocketRoute

    from eikon_engine.browser.page_tracker import PageTracker
    from eikon_engine.browser.session import Session
    from eikon_engine.network.websocket import SocketSide

URL = "ws://shop.test/live"


class FakeSession:
    """The parts of a session that sockets use."""

    def __init__(self) -> None:
        """Start without a page."""
        self.tracker: PageTracker = fake_tracker()
        self.stabilizer = PageStabilizer(SteppedClock(), self.tracker, 100.0)
        self.timeline = self.stabilizer.timeline
        self.redactor = self.secret_restorer = Redactor({})
        self.secret_detector = None

    def restore_secrets(self, data: bytes) -> bytes:
        """Return the recorded data: there are no secrets."""
        return data


@dataclass(slots=True)
class FakeRoute:
    """One side of a connection."""

    url: str = URL
    sent: list[str | bytes] = field(default_factory=list)
    receive: Callable[[str | bytes], None] = print
    server: FakeRoute | None = None

    def connect_to_server(self) -> FakeRoute:
        """Create the other side."""
        self.server = FakeRoute()
        return self.server

    def send(self, content: str | bytes) -> None:
        """Record what is sent."""
        self.sent.append(content)

    def on_message(self, receive: Callable[[str | bytes], None]) -> None:
        """Keep the receiver."""
        self.receive = receive

    def on_close(self, _close: Callable[[int | None, str | None], None]) -> None:
        """Never close."""


@dataclass(frozen=True, slots=True)
class FailingListener:
    """A listener that cannot write what it receives."""

    error: Exception

    def on_opened(self, socket: int, url: str) -> None:
        """Ignore it."""

    def on_accepted(self, socket: int, protocol: str, extensions: str) -> None:
        """Ignore it."""

    def on_message(self, _socket: int, _sender: SocketSide, _content: str | bytes) -> None:
        """Raise the error."""
        raise self.error

    def on_closed(self, socket: int, closer: SocketSide, code: int | None, reason: str) -> None:
        """Ignore it."""


async def run_pending_tasks() -> None:
    """Run the event loop until all tasks are blocked."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("sender", ["page", "server"])
def test_a_message_that_cannot_be_recorded_is_forwarded_and_reported(sender: SocketSide) -> None:
    """The connection stays usable, so that nothing waits for it."""
    session, page = FakeSession(), FakeRoute()

    async def run() -> int:
        sockets = LiveSockets(cast("Session", session))
        sockets.listeners.append(FailingListener(OutputError("the disk is full")))
        await sockets.connect(cast("WebSocketRoute", page))
        assert page.server is not None
        for text in ("one", "two"):
            (page if sender == "page" else page.server).receive(text)
            await run_pending_tasks()
        waiting = session.stabilizer.pending_work[0]()
        await sockets.stop()
        return waiting

    waiting = asyncio.run(run())

    assert page.server is not None
    assert (page.server if sender == "page" else page).sent == ["one", "two"]
    assert waiting == 0
    assert session.tracker.error is not None
    assert session.tracker.error.message == "the disk is full"


def test_an_internal_error_ends_the_session() -> None:
    """An error of ours ends the whole session, not one socket."""
    session, page = FakeSession(), FakeRoute()

    async def run() -> None:
        sockets = LiveSockets(cast("Session", session))
        sockets.listeners.append(FailingListener(KeyError("socket")))
        await sockets.connect(cast("WebSocketRoute", page))
        assert page.server is not None
        page.server.receive("one")
        await run_pending_tasks()
        await sockets.stop()

    asyncio.run(run())

    assert session.tracker.error is not None
    assert "KeyError: 'socket'" in session.tracker.error.message


@pytest.mark.parametrize("sender", ["page", "server"])
def test_an_unreadable_recorded_message_is_reported(tmp_path: Path, sender: SocketSide) -> None:
    """It can neither be compared with the page's message nor be sent to the page."""
    session, page = FakeSession(), FakeRoute()
    gone = BlobRef(sha256="0" * 64, size=3)
    moments = tuple(Moment(order=order, at_ms=0, phase=0) for order in range(2))
    events = (
        SocketOpened(socket=0, url=URL, moment=moments[0]),
        SocketMessage(socket=0, sender=sender, binary=True, body=gone, moment=moments[1]),
    )
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(tmp_path), sockets=events)

    async def run() -> None:
        schedule = DeliverySchedule(session.stabilizer, session.tracker, moments[1:])
        player = SocketReplay(cast("Session", session), schedule, recording, SocketRules(RuleUsage(())), [])
        await player.play(cast("WebSocketRoute", page))
        await run_pending_tasks()
        if sender == "page":
            page.receive(b"abc")
        await run_pending_tasks()
        await player.stop()
        await schedule.stop()

    asyncio.run(run())

    assert session.tracker.error is not None
    assert session.tracker.error.code == "attachment-missing"
