"""A heartbeat is sent at regular intervals, and by a timer that no action started."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import pytest

from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import Moment
from eikon_engine.network.heartbeats import (
    EFFECT_MS,
    MAX_HEARTBEAT,
    RecordedMessage,
    ServerHeartbeat,
    SpontaneousMessages,
    find_answered_heartbeats,
    find_regular_messages,
    find_server_heartbeat,
)
from eikon_engine.network.store import NetworkRecording
from eikon_engine.network.websocket import SocketMessage, SocketOpened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eikon_engine.network.websocket import SocketSide

KEY = ("WEBSOCKET ws://shop.test/live", b"ping")
INTERVAL_MS = 1000.0


def regular(*times: Sequence[float]) -> list[tuple[float, float]]:
    """Return last time and longest interval of a message that was sent at these times, by socket, if it is regular."""
    sent = [(socket, KEY, b"ping", at_ms) for socket, each in enumerate(times) for at_ms in each]
    return [(found.last_ms, found.interval_ms) for _, found in find_regular_messages(sent)]


def test_three_messages_at_similar_intervals_are_regular() -> None:
    """Timers of a busy page fire a little late."""
    assert regular((0.0, 1000.0, 2100.0)) == [(2100.0, 1100.0)]


@pytest.mark.parametrize("times", [(), (0.0,), (0.0, 1000.0), (0.0, 1000.0, 2500.0), (0.0, 0.0, 0.0)])
def test_anything_else_is_not_regular(times: tuple[float, ...]) -> None:
    """Messages sent at once, or twice, or at any time, may be those of actions."""
    assert regular(times) == []


def test_intervals_are_those_of_one_socket() -> None:
    """The page opened another socket for the third message."""
    assert regular((0.0, 1000.0), (2000.0,)) == []
    assert regular((0.0, 1000.0, 2000.0), (7000.0,)) == [(7000.0, 1000.0)]


def test_a_timer_that_each_action_starts_is_no_heartbeat() -> None:
    """A page sends a message once, shortly after each action."""
    sent = SpontaneousMessages()
    for actions in range(1, 6):
        sent.note_sent_by_timer(KEY, actions=actions, since_action_ms=300.0, recorded_ms=actions * INTERVAL_MS)

    assert KEY not in sent


def test_a_timer_that_sends_twice_without_an_action_sends_heartbeats() -> None:
    """The second message after an action needs no further one; neither does one long after it."""
    twice, late = SpontaneousMessages(), SpontaneousMessages()
    for since_ms in (100.0, 200.0):
        twice.note_sent_by_timer(KEY, actions=1, since_action_ms=since_ms, recorded_ms=since_ms)
    late.note_sent_by_timer(KEY, actions=1, since_action_ms=EFFECT_MS + 1, recorded_ms=EFFECT_MS + 1)

    assert KEY in twice
    assert KEY in late


def test_a_heartbeat_that_stopped_has_not_continued() -> None:
    """A page that stopped sending is not the recorded page."""
    (_, found), *_ = find_regular_messages((0, KEY, b"ping", number * INTERVAL_MS) for number in range(10))
    sent = SpontaneousMessages()
    sent.note_sent_by_timer(KEY, actions=1, since_action_ms=5000.0, recorded_ms=5000.0)

    assert not sent.has_continued(KEY, found, end_ms=20_000.0)
    assert sent.has_continued(KEY, found, end_ms=6000.0)
    sent.note_sent_by_timer(KEY, actions=2, since_action_ms=100.0, recorded_ms=8000.0)
    assert sent.has_continued(KEY, found, end_ms=20_000.0)


OPENED_MS = 500.0
USUAL = [
    *(b"", b"h", b"\n", b"ping", b"PING\n", b'"ping"', b"pusher:ping", b"primus::ping::1700000000000", b"keep-alive"),
    *(
        b'{"type": "ping", "message": "2026-11-27T20:51:24Z"}',
        b'{"event":"pusher:ping","data":"{}"}',
        b'{"op":"heartbeat"}',
    ),
    *(b'{"method":"ka"}', b'{"action":"hb"}', b'{"type":6}\x1e'),
]
UNUSUAL = [
    *(b'{"toast":"Ping from Bob"}', b"Bob: ping", b"shopping", b'{"type":"message","text":"ping"}', b"hello", b"\xff"),
    *(b'{"ping":3}', b'["ping"]', b'{"type":{"ping":1}}', b"2", b"3", b"pong", b"ping" + b" " * MAX_HEARTBEAT),
]


def heartbeat(
    *times: float, content: bytes = b"ping", answer: bytes | None = None, ended_ms: float | None = None
) -> ServerHeartbeat | None:
    """Return the heartbeat of a server that sent a message at these times; the socket ended just after the last."""
    sent = [RecordedMessage("server", is_binary=False, content=content, at_ms=at_ms) for at_ms in times]
    if answer is not None:
        answers = [RecordedMessage("page", is_binary=False, content=answer, at_ms=at_ms + 1) for at_ms in times]
        sent = [each for pair in zip(sent, answers, strict=True) for each in pair]
    ended_ms = times[-1] + 10 if ended_ms is None else ended_ms
    return find_server_heartbeat(sent, None, opened_ms=OPENED_MS, ended_ms=ended_ms)


@pytest.mark.parametrize("content", USUAL)
def test_a_usual_heartbeat_of_a_server_needs_two_messages(content: bytes) -> None:
    """Its whole text is known, or the type that its JSON names."""
    found = heartbeat(1000.0, 4000.0, content=content)

    assert found is not None
    assert found.interval_ms == 3000.0
    assert heartbeat(1000.0, content=content) is None


def test_a_usual_heartbeat_may_have_a_time() -> None:
    """Each differs from the one before it in the time alone."""
    contents = [b'{"type":"ping","message":%d}' % (1_700_000_000_000 + at_ms) for at_ms in (1000, 4000)]
    sent = [
        RecordedMessage("server", is_binary=False, content=each, at_ms=1000.0 + 3000 * place)
        for place, each in enumerate(contents)
    ]

    found = find_server_heartbeat(sent, None, opened_ms=OPENED_MS, ended_ms=5000.0)

    assert found is not None
    assert found.content == contents[-1]


@pytest.mark.parametrize("content", UNUSUAL)
def test_a_text_that_contains_the_name_of_a_heartbeat_is_none(content: bytes) -> None:
    """People write such words as well, and servers count."""
    assert heartbeat(1000.0, 4000.0, content=content) is None


def test_an_answered_message_is_a_heartbeat() -> None:
    """Any message is one with three answers at regular intervals; the ping of Engine.IO with two."""
    assert heartbeat(1000.0, 4000.0, 7000.0, content=b"here?", answer=b"yes") is not None
    assert heartbeat(1000.0, 4000.0, content=b"here?", answer=b"yes") is None
    assert heartbeat(1000.0, 4000.0, content=b"2", answer=b"3") is not None


@pytest.mark.parametrize(
    ("end_ms", "is_found"), [(inf, True), (7000.0, True), (67_000.0, False)], ids=["unknown", "soon", "late"]
)
def test_the_end_of_a_recording_with_a_timeline_is_known(tmp_path: Path, end_ms: float, *, is_found: bool) -> None:
    """The recording with its recorded moments has none of its own."""
    exchange: tuple[tuple[SocketSide, str], ...] = (("server", "ping"), ("page", "pong"))
    opened = SocketOpened(socket=0, url="ws://shop.test/live", moment=Moment(order=0, at_ms=0, phase=1))
    sent = [
        SocketMessage(socket=0, sender=sender, text=text, moment=Moment(order=order, at_ms=at_ms, phase=1))
        for order, at_ms in enumerate((1000, 4000, 6900), start=1)
        for sender, text in exchange
    ]
    blobs = BlobStore(tmp_path)
    recorded = NetworkRecording(exchanges=(), truncation=None, blobs=blobs, sockets=(opened, *sent))

    found = find_answered_heartbeats(replace(recorded, end_ms=end_ms, before_timeline=recorded))

    assert [each.answer for _, each in found] == ([b"pong"] if is_found else [])


def test_a_long_message_is_no_heartbeat() -> None:
    """Whatever it has besides a time; so a busy socket is compared quickly."""
    begins = ServerHeartbeat(b"at 1700000000000", is_binary=False, interval_ms=1000.0, answer=b"1700000000000")
    long = b"1700000000" * (MAX_HEARTBEAT // 10) + b"0"

    assert begins.is_sent_in(b"at 1800000000000")
    assert begins.is_answered_by(b"1800000000000")
    assert not begins.is_sent_in(b"at " + long)
    assert not begins.is_answered_by(long)


@pytest.mark.parametrize("answer", [None, b"pong"])
def test_a_server_sends_no_heartbeat_more_often_than_once_a_second(answer: bytes | None) -> None:
    """Equal messages in quick succession are something else, such as keys of a remote terminal."""
    for interval_ms, is_found in ((20.0, False), (999.0, False), (1000.0, True)):
        times = [OPENED_MS + place * interval_ms for place in range(3)]
        assert (heartbeat(*times, content=b"h", answer=answer) is not None) is is_found


@pytest.mark.parametrize("answer", [None, b"pong"])
def test_a_pause_disproves_a_heartbeat_of_a_server(answer: bytes | None) -> None:
    """A server that sends it while the socket is open sends it soon after the opening, and until the end."""
    times = (1000.0, 4000.0, 7000.0)
    assert heartbeat(*times, answer=answer, ended_ms=10_500.0) is not None
    assert heartbeat(*times, answer=answer, ended_ms=67_000.0) is None
    assert heartbeat(*times, answer=answer, ended_ms=inf) is None
    assert heartbeat(*(OPENED_MS + 30_000 + each for each in times), answer=answer) is None
