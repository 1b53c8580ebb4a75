"""A socket that cannot be recorded or played ends the session, which says why."""

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
from tests.browser.no_browser import silent_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.async_api import WebSocketRoute

    from eikon_engine.browser.page_tracker import PageTracker
    from eikon_engine.browser.session import Session
    from eikon_engine.network.websocket import SocketSide

URL = "ws://shop.test/live"


class Room:
    """The parts of a session that sockets use."""

    def __init__(self) -> None:
        """Begin with no page."""
        self.ledger: PageTracker = silent_ledger()
        self.rest = PageStabilizer(SteppedClock(), self.ledger, 100.0)
        self.redactor = self.restorer = Redactor({})
        self.found = None

    def put_back(self, data: bytes) -> bytes:
        """Give pages what was recorded: there are no secrets."""
        return data


@dataclass(slots=True)
class End:
    """One end of a connection."""

    url: str = URL
    sent: list[str | bytes] = field(default_factory=list)
    receive: Callable[[str | bytes], None] = print
    server: End | None = None

    def connect_to_server(self) -> End:
        """Make the other end."""
        self.server = End()
        return self.server

    def send(self, content: str | bytes) -> None:
        """Keep what is sent."""
        self.sent.append(content)

    def on_message(self, receive: Callable[[str | bytes], None]) -> None:
        """Keep who receives."""
        self.receive = receive

    def on_close(self, _close: Callable[[int | None, str | None], None]) -> None:
        """Never close."""


@dataclass(frozen=True, slots=True)
class FullDisk:
    """A listener that cannot write down what it hears."""

    fault: Exception

    def on_opened(self, socket: int, url: str) -> None:
        """Hear of a new socket."""

    def on_accepted(self, socket: int, protocol: str, extensions: str) -> None:
        """Hear of an accepted one."""

    def on_message(self, _socket: int, _sender: SocketSide, _content: str | bytes) -> None:
        """Fail."""
        raise self.fault

    def on_closed(self, socket: int, closer: SocketSide, code: int | None, reason: str) -> None:
        """Hear of an end."""


async def let_run() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("sender", ["page", "server"])
def test_message_that_cannot_be_recorded_is_told_and_passed_on(sender: SocketSide) -> None:
    """The line lives on, so that nothing waits for it."""
    room, page = Room(), End()

    async def run() -> int:
        sockets = LiveSockets(cast("Session", room))
        sockets.listeners.append(FullDisk(OutputError("the disk is full")))
        sockets.connect(cast("WebSocketRoute", page))
        assert page.server is not None
        for text in ("one", "two"):
            (page if sender == "page" else page.server).receive(text)
            await let_run()
        waiting = room.rest.pending_work[0]()
        await sockets.stop()
        return waiting

    waiting = asyncio.run(run())

    assert page.server is not None
    assert (page.server if sender == "page" else page).sent == ["one", "two"]
    assert waiting == 0
    assert room.ledger.error is not None
    assert room.ledger.error.message == "the disk is full"


def test_line_that_breaks_is_told() -> None:
    """A fault of ours ends the session, not one socket of it alone."""
    room, page = Room(), End()

    async def run() -> None:
        sockets = LiveSockets(cast("Session", room))
        sockets.listeners.append(FullDisk(KeyError("socket")))
        sockets.connect(cast("WebSocketRoute", page))
        assert page.server is not None
        page.server.receive("one")
        await let_run()
        await sockets.stop()

    asyncio.run(run())

    assert room.ledger.error is not None
    assert "KeyError: 'socket'" in room.ledger.error.message


@pytest.mark.parametrize("sender", ["page", "server"])
def test_recorded_message_that_cannot_be_read_is_told(tmp_path: Path, sender: SocketSide) -> None:
    """What the page sends cannot be compared with it, and it cannot be sent to the page."""
    room, page = Room(), End()
    gone = BlobRef(sha256="0" * 64, size=3)
    moments = tuple(Moment(order=order, at_ms=0, phase=0) for order in range(2))
    events = (
        SocketOpened(socket=0, url=URL, moment=moments[0]),
        SocketMessage(socket=0, sender=sender, binary=True, body=gone, moment=moments[1]),
    )
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(tmp_path), sockets=events)

    async def run() -> None:
        schedule = DeliverySchedule(room.rest, room.ledger, moments[1:])
        player = SocketReplay(cast("Session", room), schedule, recording, SocketRules((), RuleUsage(())), [])
        await player.play(cast("WebSocketRoute", page))
        await let_run()
        if sender == "page":
            page.receive(b"abc")
        await let_run()
        await player.stop()
        await schedule.stop()

    asyncio.run(run())

    assert room.ledger.error is not None
    assert room.ledger.error.code == "attachment-missing"
