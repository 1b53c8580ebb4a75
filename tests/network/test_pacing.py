"""Which requests a live replay holds back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import ABORTED_ERROR, Exchange, Moment
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


@pytest.mark.parametrize(
    ("other", "is_held"),
    [
        (made(1, 50, 60), True),
        (made(1, 50, 60, method="POST"), False),
        (made(1, 0, 60, method="POST"), True),
        (made(1, 100, 160, method="POST"), True),
        (message("page", 50), False),
        (message("server", 50), True),
    ],
    ids=["a safe one", "an unsafe one", "sent at the same time", "sent after it", "a message", "a push"],
)
def test_a_safe_request_is_held_unless_something_changed_the_server(
    tmp_path: Path,
    other: Exchange | SocketMessage,
    is_held: bool,  # noqa: FBT001 - of the test
) -> None:
    """A long poll is answered because of it."""
    own = made(0, 0, 100)
    exchanges = (own, other) if isinstance(other, Exchange) else (own,)
    plan = planned(tmp_path, *exchanges, messages=() if isinstance(other, Exchange) else (other,))

    assert (0 in plan.held, 0 in plan.answered_ms) == (is_held, not is_held)


@pytest.mark.parametrize(
    ("other", "is_held"),
    [(made(1, 50, 60), False), (made(1, 100, 160), True), (message("page", 50), False), (message("server", 50), False)],
    ids=["a request", "a later one", "a message", "a push"],
)
def test_an_unsafe_request_is_held_only_if_nothing_else_happens(
    tmp_path: Path,
    other: Exchange | SocketMessage,
    is_held: bool,  # noqa: FBT001 - of the test
) -> None:
    """What is read meanwhile shows its effect."""
    own = made(0, 0, 100, method="POST")
    exchanges = (own, other) if isinstance(other, Exchange) else (own,)
    plan = planned(tmp_path, *exchanges, messages=() if isinstance(other, Exchange) else (other,))

    assert (0 in plan.held) == is_held
    assert plan.answered_ms.get(0) == (None if is_held else (0, 100))


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


@pytest.mark.parametrize(
    ("other", "is_held"),
    [
        (made(1, 50, 160), True),
        (made(1, 50, 160, method="POST"), True),
        (made(1, 50, 90), False),
        (made(1, 50, None, method="POST"), False),
    ],
    ids=["a read", "an unsafe one", "a shorter read", "an unsafe one without a response"],
)
def test_what_overlaps_is_held_in_its_order(tmp_path: Path, other: Exchange, is_held: bool) -> None:  # noqa: FBT001 - of the test
    """A page that saves while it reads sends both as if it had waited for the response."""
    assert (0 in planned(tmp_path, made(0, 0, 100, method="PUT"), other).held) == is_held


def test_what_is_not_held_overtakes_what_was_sent_before(tmp_path: Path) -> None:
    """A read spans a save and is sent at once, so that an earlier save of which it may show the effect is, too."""
    plan = planned(
        tmp_path, made(0, 0, 60, method="PUT"), made(1, 50, 200), made(2, 100, 150, method="PUT"), made(3, 150, 220)
    )

    assert plan.held == {2, 3}


def test_a_document_is_requested_at_once(tmp_path: Path) -> None:
    """A save whose page is left meanwhile reaches the server before the next page does."""
    page = make_exchange(ordinal=1).request.model_copy(update={"is_navigation": True})
    plan = planned(tmp_path, made(0, 0, 100, method="PUT"), made(1, 50, 160, request=page))

    assert plan.held == {1}
