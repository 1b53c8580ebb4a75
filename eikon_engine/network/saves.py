"""Saves of pages: PUT requests that pages send once nothing changed for a while, so that each change puts them off.

How often a page saves, and what, depends on how long it computes. A PUT replaces what its URL had before (RFC 9110,
section 9.3.4), so a replay may send fewer or others, as long as what was saved last is the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from eikon_engine.network.nearest import body_fields
from eikon_engine.network.rules import recorded_request

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.nearest import BodyReader

SAVE_METHOD: Final = "PUT"
PUT_OFF_MS: Final = 1000.0
"""Page time by which a replay may send a save earlier than it was recorded."""
_CONTENT_HEADERS: Final = frozenset({"content-location", "etag", "last-modified", "location"})
"""Response headers that tell a page about the content that it stored (RFC 9110, sections 8.7, 8.8 and 10.2.2)."""
_PARTIAL: Final = "content-range"
"""Request header of a PUT that replaces only a part (RFC 9110, section 14.5)."""


def group_saves(
    exchanges: Iterable[Exchange], address: Callable[[Exchange], str]
) -> Mapping[str, tuple[Exchange, ...]]:
    """Return the saves of each address, in the order sent.

    Only of addresses whose responses had no content: a page learns nothing from them about what it saved.
    """
    groups: defaultdict[str, list[Exchange]] = defaultdict(list)
    for each in exchanges:
        if each.request.method == SAVE_METHOD:
            groups[address(each)].append(each)
    return {place: tuple(group) for place, group in groups.items() if all(map(_saved_without_content, group))}


def _saved_without_content(exchange: Exchange) -> bool:
    """Return whether a whole was saved, and the response says no more than that."""
    response = exchange.response
    if response is None or response.body_missing is not None:
        return False
    if any(name.lower() in _CONTENT_HEADERS for name, _ in response.headers):
        return False
    is_whole = not any(name.lower() == _PARTIAL for name, _ in exchange.request.headers)
    is_success = HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES
    return is_whole and is_success and not (response.body is not None and response.body.size)


def is_replaced(
    save: Exchange,
    saves: Collection[Exchange],
    sent_by_timer: Collection[int],
    exchanges: Iterable[Exchange],
    read_body: BodyReader | None,
) -> bool:
    """Return whether a later one of `saves` made a save that a replay did not send unnecessary.

    A timer sent the later one as recorded (`sent_by_timer` are ordinals), in the same frame; it has every part that the
    earlier one has; and between them none of `exchanges` loaded a page or read what was saved.
    """
    parts = _parts(save, read_body)
    return any(
        later.ordinal > save.ordinal
        and later.ordinal in sent_by_timer
        and later.request.frame == save.request.frame
        and parts <= _parts(later, read_body)
        and not any(_observes(save, each) for each in exchanges if save.ordinal < each.ordinal < later.ordinal)
        for later in saves
    )


def is_saved_last(
    save: Exchange, saves: Collection[Exchange], sent_by_timer: Collection[int], sent_ms: Mapping[int, float]
) -> bool:
    """Return whether what a replay saved last, by a timer, equals a save that it did not send.

    `sent_ms` has the page times at which saves were sent, by ordinal.
    """
    sent = [each for each in saves if each.ordinal in sent_ms]
    last = max(sent, key=lambda each: sent_ms[each.ordinal], default=None)
    return (
        last is not None
        and last.ordinal in sent_by_timer
        and (last.request.body, last.request.frame) == (save.request.body, save.request.frame)
        and sent_ms[last.ordinal] >= save.started_ms - PUT_OFF_MS
    )


def _observes(save: Exchange, exchange: Exchange) -> bool:
    request = exchange.request
    is_page = request.is_navigation and not request.frame
    is_same = request.url.partition("?")[0] == save.request.url.partition("?")[0]
    return is_page or (is_same and request.method != SAVE_METHOD)


def _parts(save: Exchange, read_body: BodyReader | None) -> frozenset[str]:
    """Return the names of the fields of a form or JSON object; empty for another body, which has no parts."""
    request = recorded_request(save, read_body)
    fields = {} if request is None else body_fields(request.body, request.media_type)
    return frozenset(re.split(r"[.\[]", path.removeprefix("$."), maxsplit=1)[0] for path in fields)
