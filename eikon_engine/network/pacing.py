"""Which recorded requests a live replay holds back until their response was received.

A server sees a held request later than it did, but in the recorded order: what it got after it waits for it, or lets it
go first; see `LivePace`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.network.websocket import SocketMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording


@dataclass(frozen=True, slots=True)
class Pacing:
    """What becomes of the requests of a recording in a paced live replay, by their ordinals."""

    held: frozenset[int]
    """Sent when their response was received, at the latest."""
    withheld: frozenset[int]
    """Safe ones that their page cancelled before a response: never sent."""
    unanswered: frozenset[int]
    """Safe ones that were not answered when the recording ended: sent at once, and never waited for."""
    answered_ms: Mapping[int, tuple[float, float]]
    """Recorded page times between which the others were sent and answered; these are sent at once."""


def plan_pacing(recording: NetworkRecording, is_telemetry: Callable[[Exchange], bool]) -> Pacing:
    """Decide for each request of a recording, by its recorded moments.

    Streams are sent at once, and so are unsafe requests during which the server sent a message on a WebSocket: it may
    have sent that because of them.
    """
    recorded = recording.as_recorded
    pushed = sorted(
        each.moment.at_ms for each in recorded.sockets if isinstance(each, SocketMessage) and each.sender == "server"
    )
    held, withheld, unanswered, answered = set(), set(), set(), {}
    for was, now in zip(recorded.exchanges, recording.exchanges, strict=True):
        moment = was.pieces[0].moment if was.pieces else was.moment
        is_safe = was.request.method in SAFE_METHODS
        if was.is_cancelled and now.is_pending and is_safe:
            withheld.add(was.ordinal)
            continue
        if was.is_pending and is_safe:
            unanswered.add(was.ordinal)
            continue
        if moment is None or is_telemetry(was) or (was.is_cancelled and not is_safe):
            continue
        interval = was.started_ms, float(moment.at_ms)
        if was.pieces or (not is_safe and _has_between(pushed, interval)):
            answered[was.ordinal] = interval
        else:
            held.add(was.ordinal)
    return Pacing(frozenset(held), frozenset(withheld), frozenset(unanswered), answered)


def _has_between(times: Sequence[float], interval: tuple[float, float]) -> bool:
    """Return whether one of these times, in order, is within an interval, without its ends."""
    begin, end = interval
    return bisect_right(times, begin) < bisect_left(times, end)
