"""Find the answers that a server kept back until something happened: long polls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.network.kinds import FETCHES, SAFE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.network.exchange import Exchange

KEPT_MS: Final = 1000.0
"""An answer that took less time was not kept back, but under way."""


def long_polls(exchanges: Iterable[Exchange]) -> dict[int, frozenset[int]]:
    """Return the fetches that were answered late, with what was asked to be changed meanwhile; ordinals of both.

    RFC 6202, section 2.1, describes the pattern: a server defers its answer until it has something to tell.
    """
    told = tuple(each for each in exchanges if each.response is not None)
    changes = tuple(each for each in told if each.request.method not in SAFE)
    kept = {
        each.ordinal: frozenset(change.ordinal for change in changes if _outlasts(each, change))
        for each in told
        if each.request.resource_type in FETCHES
    }
    return {ordinal: meanwhile for ordinal, meanwhile in kept.items() if meanwhile}


def _outlasts(poll: Exchange, change: Exchange) -> bool:
    began, ended = poll.started_ms, poll.completed_ms
    return ended is not None and ended - began >= KEPT_MS and began < change.started_ms < ended
