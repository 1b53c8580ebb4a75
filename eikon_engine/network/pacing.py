"""Which recorded requests a live replay holds back until their response was received.

A server sees a held request later than it did, but in the recorded order: what it got after it waits for it, or lets it
go first; see `LivePace`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from eikon_engine.network.exchange import FETCH_TYPES, SAFE_METHODS
from eikon_engine.network.keys import is_json
from eikon_engine.network.websocket import SocketMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eikon_engine.network.exchange import Exchange, Moment
    from eikon_engine.network.store import NetworkRecording

MAX_SERVER_TIME_MS: Final = 5000.0
"""Wall time that a live server gets before a poll, at most. Servers keep an answer for a second or two, and a replay
should not last as long as a mission whose agent thinks."""
WHOLE_MS: Final = 50.0
"""Page time within which a response that comes as a whole has ended; its head and its body may be recorded apart."""
_CACHE_BUSTER: Final = re.compile(r"(?<==)\d+(?=&|$)")


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
    pushed_during: frozenset[int]
    """Unsafe ones of them that are no streams: a server sent messages on WebSockets before it answered."""
    moments: Mapping[int, Moment]
    """When pages can use responses."""
    server_time_ms: Mapping[int, Mapping[int, float]]
    """Wall time that a server had, since these earlier requests, before it was asked again and had another response."""


def plan_pacing(recording: NetworkRecording, is_telemetry: Callable[[Exchange], bool]) -> Pacing:
    """Decide for each request of a recording, by its recorded moments.

    Streams are sent at once, and so are unsafe requests during which the server sent a message on a WebSocket: it may
    have sent that because of them. The responses to the latter are kept until their moments, unless they are streams.
    """
    recorded = recording.as_recorded
    pushed = sorted(
        each.moment.at_ms for each in recorded.sockets if isinstance(each, SocketMessage) and each.sender == "server"
    )
    held, withheld, unanswered, pushed_during, answered = set(), set(), set(), set(), {}
    for was, now in zip(recorded.exchanges, recording.exchanges, strict=True):
        moment = response_moment(was)
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
        is_overlapped = not is_safe and _has_between(pushed, interval)
        if is_overlapped and _arrives_at_once(was):
            pushed_during.add(was.ordinal)
        if is_overlapped or _is_stream(was):
            answered[was.ordinal] = interval
        else:
            held.add(was.ordinal)
    return Pacing(
        frozenset(held),
        frozenset(withheld),
        frozenset(unanswered),
        answered,
        frozenset(pushed_during),
        _find_moments(recording),
        _find_server_times(each for each in recorded.exchanges if not is_telemetry(each)),
    )


def response_moment(exchange: Exchange) -> Moment | None:
    """Return when a page could use a recorded response: once it began to reach it, or JSON once it was whole."""
    return exchange.pieces[0].moment if _is_stream(exchange) else exchange.moment


def _is_stream(exchange: Exchange) -> bool:
    """Return whether a page may use a part of a response before it has the rest: scripts parse JSON as a whole."""
    content_type = _header(exchange, "content-type")
    return bool(exchange.pieces) and not is_json(content_type.partition(";")[0].strip().lower())


def _header(exchange: Exchange, lower_name: str) -> str:
    """Return a header of a response; empty without one."""
    headers = () if exchange.response is None else exchange.response.headers
    return next((value for name, value in headers if name.lower() == lower_name), "")


def _arrives_at_once(exchange: Exchange) -> bool:
    """Return whether a page gets a response as a whole, though its head and its body may be recorded apart."""
    if not _is_stream(exchange):
        return True
    begin, last, end = exchange.pieces[0].moment, exchange.pieces[-1].moment, exchange.moment
    received = sum(each.length for each in exchange.pieces)
    is_whole = end is not None or _header(exchange, "content-length") == str(received)
    is_event_stream = _header(exchange, "content-type").lower().startswith("text/event-stream")
    return is_whole and not is_event_stream and (last if end is None else end).at_ms - begin.at_ms <= WHOLE_MS


def _find_moments(recording: NetworkRecording) -> dict[int, Moment]:
    """Return when pages can use responses.

    A timeline leaves the moment of what no sealed replay requested, such as a second request that a stopped clock makes
    equal to the first one, and puts it last. Live, it comes no later than the responses to what was requested once it
    was there: their pages did not wait for it.
    """
    pairs = (
        (was, response_moment(was), response_moment(now))
        for was, now in zip(recording.as_recorded.exchanges, recording.exchanges, strict=True)
    )
    known = [(was, recorded, now) for was, recorded, now in pairs if recorded is not None and now is not None]
    known.sort(key=lambda each: each[0].started_ms, reverse=True)
    started_ms = [-was.started_ms for was, _, _ in known]
    soonest = [*accumulate(((now.phase, now.at_ms) for _, _, now in known), min)]
    last_orders = [*accumulate((-1 if _is_kept(recorded, now) else now.order for _, recorded, now in known), max)]
    found: dict[int, Moment] = {}
    for was, recorded, now in known:
        phase, at_ms = now.phase, now.at_ms
        later = bisect_left(started_ms, -float(recorded.at_ms))
        if later and _is_kept(recorded, now) and last_orders[later - 1] < now.order:
            phase, at_ms = min(soonest[later - 1], (phase, at_ms))
        found[was.ordinal] = now.model_copy(update={"phase": phase, "at_ms": at_ms})
    return found


def _is_kept(recorded: Moment, now: Moment) -> bool:
    """Return whether a timeline has the recorded time of a response."""
    return (now.phase, now.at_ms) == (recorded.phase, recorded.at_ms)


def _find_server_times(exchanges: Iterable[Exchange]) -> dict[int, Mapping[int, float]]:
    """Return, for each poll with another response than the one before, the time since that and since what was sent.

    What a server does by itself, such as to work on a job or to keep an answer for two seconds, takes wall time, and a
    live replay lets page time pass faster.
    """
    found: dict[int, Mapping[int, float]] = {}
    polls: dict[str, Exchange] = {}
    unsafe: Exchange | None = None
    for each in sorted(exchanges, key=lambda exchange: exchange.started_ms):
        if each.request.method not in SAFE_METHODS:
            unsafe = each
        if each.request.method != "GET" or each.request.resource_type not in FETCH_TYPES or each.response is None:
            continue
        url = _CACHE_BUSTER.sub("", each.request.url)
        before = polls.get(url)
        if before is not None and before.response is not None and before.response.body != each.response.body:
            earlier = (before,) if unsafe is None else (before, unsafe)
            found[each.ordinal] = {
                was.ordinal: min(each.started_ms - was.started_ms, MAX_SERVER_TIME_MS) for was in earlier
            }
        polls[url] = each
    return found


def _has_between(times: Sequence[float], interval: tuple[float, float]) -> bool:
    """Return whether one of these times, in order, is within an interval, without its ends."""
    begin, end = interval
    return bisect_right(times, begin) < bisect_left(times, end)
