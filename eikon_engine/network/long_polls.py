"""Find long polls: responses that a server deferred until something changed."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from eikon_engine.network.exchange import FETCH_TYPES, SAFE_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.network.exchange import Exchange

MIN_POLL_MS: Final = 1000.0
"""Minimum duration of a long poll; faster responses were not deferred."""
NEXT_POLL_MS: Final = 250.0
"""Maximum page time between a long poll's end and the next one."""


def find_long_polls(exchanges: Iterable[Exchange]) -> dict[int, frozenset[int]]:
    """Return the ordinals of long polls, each with those of the state-changing requests sent meanwhile.

    RFC 6202, section 2.1, describes the pattern: a server defers its response until an event occurs.
    """
    answered = tuple(each for each in exchanges if each.response is not None)
    changes = tuple(each for each in answered if each.request.method not in SAFE_METHODS)
    kept = {
        each.ordinal: frozenset(change.ordinal for change in changes if _outlasts(each, change))
        for each in answered
        if each.request.resource_type in FETCH_TYPES
    }
    return {ordinal: meanwhile for ordinal, meanwhile in kept.items() if meanwhile}


def find_poll_loops(exchanges: Iterable[Exchange]) -> frozenset[int]:
    """Return the ordinals of long polls that a page sent one after the other, each as soon as the last one ended."""
    by_key: defaultdict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        if exchange.request.resource_type in FETCH_TYPES:
            by_key[exchange.key].append(exchange)
    return frozenset(
        each.ordinal
        for of_key in by_key.values()
        for before, after in pairwise(of_key)
        if was_deferred(before) and 0 <= after.started_ms - (before.completed_ms or 0.0) < NEXT_POLL_MS
        for each in (before, after)
    )


def was_deferred(exchange: Exchange) -> bool:
    """Return whether a server deferred its response."""
    ended = exchange.completed_ms
    return ended is not None and ended - exchange.started_ms >= MIN_POLL_MS


def _outlasts(poll: Exchange, change: Exchange) -> bool:
    started, ended = poll.started_ms, poll.completed_ms
    return ended is not None and was_deferred(poll) and started < change.started_ms < ended
