"""Moments of a recorded network moved to another timeline."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import ABORTED_ERROR, Moment, Piece
from eikon_engine.network.long_tasks import LongTask, merge_long_tasks
from eikon_engine.network.retiming import apply_timeline, correct_phases, derive_timeline
from eikon_engine.network.store import NetworkRecording
from eikon_engine.network.websocket import SocketMessage
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange


def recording(*exchanges: Exchange, folder: Path) -> NetworkRecording:
    """Make a recording that contains only exchanges."""
    return NetworkRecording(exchanges=exchanges, truncation=None, blobs=BlobStore(folder))


def ended(ordinal: int, order: int, at_ms: int) -> Exchange:
    """Make an exchange that ended at the given order, which is also its phase."""
    made = make_exchange(url=f"http://shop.test/{ordinal}", ordinal=ordinal)
    end = {"started_ms": float(at_ms), "completed_ms": float(at_ms), "completion": order, "phase": order}
    return made.model_copy(update=end)


def at(order: int, at_ms: int = 0, phase: int = 1) -> Moment:
    """Make a moment."""
    return Moment(order=order, at_ms=at_ms, phase=phase)


def test_without_a_timeline_a_recording_stays_as_it_is(tmp_path: Path) -> None:
    """Without a timeline no moment is changed."""
    read = recording(ended(0, 3, 50), folder=tmp_path)

    assert apply_timeline(read, ()) is read


@pytest.mark.parametrize(
    ("phase", "at_ms", "acted_ms", "corrected"),
    [
        pytest.param(5, 899, {1: 900.0}, 4, id="before the second action acted"),
        pytest.param(5, 900, {1: 900.4}, 5, id="at that time, but for rounding"),
        pytest.param(5, 950, {1: 900.0}, 5, id="after it"),
        pytest.param(5, 899, {0: 900.0, 2: 900.0}, 5, id="unknown when it acted"),
        pytest.param(6, 899, {1: 900.0}, 6, id="after its phases"),
        pytest.param(5, 500, {1: 620.0}, 5, id="computed meanwhile"),
        pytest.param(5, 500, {1: 621.0}, 4, id="computed, and was idle"),
        pytest.param(5, 601, {1: 620.0}, 5, id="after what was received meanwhile"),
        pytest.param(5, 399, {1: 620.0}, 4, id="before it computed"),
    ],
)
def test_what_was_received_before_an_action_acted_precedes_it(
    phase: int, at_ms: int, acted_ms: dict[int, float], corrected: int, tmp_path: Path
) -> None:
    """A recorder learns late when an action acted: its target moved at first, or was covered."""
    moment = at(7, at_ms=at_ms, phase=phase)
    message = SocketMessage(socket=0, sender="server", binary=False, text="", body=None, moment=moment)
    whole = ended(0, 8, at_ms).model_copy(update={"phase": phase, "pieces": (Piece(length=1, moment=moment),)})
    read = replace(
        recording(whole, folder=tmp_path), sockets=(message,), long_tasks=(LongTask(begun_ms=400, ended_ms=600),)
    )

    found = correct_phases(read, acted_ms)

    end = found.exchanges[0].moment
    assert end is not None
    assert (end.order, end.at_ms) == (8, at_ms)
    phases = [end.phase, found.exchanges[0].pieces[0].moment.phase, found.sockets[0].moment.phase]
    assert phases == [corrected] * 3


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=30),
    st.dictionaries(st.integers(0, 5), st.floats(0, 60), max_size=5),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=4),
)
def test_corrected_phases_keep_the_order(
    steps: list[tuple[int, int]], acted_ms: dict[int, float], tasks: list[tuple[int, int]]
) -> None:
    """What was received later is not delivered earlier."""
    times = sorted(at_ms for at_ms, _ in steps)
    phases = list(accumulate(step for _, step in steps))
    messages = tuple(
        SocketMessage(
            socket=0, sender="server", binary=False, text="", body=None, moment=at(order, at_ms=at_ms, phase=phase)
        )
        for order, (at_ms, phase) in enumerate(zip(times, phases, strict=True))
    )
    read = NetworkRecording(
        exchanges=(),
        truncation=None,
        blobs=BlobStore(Path("none")),
        sockets=messages,
        long_tasks=merge_long_tasks(LongTask(begun_ms=begun, ended_ms=begun + took) for begun, took in tasks),
    )

    corrected = [event.moment.phase for event in correct_phases(read, acted_ms).sockets]

    assert corrected == sorted(corrected)


def test_a_response_is_delivered_when_the_waiting_replay_had_it(tmp_path: Path) -> None:
    """A response belongs to the action that requested it, and starts before that action ends."""
    read = recording(ended(0, 7, 900), folder=tmp_path)

    moved = apply_timeline(read, derive_timeline(read, {7: at(2, at_ms=40, phase=1)})).exchanges[0]

    assert moved.moment == at(0, at_ms=40, phase=1)
    assert moved.started_ms == 40.0


def test_unrequested_responses_are_delivered_last(tmp_path: Path) -> None:
    """An exchange that no waiting page requested delays nothing else."""
    read = recording(ended(0, 1, 10), ended(1, 2, 20), folder=tmp_path)

    timeline = derive_timeline(read, {2: at(0, at_ms=15, phase=3)})

    assert [(each.was, each.order, each.phase) for each in timeline] == [(2, 0, 3), (1, 1, 3)]


def test_the_end_of_a_complete_response_follows_its_start(tmp_path: Path) -> None:
    """A document is delivered once, with its first piece; its end has no separate delivery."""
    first = ended(0, 5, 30)
    whole = first.model_copy(update={"pieces": (Piece(length=0, moment=at(4, 20, 5)),)})
    read = recording(whole, ended(1, 6, 40), folder=tmp_path)

    timeline = derive_timeline(read, {4: at(0, 10), 6: at(1, 12)})

    assert [each.was for each in timeline] == [4, 5, 6]


def given_up(ordinal: int, order: int, at_ms: int) -> Exchange:
    """Make an exchange that its page cancelled."""
    return ended(ordinal, order, at_ms).model_copy(update={"response": None, "failure": ABORTED_ERROR})


def test_a_cancelled_request_without_a_response_gets_none(tmp_path: Path) -> None:
    """A waiting replay also leaves a cancelled request without a response unanswered."""
    read = recording(given_up(0, 1, 10), ended(1, 2, 20), folder=tmp_path)

    timeline = derive_timeline(read, {2: at(0, at_ms=15, phase=3)})

    assert [each.was for each in timeline] == [2]
    assert [each.is_pending for each in apply_timeline(read, timeline).exchanges] == [True, False]


def test_a_request_cancelled_by_its_page_is_cancelled_again(tmp_path: Path) -> None:
    """The request of a document that was replaced is cancelled in each replay."""
    read = recording(given_up(0, 1, 10), folder=tmp_path)

    (moved,) = apply_timeline(read, derive_timeline(read, {1: at(0, at_ms=15, phase=3)})).exchanges

    assert (moved.failure, moved.moment) == (ABORTED_ERROR, at(0, at_ms=15, phase=3))


@given(
    orders=st.lists(st.integers(0, 60), unique=True, min_size=1, max_size=12),
    heard=st.sets(st.integers(0, 60), max_size=12),
    new=st.randoms(use_true_random=False),
)
def test_a_timeline_names_every_moment_once_and_numbers_them_in_order(
    orders: list[int], heard: set[int], new: object
) -> None:
    """Every position is assigned once, and deliveries keep their order."""
    from pathlib import Path

    read = recording(*(ended(number, order, order) for number, order in enumerate(orders)), folder=Path("unread"))
    given_orders = [order for order in orders if order in heard]
    new.shuffle(given_orders)  # type: ignore[attr-defined] # a Random of hypothesis
    moments_by_order = {order: at(place, at_ms=place) for place, order in enumerate(given_orders)}

    timeline = derive_timeline(read, moments_by_order)

    assert sorted(each.was for each in timeline) == sorted(orders)
    assert [each.order for each in timeline] == list(range(len(orders)))
    assert [each.was for each in timeline if each.was in moments_by_order] == given_orders
