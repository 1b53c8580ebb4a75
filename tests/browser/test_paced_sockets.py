"""What a live server sends is paired with what the recorded one sent."""

from __future__ import annotations

from collections import deque

from eikon_engine.browser.traffic.paced_sockets import PacedSocket, Push
from eikon_engine.network.exchange import Moment

STARTING, READY, ANSWER = (f'{{"id": 4{number}, "state": "{state}"}}'.encode() for number, state in enumerate("abc"))


def push(order: int, content: bytes, sent_before: int) -> Push:
    """Return a message that a server sent after so many of the page."""
    return Push("message", Moment(order=order, at_ms=order, phase=1), float(order), sent_before, lambda: content)


def paced() -> PacedSocket:
    """Return a socket on which the server said two things, and answered each of two messages of the page."""
    pushes = (push(1, STARTING, 0), push(2, READY, 0), push(4, ANSWER, 1), push(6, ANSWER, 2))
    return PacedSocket({"message": deque(pushes)}, (3.0, 5.0), 0.0)


def order_of(taken: Push | None) -> int | None:
    """Return the place of a message in the recording."""
    return None if taken is None else taken.moment.order


def give_up(socket: PacedSocket) -> None:
    """Wait in vain for what comes next."""
    expected = socket.next()
    assert expected is not None
    socket.awaited_since_s, socket.given_up = 1.0, expected.moment


def test_what_did_not_come_before_the_page_asked_is_skipped() -> None:
    """The answer has its own moment then, and is waited for anew."""
    socket = paced()
    assert order_of(socket.take("message", STARTING)) == 1
    give_up(socket)

    assert [each.moment.order for each in socket.count_sent()] == [2]
    assert socket.awaited_since_s is None
    assert order_of(socket.take("message", ANSWER)) == 4
    assert socket.count_sent() == ()
    assert order_of(socket.take("message", ANSWER)) == 6


def test_what_comes_late_is_no_answer() -> None:
    """It differs from what was recorded in nothing but numbers and ids."""
    socket = paced()
    give_up(socket)
    assert [each.moment.order for each in socket.count_sent()] == [1, 2]

    assert order_of(socket.take("message", READY.replace(b"41", b"977"))) == 2
    assert order_of(socket.take("message", ANSWER)) == 4
    assert order_of(socket.take("message", READY)) == 6


def test_what_is_still_waited_for_is_not_skipped() -> None:
    """A server that is only slow keeps its turn."""
    socket = paced()

    assert socket.count_sent() == ()
    assert order_of(socket.take("message", STARTING)) == 1


def test_what_the_page_sends_more_than_recorded_skips_nothing() -> None:
    """There is no recorded message that it could stand for."""
    socket = paced()
    socket.sent = 2
    give_up(socket)

    assert socket.count_sent() == ()
