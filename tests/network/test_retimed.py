"""Moments of a recorded network in another timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import ABORTED_ERROR, Moment, Piece
from eikon_engine.network.retiming import apply_timeline, derive_timeline
from eikon_engine.network.store import NetworkRecording
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange


def recording(*exchanges: Exchange, folder: Path) -> NetworkRecording:
    """Make a recording of exchanges alone."""
    return NetworkRecording(exchanges=exchanges, truncation=None, blobs=BlobStore(folder))


def ended(ordinal: int, order: int, at_ms: int) -> Exchange:
    """Make an exchange that ended then, in the phase of its order."""
    made = make_exchange(url=f"http://shop.test/{ordinal}", ordinal=ordinal)
    end = {"started_ms": float(at_ms), "completed_ms": float(at_ms), "completion": order, "phase": order}
    return made.model_copy(update=end)


def at(order: int, at_ms: int = 0, phase: int = 1) -> Moment:
    """Make a moment."""
    return Moment(order=order, at_ms=at_ms, phase=phase)


def test_without_a_timeline_a_recording_stays_as_it_is(tmp_path: Path) -> None:
    """Nothing is moved where nobody asks for it."""
    read = recording(ended(0, 3, 50), folder=tmp_path)

    assert apply_timeline(read, ()) is read


def test_an_answer_comes_when_the_waiting_replay_had_it(tmp_path: Path) -> None:
    """It was recorded during the next action; it belongs to the one that asked, and begins no later than it ends."""
    read = recording(ended(0, 7, 900), folder=tmp_path)

    moved = apply_timeline(read, derive_timeline(read, {7: at(2, at_ms=40, phase=1)})).exchanges[0]

    assert moved.moment == at(0, at_ms=40, phase=1)
    assert moved.started_ms == 40.0


def test_what_nobody_asked_for_comes_last(tmp_path: Path) -> None:
    """An exchange that no waiting page asked for keeps nothing else waiting."""
    read = recording(ended(0, 1, 10), ended(1, 2, 20), folder=tmp_path)

    timeline = derive_timeline(read, {2: at(0, at_ms=15, phase=3)})

    assert [(each.was, each.order, each.phase) for each in timeline] == [(2, 0, 3), (1, 1, 3)]


def test_the_end_of_an_answer_that_came_whole_follows_its_beginning(tmp_path: Path) -> None:
    """A document is given once, when its first piece is due; its end has no turn of its own."""
    first = ended(0, 5, 30)
    whole = first.model_copy(update={"pieces": (Piece(length=0, moment=at(4, 20, 5)),)})
    read = recording(whole, ended(1, 6, 40), folder=tmp_path)

    timeline = derive_timeline(read, {4: at(0, 10), 6: at(1, 12)})

    assert [each.was for each in timeline] == [4, 5, 6]


def given_up(ordinal: int, order: int, at_ms: int) -> Exchange:
    """Make an exchange whose page did not wait for its answer."""
    return ended(ordinal, order, at_ms).model_copy(update={"response": None, "failure": ABORTED_ERROR})


def test_what_was_given_up_and_given_to_nobody_is_answered_to_nobody(tmp_path: Path) -> None:
    """A replay that waits for pages keeps them waiting for it, as the one did that found the timeline."""
    read = recording(given_up(0, 1, 10), ended(1, 2, 20), folder=tmp_path)

    timeline = derive_timeline(read, {2: at(0, at_ms=15, phase=3)})

    assert [each.was for each in timeline] == [2]
    assert [each.is_pending for each in apply_timeline(read, timeline).exchanges] == [True, False]


def test_what_was_given_up_and_given_to_its_page_ends_so_again(tmp_path: Path) -> None:
    """A document that was left for another one is given up in each replay."""
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
    """Whatever was given when, all places are taken once, and what was given keeps its order."""
    from pathlib import Path

    read = recording(*(ended(number, order, order) for number, order in enumerate(orders)), folder=Path("unread"))
    given_orders = [order for order in orders if order in heard]
    new.shuffle(given_orders)  # type: ignore[attr-defined] # a Random of hypothesis
    told = {order: at(place, at_ms=place) for place, order in enumerate(given_orders)}

    timeline = derive_timeline(read, told)

    assert sorted(each.was for each in timeline) == sorted(orders)
    assert [each.order for each in timeline] == list(range(len(orders)))
    assert [each.was for each in timeline if each.was in told] == given_orders
