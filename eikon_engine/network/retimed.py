"""Replace the moments of a recorded network with those of a timeline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from eikon_engine.network.moment import Moment
from eikon_engine.trace.timeline import MovedDelivery

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording

SLOT_DISTANCE = 1e-6
"""Distance between a delivery without an order of its own and its predecessor; small compared to whole orders."""


class _TimelineSlot(NamedTuple):
    place: float
    was: int
    moment: Moment


def apply_timeline(recording: NetworkRecording, timeline: Sequence[MovedDelivery]) -> NetworkRecording:
    """Return a recording with the moments of `timeline`; moments that it does not contain are unchanged.

    A cancelled request that it does not contain gets no response.
    """
    if not timeline:
        return recording
    moved = {each.was: Moment(order=each.order, at_ms=each.at_ms, phase=each.phase) for each in timeline}
    return replace(
        recording,
        exchanges=tuple(_retime_exchange(each, moved) for each in recording.exchanges),
        sockets=tuple(
            sorted(
                (
                    each.model_copy(update={"moment": moved.get(each.moment.order, each.moment)})
                    for each in recording.sockets
                ),
                key=lambda event: event.moment.order,
            )
        ),
    )


def _retime_exchange(exchange: Exchange, moved: Mapping[int, Moment]) -> Exchange:
    end = exchange.moment
    if end is not None and end.order not in moved and exchange.is_cancelled:
        return exchange.model_copy(update={"failure": None, "completed_ms": None, "completion": None, "phase": 0})
    end = None if end is None else moved.get(end.order, end)
    pieces = tuple(
        piece.model_copy(update={"moment": moved.get(piece.moment.order, piece.moment)}) for piece in exchange.pieces
    )
    if end is None:
        return exchange.model_copy(update={"pieces": pieces})
    started = min(exchange.started_ms, float(end.at_ms), *(float(piece.moment.at_ms) for piece in pieces))
    return exchange.model_copy(
        update={
            "pieces": pieces,
            "started_ms": started,
            "completed_ms": float(end.at_ms),
            "completion": end.order,
            "phase": end.phase,
        }
    )


def derive_timeline(recording: NetworkRecording, delivered: Mapping[int, Moment]) -> tuple[MovedDelivery, ...]:
    """Return the timeline of a replay from the moments of its deliveries, by recorded order.

    Deliveries without a moment of their own, such as the end of a response delivered at once, follow the others of
    their exchange; what was not requested is put last. Cancelled requests that were not delivered are omitted.
    """
    last = max(delivered.values(), key=lambda moment: moment.order, default=Moment(order=0, at_ms=0, phase=0))
    placed = [
        each for moments in _delivery_groups(recording, delivered) for each in _timeline_slots(moments, delivered, last)
    ]
    placed.sort()
    return tuple(
        MovedDelivery(was=each.was, order=order, at_ms=each.moment.at_ms, phase=each.moment.phase)
        for order, each in enumerate(placed)
    )


def _delivery_groups(recording: NetworkRecording, given: Mapping[int, Moment]) -> Iterator[list[int]]:
    """Yield the delivery orders of each exchange and of each socket, in recorded order."""
    for exchange in recording.exchanges:
        end = [exchange.moment.order] if exchange.moment is not None else []
        if exchange.is_cancelled and not given.keys() & set(end):
            continue
        yield sorted({*(piece.moment.order for piece in exchange.pieces), *end})
    for socket in {event.socket for event in recording.sockets}:
        yield [event.moment.order for event in recording.sockets if event.socket == socket]


def _timeline_slots(places: list[int], given: Mapping[int, Moment], last: Moment) -> Iterator[_TimelineSlot]:
    known = [place for place in places if place in given]
    if not known:
        yield from (_TimelineSlot(float("inf"), place, last) for place in places)
        return
    before = [place for place in places if place < known[0]]
    first = given[known[0]]
    for number, place in enumerate(before):
        yield _TimelineSlot(first.order - SLOT_DISTANCE * (len(before) - number), place, first)
    anchor, behind = first, 0
    for place in places[len(before) :]:
        if place in given:
            anchor, behind = given[place], 0
        else:
            behind += 1
        yield _TimelineSlot(anchor.order + SLOT_DISTANCE * behind, place, anchor)
