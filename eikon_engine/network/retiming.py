"""Correct the moments of a recorded network, replace them by a timeline, and derive timelines from replays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from eikon_engine.network.exchange import PHASES_PER_ACTION_WITH_LOOKUP, Moment
from eikon_engine.trace.execution import MovedDelivery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

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
        before_timeline=recording.as_recorded,
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


ROUNDING_MS: Final = 1
"""Page times of moments are rounded to milliseconds."""
BUSY_MS: Final = 20
"""Page time after a long task within which its page handles an input event before what it received during the task."""


def correct_phases(recording: NetworkRecording, acted_ms: Mapping[int, float]) -> NetworkRecording:
    """Return a recording in which what pages received before an action acted precedes it.

    A recorder notes the phase at once, but learns later when an action acted: `acted_ms` is the page time of each, by
    the number of actions before it. What a page received since a long task began stays where it is if the action acted
    right after the task: input events are handled first.
    """

    def correct(moment: Moment) -> Moment:
        actions_before, part = divmod(moment.phase - 1, PHASES_PER_ACTION_WITH_LOOKUP)
        acted = acted_ms.get(actions_before)
        if part != 1 or acted is None or moment.at_ms > acted - ROUNDING_MS:
            return moment
        if any(each.begun_ms <= moment.at_ms and acted <= each.ended_ms + BUSY_MS for each in recording.long_tasks):
            return moment
        return moment.model_copy(update={"phase": moment.phase - 1})

    def correct_exchange(exchange: Exchange) -> Exchange:
        pieces = tuple(piece.model_copy(update={"moment": correct(piece.moment)}) for piece in exchange.pieces)
        phase = exchange.phase if exchange.moment is None else correct(exchange.moment).phase
        return exchange.model_copy(update={"pieces": pieces, "phase": phase})

    return replace(
        recording,
        exchanges=tuple(map(correct_exchange, recording.exchanges)),
        sockets=tuple(each.model_copy(update={"moment": correct(each.moment)}) for each in recording.sockets),
    )


def derive_timeline(recording: NetworkRecording, delivered: Mapping[int, Moment]) -> tuple[MovedDelivery, ...]:
    """Return the timeline of a replay from the moments of its deliveries, by recorded order.

    Deliveries without a moment of their own, such as the end of a response delivered at once, follow the others of
    their exchange. What was not delivered is put last, as long after the last delivery as recorded. Cancelled requests
    that were not delivered are omitted.
    """
    later = _later_moments(recording, delivered)
    placed = [
        each
        for moments in _delivery_groups(recording, delivered)
        for each in _timeline_slots(moments, delivered, later)
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


def _later_moments(recording: NetworkRecording, given: Mapping[int, Moment]) -> dict[int, Moment]:
    """Return the moments of what was not delivered: none precedes the last delivery."""
    moments = [piece.moment for exchange in recording.exchanges for piece in exchange.pieces]
    moments += [exchange.moment for exchange in recording.exchanges if exchange.moment is not None]
    recorded = {each.order: each for each in (*moments, *(event.moment for event in recording.sockets))}
    was, last = max(given.items(), key=lambda each: each[1].order, default=(0, Moment(order=0, at_ms=0, phase=0)))
    shift = last.at_ms - recorded[was].at_ms if was in recorded else 0
    return {
        order: Moment(order=order, at_ms=max(last.at_ms, moment.at_ms + shift), phase=max(last.phase, moment.phase))
        for order, moment in recorded.items()
        if order not in given
    }


def _timeline_slots(
    places: list[int], given: Mapping[int, Moment], later: Mapping[int, Moment]
) -> Iterator[_TimelineSlot]:
    known = [place for place in places if place in given]
    if not known:
        yield from (_TimelineSlot(float("inf"), place, later[place]) for place in places)
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


BEFORE, SINCE, AHEAD = range(3)


class BranchDeliveries(NamedTuple):
    """What a replay that left its recording delivered, by delivery order in the replayed recording."""

    before: AbstractSet[int]
    """Delivered at its recorded moment, before the mission left the recording."""
    since: Mapping[int, Moment]
    """Delivered after that, and when."""
    separate: AbstractSet[int]
    """What is delivered separately; anything else is delivered together with its predecessor."""
    unanswered: AbstractSet[int]
    """Ordinals of exchanges that were requested after that and never answered."""


class _BranchSlot(NamedTuple):
    part: int
    """Before the mission left the recording, after that, or not delivered yet."""
    order: int
    """Order within the part."""
    behind: int
    """Distance from the delivery of the same exchange or socket that it is delivered with; negative before it."""
    was: int
    moment: Moment


def branch_timeline(
    stored: NetworkRecording, played: NetworkRecording, given: BranchDeliveries
) -> tuple[MovedDelivery, ...]:
    """Return the timeline of a mission that was replayed from `played`, for a bundle whose network is `stored`.

    Both contain the same exchanges and sockets; `played` may contain fewer, with different moments. What was not
    requested is put last and keeps its time.
    """
    places = [
        placed
        for was, now in _order_pairs(stored, played, given.unanswered)
        for placed in _branch_slots(list(zip(was, now, strict=True)), given)
    ]
    places.sort()
    return tuple(
        MovedDelivery(was=each.was, order=order, at_ms=each.moment.at_ms, phase=each.moment.phase)
        for order, each in enumerate(places)
    )


def _order_pairs(
    stored: NetworkRecording, played: NetworkRecording, unanswered: AbstractSet[int]
) -> Iterator[tuple[list[int], list[Moment]]]:
    """Yield for each exchange and socket its orders as stored and its moments as replayed."""
    exchanges = {each.ordinal: each for each in stored.exchanges}
    for exchange in played.exchanges:
        if exchange.moment is None or exchange.ordinal in unanswered:
            pieces_only = () if exchange.ordinal in unanswered else exchange.pieces
            now = [piece.moment for piece in pieces_only]
        else:
            now = [*(piece.moment for piece in exchange.pieces), exchange.moment]
        ours = exchanges[exchange.ordinal]
        ends = () if ours.moment is None else (ours.moment,)
        was = [moment.order for moment in (*(piece.moment for piece in ours.pieces), *ends)]
        yield _unique(was[: len(now)], now)
    sockets = {event.socket for event in played.sockets}
    for socket in sorted(sockets):
        now = [event.moment for event in played.sockets if event.socket == socket]
        yield _unique([event.moment.order for event in stored.sockets if event.socket == socket], now)


def _unique(was: Iterable[int], now: Iterable[Moment]) -> tuple[list[int], list[Moment]]:
    """Remove duplicate orders: the first bytes of a body may be delivered with its headers."""
    pairs = dict(zip(was, now, strict=True))
    return list(pairs), list(pairs.values())


def _branch_slots(pairs: list[tuple[int, Moment]], given: BranchDeliveries) -> Iterator[_BranchSlot]:
    """Place the deliveries of one exchange or socket; those not delivered separately follow or precede one that is."""
    own = {was: _own_slot(was, moment, given) for was, moment in pairs}
    anchors = [place for place in own.values() if place is not None]
    if not anchors:
        yield from (_BranchSlot(AHEAD, moment.order, 0, was, moment) for was, moment in pairs)
        return
    names = [was for was, _ in pairs]
    first = next(number for number, was in enumerate(names) if own[was] is not None)
    anchor, behind = anchors[0], -first
    for was in names:
        place = own[was]
        anchor, behind = (anchor, behind) if place is None else (place, 0)
        yield anchor._replace(was=was, behind=behind)
        behind += 1


def _own_slot(was: int, moment: Moment, given: BranchDeliveries) -> _BranchSlot | None:
    """Return the place of a separate delivery; None if it is delivered with another one."""
    if moment.order in given.since:
        new = given.since[moment.order]
        return _BranchSlot(SINCE, new.order, 0, was, new)
    if moment.order in given.before:
        return _BranchSlot(BEFORE, moment.order, 0, was, moment)
    return _BranchSlot(AHEAD, moment.order, 0, was, moment) if moment.order in given.separate else None
