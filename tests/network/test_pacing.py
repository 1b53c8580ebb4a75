"""Which requests a live replay holds back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import ABORTED_ERROR, Exchange, Moment, Piece
from eikon_engine.network.pacing import Pacing, plan_pacing
from eikon_engine.network.store import NetworkRecording
from eikon_engine.network.websocket import SocketMessage
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.websocket import SocketSide


def made(ordinal: int, began: float, ended: float | None, *, method: str = "GET", **changes: object) -> Exchange:
    """Make an exchange that took from one page time to another; None if the recording ended before."""
    exchange = make_exchange(ordinal=ordinal, method=method)
    end: dict[str, Any] = {"completed_ms": ended, "completion": ordinal if ended is not None else None}
    response = exchange.response if ended is not None else None
    return exchange.model_copy(update={"started_ms": began, "response": response, **end, **changes})


def message(sender: SocketSide, at_ms: int) -> SocketMessage:
    """Make a message of one side of a socket."""
    return SocketMessage(socket=0, sender=sender, text="x", moment=Moment(order=90, at_ms=at_ms, phase=1))


def planned(tmp_path: Path, *exchanges: Exchange, messages: tuple[SocketMessage, ...] = ()) -> Pacing:
    """Plan for a recording; what has `telemetry` in its URL is telemetry."""
    recording = NetworkRecording(exchanges=exchanges, truncation=None, blobs=BlobStore(tmp_path), sockets=messages)
    return plan_pacing(recording, lambda each: "telemetry" in each.key)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_is_held(tmp_path: Path, method: str) -> None:
    """Also if others overlap it: they wait until it is let through."""
    others = made(1, 50, 60, method="POST"), made(2, 50, 160)
    plan = planned(tmp_path, made(0, 0, 100, method=method), *others, messages=(message("page", 50),))

    assert plan.held == {0, 1, 2}
    assert plan.answered_ms == {}


@pytest.mark.parametrize(("next_began", "order", "comes_at_ms"), [(1310, 9, 20), (1290, 9, 1300), (1310, 1, 1300)])
def test_what_a_timeline_leaves_behind_comes_with_what_followed_it(
    tmp_path: Path, next_began: float, order: int, comes_at_ms: int
) -> None:
    """A sealed replay answers two equal requests with the first response, so that the second one has no new moment.

    What was requested before it had come shows nothing: a page may wait for both. Nor is it left behind if it precedes
    what was requested later.
    """
    began = (1000, 1200, next_began, next_began + 10)
    recorded = tuple(made(ordinal, began[ordinal], 1100 + 200 * ordinal) for ordinal in range(4))
    moved = tuple(
        each.model_copy(update={"completion": order} if each.ordinal == 1 else {"completed_ms": 10.0 * each.ordinal})
        for each in recorded[: 4 if next_began > 1300 else 3]
    )
    kept = recorded[: len(moved)]
    before = NetworkRecording(exchanges=kept, truncation=None, blobs=BlobStore(tmp_path))
    timeline = NetworkRecording(exchanges=moved, truncation=None, blobs=BlobStore(tmp_path), before_timeline=before)

    found = plan_pacing(timeline, lambda _each: False).moments

    assert found[1].at_ms == comes_at_ms
    assert [found[ordinal].at_ms for ordinal in found if ordinal != 1] == [30, 20, 0][-len(found) + 1 :]
    assert {each.at_ms for each in plan_pacing(before, lambda _each: False).moments.values()} == {
        round(each.completed_ms or 0.0) for each in kept
    }


@pytest.mark.parametrize(
    ("content_type", "comes_at_ms"),
    [("application/json; charset=utf-8", 200), ("application/vnd.api+json", 200), ("application/x-ndjson", 100)],
)
def test_json_is_of_use_once_it_is_whole(tmp_path: Path, content_type: str, comes_at_ms: int) -> None:
    """However many pieces it came in; any other response may be used as it comes, and is not held."""
    exchange = made(0, 0, 200, pieces=(Piece(length=0, moment=Moment(order=1, at_ms=100, phase=1)),))
    assert exchange.response is not None
    response = exchange.response.model_copy(update={"headers": (("Content-Type", content_type),)})

    plan = planned(tmp_path, exchange.model_copy(update={"response": response}))

    assert plan.moments[0].at_ms == comes_at_ms
    assert plan.held == (frozenset() if comes_at_ms == 100 else {0})


def test_an_unsafe_request_is_sent_at_once_if_the_server_sent_a_message_meanwhile(tmp_path: Path) -> None:
    """The message may be about it."""
    plan = planned(
        tmp_path, made(0, 0, 100, method="POST"), made(1, 0, 100), made(2, 50, 90), messages=(message("server", 50),)
    )

    assert plan.held == {1, 2}
    assert plan.answered_ms == {0: (0, 100)}
    assert plan.pushed_during == {0}


@pytest.mark.parametrize(
    ("last_ms", "ended_ms", "headers", "is_kept"),
    [
        (105, None, {"Content-Length": "1"}, True),
        (105, 105, {}, True),
        (105, None, {}, False),
        (105, 400, {}, False),
        (400, None, {"Content-Length": "1"}, False),
        (105, None, {"Content-Length": "1", "Content-Type": "text/event-stream"}, False),
    ],
    ids=["whole", "ended", "open", "ended late", "slow", "event stream"],
)
def test_the_response_during_which_a_server_sent_a_message_is_kept_as_a_whole(
    tmp_path: Path, last_ms: int, ended_ms: float | None, headers: dict[str, str], *, is_kept: bool
) -> None:
    """A stream is not: its page reads it as it comes, and it may never end."""
    pieces = tuple(Piece(length=n, moment=Moment(order=n, at_ms=at, phase=1)) for n, at in enumerate((100, last_ms)))
    made_of_pieces = made(0, 0, ended_ms, method="POST", pieces=pieces)
    response = make_exchange().response
    assert response is not None
    response = response.model_copy(update={"headers": tuple(headers.items())})

    plan = planned(
        tmp_path, made_of_pieces.model_copy(update={"response": response}), messages=(message("server", 50),)
    )

    assert plan.answered_ms == {0: (0, 100)}
    assert plan.pushed_during == ({0} if is_kept else set())


def test_a_cancelled_save_is_sent_at_once(tmp_path: Path) -> None:
    """The site must get it, whatever became of the response."""
    cancelled: dict[str, Any] = {"response": None, "failure": ABORTED_ERROR}
    plan = planned(tmp_path, made(0, 0, 100, method="POST", **cancelled), made(1, 0, 100, **cancelled))

    assert plan.held == {1}
    assert plan.answered_ms == {}


def test_what_the_recording_ended_before_is_not_waited_for(tmp_path: Path) -> None:
    """That of an unsafe one is, so that it reaches the site."""
    plan = planned(tmp_path, made(0, 0, None), made(1, 0, None, method="POST"))

    assert (plan.unanswered, plan.held, plan.withheld) == (frozenset({0}), frozenset(), frozenset())


def test_telemetry_is_not_held(tmp_path: Path) -> None:
    """Its response does not matter to a page."""
    exchange = made(0, 0, 100).model_copy(update={"key": "POST http://shop.test/telemetry"})

    assert planned(tmp_path, exchange).held == frozenset()
