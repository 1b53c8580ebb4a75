"""Which recorded requests a live replay can hold back until their response was received: the server notices nothing.

A server sees a held request later than it did. So one is held only if the server gets it, and all that its response may
depend on, in the recorded order nevertheless.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.network.websocket import SocketMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eikon_engine.network.exchange import Exchange, Moment
    from eikon_engine.network.store import NetworkRecording

_Arrival: TypeAlias = tuple[float, int]
"""When a server gets a request: the page time, and the place among the responses of that time."""
_AT_START: Final = -1
"""Place of a request that is not held, before all responses of its time."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """What becomes of the requests of a recording in a paced live replay, by their ordinals."""

    held: frozenset[int]
    """Sent when their response was received."""
    withheld: frozenset[int]
    """Safe ones that their page cancelled before a response: never sent."""
    unanswered: frozenset[int]
    """Safe ones that were not answered when the recording ended: sent at once, and never waited for."""
    answered_ms: Mapping[int, tuple[float, float]]
    """Recorded page times between which the others were sent and answered; these are sent at once."""


def plan_pacing(recording: NetworkRecording, is_telemetry: Callable[[Exchange], bool]) -> Pacing:
    """Decide for each request of a recording, by its recorded moments."""
    recorded = recording.as_recorded
    withheld, unanswered, answered = set(), set(), {}
    sent: list[_Sent] = []
    for was, now in zip(recorded.exchanges, recording.exchanges, strict=True):
        moment = was.pieces[0].moment if was.pieces else was.moment
        if was.is_cancelled and now.is_pending and _is_safe(was):
            withheld.add(was.ordinal)
            continue
        if was.is_pending and _is_safe(was):
            unanswered.add(was.ordinal)
        is_awaited = moment is not None and not (was.is_cancelled and not _is_safe(was))
        if not is_telemetry(was):
            sent.append(_Sent(was, moment if is_awaited and was.ordinal not in unanswered else None))
    messages = [each for each in recorded.sockets if isinstance(each, SocketMessage)]
    held = _find_held(sent, *(_times_of(messages, sender) for sender in ("page", "server")))
    for each in sent:
        if each.answer is not None and each.exchange.ordinal not in held:
            answered[each.exchange.ordinal] = each.interval_ms
    return Pacing(held, frozenset(withheld), frozenset(unanswered), answered)


class _Sent:
    """A request that reaches the server."""

    def __init__(self, exchange: Exchange, answer: Moment | None) -> None:
        self.exchange = exchange
        self.answer = answer
        """When its response began; None if it is not waited for."""
        self.is_safe = _is_safe(exchange)
        self.is_held = answer is not None and not exchange.pieces
        self._is_page = exchange.request.is_navigation and not exchange.request.frame

    @property
    def interval_ms(self) -> tuple[float, float]:
        """Recorded page times between which it was sent and answered."""
        start = self.exchange.started_ms
        return start, start if self.answer is None else float(self.answer.at_ms)

    @property
    def arrival(self) -> _Arrival:
        """When the server gets it; documents of pages are not held for long, because nothing happens without them."""
        if self.is_held and self.answer is not None and not self._is_page:
            return float(self.answer.at_ms), self.answer.order
        return self.exchange.started_ms, _AT_START


def _find_held(sent: Sequence[_Sent], messages: Sequence[float], pushes: Sequence[float]) -> frozenset[int]:
    """Return the ordinals of the requests that can be held; `messages` and `pushes` are the times of both on sockets.

    One that would be overtaken by another one, so that the server gets them in another order, is not held. Then that
    one may have been overtaken by a third one, and so on.
    """
    for each in sent:
        times = (messages,) if each.is_safe else (messages, pushes)
        each.is_held = each.is_held and not any(_has_between(of_one, each.interval_ms) for of_one in times)
    unsafe = [each for each in sent if not each.is_safe]
    while overtaken := list(_find_overtaken(sent, unsafe)):
        for each in overtaken:
            each.is_held = False
    return frozenset(each.exchange.ordinal for each in sent if each.is_held)


def _find_overtaken(sent: Sequence[_Sent], unsafe: Sequence[_Sent]) -> Iterator[_Sent]:
    """Yield the held requests that an unsafe one overtakes; or any one, if they are unsafe."""
    for each in sent:
        others = unsafe if each.is_safe else sent
        start, arrival = each.exchange.started_ms, each.arrival
        if each.is_held and any(other.exchange.started_ms > start and other.arrival < arrival for other in others):
            yield each


def _is_safe(exchange: Exchange) -> bool:
    return exchange.request.method in SAFE_METHODS


def _times_of(messages: Sequence[SocketMessage], sender: str) -> Sequence[float]:
    return sorted(float(each.moment.at_ms) for each in messages if each.sender == sender)


def _has_between(times: Sequence[float], interval: tuple[float, float]) -> bool:
    """Return whether one of these times, in order, is within an interval, without its ends."""
    begin, end = interval
    return bisect_right(times, begin) < bisect_left(times, end)
