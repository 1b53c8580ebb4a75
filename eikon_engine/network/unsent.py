"""Find what pages sent in a recording and not in its replay, and why that may not matter."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from eikon_engine.files.origins import split_url
from eikon_engine.network.exchange import CACHED_TYPES, FETCH_TYPES, SAFE_METHODS
from eikon_engine.network.matching import has_equal_answer
from eikon_engine.network.saves import PUT_OFF_MS, SAVE_METHOD, SavesOfReplay, SentSave

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eikon_engine.network.exchange import Exchange, RecordedRequest
    from eikon_engine.network.matching import Playback
    from eikon_engine.network.store import NetworkRecording

AFTER_END: Final = "sent after the last step"
"""Why it does not matter that something sent at the end of a recording is missing in a replay."""
SLACK_MS: Final = 100.0
"""Page time before the end of a replay within which a request may be missing: pages may load faster or slower."""
MISSED_INTERVALS: Final = 2
"""Recorded intervals without a poll, or heartbeat, after which the page counts as having stopped."""
SEARCH_MS: Final = 2000.0
"""Maximum page time between two requests of a search while a user types."""
BROWSER_TYPES: Final = frozenset({"manifest", "other", "preflight", "prefetch"})
"""Resource types of requests that the browser, and not the page, decides to send; reports of policies are others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """A recorded request, WebSocket or message that no page of a replay sent."""

    key: str
    phase: int
    """Phase in which it was recorded; that of the end of a request if that of its start is unknown."""
    explanation: str = ""
    """Why it does not matter; empty if nothing explains it."""
    is_observed: bool = True
    """Whether observations list it, so that it is compared wherever one was recorded."""
    is_superseded: bool = False
    """Whether the replay sent a later request to the same path, with another query or since the page cancelled this
    one, as a search while a user types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequests:
    """What the pages of a replay have requested, by the ordinals of recorded exchanges, with what they repeated."""

    end_ms: float
    """Page time of the replay, in the recorded timeline."""
    recorded_end_ms: float = math.inf
    """Page time at which the recording ended, as `NetworkRecording.end_ms`."""
    sent_ms: Mapping[int, float] = field(default_factory=dict)
    """Page time, in the recorded timeline, at which each exchange was last requested."""
    by_timer: frozenset[int] = frozenset()
    """Exchanges that a timer requested, and not an action."""
    saves: tuple[SentSave, ...] = ()
    """PUT requests, in the order sent."""
    has_other_scripts: bool = False
    """Whether the pages may have other scripts than the recorded ones: such may no longer send a request."""


def has_moments(recording: NetworkRecording) -> bool:
    """Return whether a recording knows when its requests were sent; imported ones may not."""
    return any(each.phase for each in recording.exchanges) or any(each.moment.phase for each in recording.sockets)


def find_unsent_requests(
    recording: NetworkRecording,
    unused: Iterable[Exchange],
    playback: Playback,
    sent: SentRequests,
) -> Iterator[Unsent]:
    """Yield the unused exchanges of a complete replay, each with its explanation if it has one.

    `recording` has its recorded moments. `playback` knows which requests are equal, or save to the same address: the
    last save there counts as unused if the replay saved something else after it. Safe requests without a response when
    the recording ended are omitted: nothing came of them.
    """
    yield from _find_other_saves(recording, playback, sent)
    originals = {each.ordinal: each for each in recording.exchanges}
    used = tuple(originals[ordinal] for ordinal in sent.sent_ms if ordinal in originals)
    for each in unused:
        exchange = originals.get(each.ordinal)
        if exchange is None or (
            exchange.is_pending and not is_unsafe(exchange.request.method, exchange.request.resource_type)
        ):
            continue
        group = tuple(originals[other.ordinal] for other in playback.alike(each) if other.ordinal in originals)
        explanation = (
            explain_unsent(exchange, recording, used)
            or _explain_repetition(exchange, group, sent)
            or _explain_save(exchange, recording, playback, sent)
        )
        is_late = exchange.started_ms > sent.end_ms - SLACK_MS
        by_timer = any(other.ordinal in sent.by_timer for other in group)
        if (is_late and (by_timer or not _has_effect(exchange))) or _is_put_off(exchange, used, playback, sent):
            explanation = AFTER_END
        yield Unsent(
            key=exchange.key,
            phase=exchange.started_phase or exchange.phase,
            explanation=explanation,
            is_superseded=any(_supersedes(other, exchange) for other in used),
        )


def _supersedes(later: Exchange, exchange: Exchange) -> bool:
    ours, theirs = exchange.request, later.request
    is_query = "?" in ours.url if ours.method in SAFE_METHODS else exchange.is_cancelled
    is_search = ours.resource_type in FETCH_TYPES and is_query
    is_same = (ours.method, ours.url.partition("?")[0]) == (theirs.method, theirs.url.partition("?")[0])
    return is_search and is_same and 0 < later.started_ms - exchange.started_ms < SEARCH_MS


def _has_effect(exchange: Exchange) -> bool:
    """Return whether a request changed state or loaded a page: then an agent may have sent it, at any time."""
    request = exchange.request
    is_page = request.is_navigation and not request.frame and exchange.response is not None
    return is_page or is_unsafe(request.method, request.resource_type)


def is_unsafe(method: str, resource_type: str) -> bool:
    """Return whether a server may have changed something because of a request, whatever came of it: no report does."""
    is_report = resource_type == "ping" or resource_type.startswith("csp")
    return method not in SAFE_METHODS and not is_report


def explain_unsent(exchange: Exchange, recording: NetworkRecording, used: tuple[Exchange, ...]) -> str:
    """Return why a page need not send a request again; empty if it must. `used` is what it has sent."""
    request = exchange.request
    if exchange.is_cancelled and not is_unsafe(request.method, request.resource_type):
        return "cancelled in the recording"
    if _is_from_browser(request):
        return "sent by the browser itself"
    if request.resource_type == "ping" and any(
        is_loading_page(each, exchange.started_ms) for each in recording.exchanges
    ):
        return "sent while its page unloaded"
    if request.resource_type == "font" and request.method in SAFE_METHODS:
        return "a font, which the browser requests once it draws text in it"
    is_resource = request.method in SAFE_METHODS and request.resource_type in CACHED_TYPES
    if is_resource and any(each.request.url == request.url for each in used):
        return "a resource that the page already had"
    return ""


def _is_from_browser(request: RecordedRequest) -> bool:
    """Return whether the browser, and not a page, decided to send a request."""
    if request.resource_type.startswith("csp"):
        return True
    headers = {name.lower(): value for name, value in request.headers}
    is_hint = "prefetch" in headers.get("sec-purpose", headers.get("purpose", ""))
    is_own = (
        request.resource_type in BROWSER_TYPES
        or split_url(request.url).path.endswith("/favicon.ico")
        or "access-control-request-method" in headers
    )
    return is_hint or (is_own and request.method in SAFE_METHODS)


def is_loading_page(exchange: Exchange, at_ms: float) -> bool:
    """Return whether an exchange loaded a page at this page time."""
    ended = exchange.started_ms if exchange.completed_ms is None else exchange.completed_ms
    is_page = exchange.request.is_navigation and not exchange.request.frame
    return is_page and exchange.started_ms - SLACK_MS <= at_ms <= ended + SLACK_MS


def _explain_repetition(exchange: Exchange, alike: tuple[Exchange, ...], sent: SentRequests) -> str:
    """Explain a poll that brought nothing new, if the page went on polling; empty for anything else."""
    requested = [each.ordinal for each in alike if each.ordinal in sent.sent_ms]
    place = alike.index(exchange) if exchange in alike else 0
    if not requested or not place or exchange.request.resource_type not in FETCH_TYPES | {"ping"}:
        return ""
    is_poll = exchange.request.method in SAFE_METHODS or len(alike) > MISSED_INTERVALS
    has_no_answer = exchange.is_cancelled or exchange.is_pending
    if not is_poll or not (has_no_answer or has_equal_answer(alike[place - 1], exchange)):
        return ""
    intervals = [after.started_ms - before.started_ms for before, after in pairwise(alike)]
    last = max(requested, key=sent.sent_ms.__getitem__)
    until = min(sent.end_ms, alike[-1].started_ms) - MISSED_INTERVALS * max(intervals) - SLACK_MS
    by_timer = last in sent.by_timer or (len(requested) == 1 and requested[0] == alike[0].ordinal)
    return "a repeated poll with an unchanged response" if by_timer and sent.sent_ms[last] >= until else ""


def _explain_save(exchange: Exchange, recording: NetworkRecording, playback: Playback, sent: SentRequests) -> str:
    """Explain a save that the page did not send because of when it computed; empty for anything else."""
    if exchange.request.method != SAVE_METHOD:
        return ""
    replay = _saves_of_replay(playback.address(exchange), recording, playback, sent)
    return replay.explain(exchange) if len(replay.saves) > 1 else ""


def _is_put_off(exchange: Exchange, used: tuple[Exchange, ...], playback: Playback, sent: SentRequests) -> bool:
    """Return whether a save would be sent after the end: a timer sends what its page saves there, each time later."""
    if exchange.request.method != SAVE_METHOD or sent.has_other_scripts:
        return False
    address = playback.address(exchange)
    earlier = [each for each in used if each.request.method == SAVE_METHOD and playback.address(each) == address]
    last = max(earlier, key=lambda each: each.ordinal, default=None)
    if last is None or last.ordinal >= exchange.ordinal or last.ordinal not in sent.by_timer:
        return False
    last_ms = sent.sent_ms[last.ordinal]
    places = {each.ordinal for each in playback.find_saves(address)}
    is_merged = any(each.has_other_body and each.sent_ms > last_ms and each.ordinal in places for each in sent.saves)
    end_ms = min(sent.end_ms, sent.recorded_end_ms) if is_merged else sent.end_ms
    return exchange.started_ms > end_ms - PUT_OFF_MS


def _find_other_saves(recording: NetworkRecording, playback: Playback, sent: SentRequests) -> Iterator[Unsent]:
    """Yield the last recorded save of each address where the replay saved something else last."""
    by_ordinal = {each.ordinal: each for each in recording.exchanges}
    for address in dict.fromkeys(playback.address(by_ordinal[each.ordinal]) for each in sent.saves):
        replay = _saves_of_replay(address, recording, playback, sent)
        if not replay.saves or not replay.ends_otherwise:
            continue
        last = replay.saves[-1]
        if last.ordinal in sent.sent_ms:
            yield Unsent(key=last.key, phase=last.started_phase or last.phase)


def _saves_of_replay(
    address: str, recording: NetworkRecording, playback: Playback, sent: SentRequests
) -> SavesOfReplay:
    places = {each.ordinal for each in playback.find_saves(address)}
    return SavesOfReplay(
        saves=[each for each in recording.exchanges if each.ordinal in places],
        last=next((each for each in reversed(sent.saves) if each.ordinal in places), None),
        sent_ms=sent.sent_ms,
        by_timer=sent.by_timer,
        end_ms=sent.end_ms,
        recorded_end_ms=math.inf if sent.has_other_scripts else sent.recorded_end_ms,
        exchanges=recording.exchanges,
        read_body=playback.read_body,
    )
