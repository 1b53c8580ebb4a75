"""A heartbeat is sent at regular intervals, and by a timer that no action started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.network.heartbeats import EFFECT_MS, SpontaneousMessages, find_regular_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

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
