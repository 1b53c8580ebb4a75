"""Sockets of a live replay get their recorded names where rules allow it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from eikon_engine.browser.page_timeline import PageTimeline
from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames, SocketRules
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import Moment
from eikon_engine.network.matching import RuleUsage
from eikon_engine.network.store import NetworkRecording
from eikon_engine.network.websocket import SocketMessage, SocketOpened, message_key, socket_key
from eikon_engine.trace.rules import JsonPathRule, QueryKeyRule

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.browser.page_clock import PageClock
    from eikon_engine.trace.rules import VolatileRule

URL = "ws://shop.test/live?s=1"
RULES: tuple[VolatileRule, ...] = (
    QueryKeyRule(name="s", url="ws://shop.test/live", method="WEBSOCKET", reason="a session"),
    JsonPathRule(path="$.n", url="ws://shop.test/live", method="WEBSOCKET", reason="a number"),
)


def names(folder: Path, rules: tuple[VolatileRule, ...]) -> RecordedSocketNames:
    """Record one socket with two messages of its page."""
    moment = Moment(order=0, at_ms=0, phase=1)
    events = (
        SocketOpened(socket=0, url=URL, moment=moment),
        SocketMessage(socket=0, sender="page", text='{"n":1}', moment=moment),
        SocketMessage(socket=0, sender="page", text="bye", moment=moment),
    )
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(folder), sockets=events)
    return RecordedSocketNames(recording, SocketRules(RuleUsage(rules)))


def test_a_socket_that_matches_by_rule_has_its_recorded_name(tmp_path: Path) -> None:
    """Another session and another number are equal by rule, another text is not."""
    live = "ws://shop.test/live?s=2"
    named = names(tmp_path, RULES)

    assert named.key_of_opened(5, live) == socket_key(URL)
    assert named.key_of_sent(5, live, b'{"n":2}') == message_key(URL, b'{"n":1}')
    assert named.key_of_sent(5, live, b"good-bye") == message_key(live, b"good-bye")
    assert named.key_of_sent(5, live, b"one too many") == message_key(live, b"one too many")
    assert named.key_of_opened(6, live) == socket_key(live)


@dataclass
class Clock:
    """Shows a page time."""

    now_ms: float = 0.0


@pytest.mark.parametrize(("lag_ms", "is_beyond"), [(0.0, True), (3000.0, False)])
def test_a_replay_that_lags_behind_is_still_within_the_recording(
    tmp_path: Path, lag_ms: float, *, is_beyond: bool
) -> None:
    """Its interval sends a message at a page time of five seconds, which the recording of four seconds had at two."""
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(tmp_path), end_ms=4000.0)
    named = RecordedSocketNames(recording, SocketRules(RuleUsage(())))
    clock = Clock()
    timeline = PageTimeline(cast("PageClock", clock))
    timeline.mark_acting()
    clock.now_ms, timeline.lag_ms = 5000.0, lag_ms
    timeline.mark_clock_move()

    assert named.is_beyond_recording(0.0, timeline) is is_beyond


def test_without_rules_every_socket_has_its_own_name(tmp_path: Path) -> None:
    """A socket recorded under another URL is another socket."""
    named = names(tmp_path, ())

    assert named.key_of_opened(0, "ws://shop.test/live?s=2") == socket_key("ws://shop.test/live?s=2")
    assert named.key_of_sent(0, "ws://shop.test/live?s=2", b"x") == message_key("ws://shop.test/live?s=2", b"x")
