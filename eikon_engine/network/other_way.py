"""The timeline of a mission that left its recording: earlier deliveries keep their moments, later ones get new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eikon_engine.trace.timeline import MovedDelivery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from eikon_engine.network.moment import Moment
    from eikon_engine.network.store import NetworkRecording

BEFORE, SINCE, TO_COME = range(3)


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
    stored: NetworkRecording, played: NetworkRecording, in_vain: AbstractSet[int]
) -> Iterator[tuple[list[int], list[Moment]]]:
    """Yield for each exchange and socket its orders as stored and its moments as replayed."""
    exchanges = {each.ordinal: each for each in stored.exchanges}
    for exchange in played.exchanges:
        if exchange.moment is None or exchange.ordinal in in_vain:
            pieces_only = () if exchange.ordinal in in_vain else exchange.pieces
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
        yield from (_BranchSlot(TO_COME, moment.order, 0, was, moment) for was, moment in pairs)
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
    return _BranchSlot(TO_COME, moment.order, 0, was, moment) if moment.order in given.separate else None
