"""The timeline of a mission that branched off its recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.network.exchange import Exchange, Moment, Piece
from eikon_engine.network.retiming import BranchDeliveries, apply_timeline, branch_timeline
from eikon_engine.network.store import NetworkRecording, read_network
from eikon_engine.network.websocket import SocketMessage, SocketOpened
from eikon_engine.trace.execution import MovedDelivery

if TYPE_CHECKING:
    from collections.abc import Iterable

READ = read_network(Path(__file__).parents[1] / "data" / "traces" / "shop_passing" / "network")
SHOP = replace(READ, exchanges=tuple(each for each in READ.exchanges if not each.pieces), sockets=())


def orders(recording: NetworkRecording) -> list[int]:
    """Return the positions of all delivered responses."""
    return sorted(each.moment.order for each in recording.exchanges if each.moment is not None)


def moments(recording: NetworkRecording) -> dict[int, Moment | None]:
    """Return the moments of all responses, keyed by the position of their requests."""
    return {each.ordinal: each.moment for each in recording.exchanges}


def left(before: Iterable[int], since: dict[int, Moment], vain: Iterable[int] = ()) -> BranchDeliveries:
    """Return the deliveries of the branch."""
    return BranchDeliveries(
        before=frozenset(before), since=since, separate=frozenset(orders(SHOP)), unanswered=frozenset(vain)
    )


def test_earlier_deliveries_keep_their_moments() -> None:
    """Without new deliveries, the timeline is the recorded one."""
    timeline = branch_timeline(SHOP, SHOP, left(orders(SHOP), {}))
    now = moments(apply_timeline(SHOP, timeline))

    for ordinal, was in moments(SHOP).items():
        here = now[ordinal]
        assert (here is None) == (was is None)
        assert was is None or here is None or (was.at_ms, was.phase) == (here.at_ms, here.phase)
    assert [each.was for each in timeline] == orders(SHOP)


def test_new_deliveries_follow_and_unrequested_ones_are_last() -> None:
    """New deliveries keep their order, and responses never requested come last."""
    first, second, third, *_ = orders(SHOP)
    since = {third: Moment(order=0, at_ms=70, phase=4), second: Moment(order=1, at_ms=80, phase=5)}

    timeline = branch_timeline(SHOP, SHOP, left([first], since))

    assert [each.was for each in timeline][:3] == [first, third, second]
    assert timeline[1] == MovedDelivery(was=third, order=1, at_ms=70, phase=4)
    assert len(timeline) == len(orders(SHOP))


def test_unanswered_requests_have_no_position() -> None:
    """A request without a response has no position and stays unanswered in a replay."""
    gone = next(each for each in SHOP.exchanges if each.moment is not None)

    timeline = branch_timeline(SHOP, SHOP, left([], {}, [gone.ordinal]))

    assert gone.moment is not None
    assert gone.moment.order not in {each.was for each in timeline}


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_timelines_of_timelines_name_what_is_stored(data: st.DataObject) -> None:
    """A branch of a branch refers to each stored response exactly once."""
    known = orders(SHOP)
    shuffled = enumerate(data.draw(st.permutations(known)))
    again = [MovedDelivery(was=was, order=order, at_ms=order, phase=1) for order, was in shuffled]
    played = apply_timeline(SHOP, again)
    taken = data.draw(st.lists(st.sampled_from(orders(played)), unique=True))
    cut = data.draw(st.integers(0, len(taken)))
    since = {place: Moment(order=order, at_ms=order, phase=2) for order, place in enumerate(taken[cut:])}
    here = BranchDeliveries(
        before=frozenset(taken[:cut]), since=since, separate=frozenset(orders(played)), unanswered=frozenset()
    )

    timeline = branch_timeline(SHOP, played, here)

    assert sorted(each.was for each in timeline) == known
    assert [each.order for each in timeline] == list(range(len(known)))
    stored = {each.order: each.was for each in again}
    assert [each.was for each in timeline][: len(taken)] == [
        *(stored[place] for place in sorted(taken[:cut])),
        *(stored[place] for place in taken[cut:]),
    ]


def streamed(ordinal: int, ordered: tuple[int, ...], end: int) -> Exchange:
    """Build an exchange whose body arrived in pieces."""
    whole = next(each for each in READ.exchanges if each.response is not None)
    pieces = tuple(Piece(length=1, moment=moment(order)) for order in ordered)
    update = {"ordinal": ordinal, "pieces": pieces, "completion": end, "completed_ms": 10.0 * end}
    return whole.model_copy(update=update)


def moment(order: int) -> Moment:
    """Build the moment of a position."""
    return Moment(order=order, at_ms=10 * order, phase=1)


def test_a_stream_continues_from_the_resume_point() -> None:
    """Earlier pieces keep their moments, later ones get new ones, and the last ones are still pending."""
    recording = replace(SHOP, exchanges=(streamed(0, (1, 2, 4), 9), streamed(1, (3,), 5)))
    since = {4: Moment(order=0, at_ms=99, phase=5), 3: Moment(order=1, at_ms=99, phase=6)}
    here = BranchDeliveries(before={1, 2}, since=since, separate={1, 2, 4, 9, 3}, unanswered=frozenset())

    timeline = branch_timeline(recording, recording, here)

    assert [(each.was, each.at_ms) for each in timeline] == [(1, 10), (2, 20), (4, 99), (3, 99), (5, 99), (9, 90)]


def test_sent_messages_keep_their_position_on_the_socket() -> None:
    """Sent messages have no delivery; they follow the previous event of the socket, or precede its first delivery."""
    page = SocketMessage(socket=0, moment=moment(1), sender="page", text="x")
    server = SocketMessage(socket=0, moment=moment(2), sender="server", text="x")
    more = page.model_copy(update={"moment": moment(3)})
    opened = SocketOpened(socket=0, moment=moment(0), url="ws://shop.test/")
    recording = replace(SHOP, exchanges=(), sockets=(opened, page, server, more))
    here = BranchDeliveries(
        before=frozenset(), since={2: Moment(order=7, at_ms=99, phase=6)}, separate={2}, unanswered=frozenset()
    )

    timeline = branch_timeline(recording, recording, here)

    assert [(each.was, each.at_ms) for each in timeline] == [(0, 99), (1, 99), (2, 99), (3, 99)]
