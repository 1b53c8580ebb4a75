"""Numbered polls: requests of a timer that differ only in a counter, such as `n_intervals` of Dash."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.network.keys import BODY_MARK
from eikon_engine.network.rules import recorded_request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.keys import CanonicalRequest
    from eikon_engine.network.nearest import BodyReader

_NUMBER: Final = re.compile(r"(?<![\w.%-])([0-9]{1,9})(?![\w.])")
_MIN_LENGTH: Final = 3
"""Minimum number of requests in a series; two suffice for unsafe methods, since pagination uses safe ones."""
_FIRST_COUNTS: Final = (0, 1)
"""Numbers that a counter begins with."""
_COUNTER: Final = re.compile(
    r"(?:(?<![A-Za-z])[ihpts]|[IHPTS])(?:(?<=[iI])ntervals?|(?<=[hH])eartbeats?|(?<=[pP])olls?|(?<=[tT])icks?|(?<=[sS])eq)"
    r"(?![a-z])"
)
"""Words in names of counters of timers, as opposed to flags and quantities."""
_SEQUENCE: Final = re.compile("seq", re.IGNORECASE)
"""What counts the events of actions as well, so that it tells nothing about a single request."""
_NAME_DISTANCE: Final = 40
"""Maximum number of characters from the begin of a counter's name to its number."""
_MAX_SPREAD: Final = 2.0
"""Maximum ratio of two intervals between the requests of a series."""


def find_series(
    request: CanonicalRequest, exchanges: Iterable[Exchange], read_body: BodyReader | None
) -> tuple[Exchange, ...]:
    """Return the recorded series to which a request belongs, in the order sent; empty if there is none.

    The requests of a series differ in one number, which increases by the same step each time, at regular intervals. The
    request itself is one of the series, or has a later number. Unsafe requests that name their counter are a series at
    irregular intervals as well, since a busy page runs its timers late; so is a single one that counts from 0 or 1,
    unless the counter may be one of events (`seq`).
    """
    text = _text(request)
    shape, wanted = _NUMBER.sub("0", text), _numbers(text)
    alike = [
        (_numbers(other), each)
        for each, other in ((each, _recorded_text(each, read_body)) for each in exchanges if _may_be(each, request))
        if _NUMBER.sub("0", other) == shape
    ]
    counters = {place for numbers, _ in alike for place, value in enumerate(numbers) if value != wanted[place]}
    if len(counters) != 1:
        return ()
    counter = counters.pop()
    counts = [numbers[counter] for numbers, _ in alike]
    is_unsafe = request.method not in SAFE_METHODS
    name = _counter_name(text, counter) if is_unsafe else None
    names_timer = name is not None and _SEQUENCE.fullmatch(name) is None
    if len(alike) == 1 and names_timer and wanted[counter] > counts[0] in _FIRST_COUNTS:
        return (alike[0][1],)
    steps = {after - before for before, after in pairwise(counts)}
    step = steps.pop() if len(steps) == 1 else 0
    if step < 1 or len(counts) < (2 if step == 1 and is_unsafe else _MIN_LENGTH):
        return ()
    intervals = [after.started_ms - before.started_ms for before, after in pairwise(each for _, each in alike)]
    if max(intervals) > _MAX_SPREAD * max(min(intervals), 1.0) and name is None:
        return ()
    is_member = wanted[counter] >= counts[0] and (wanted[counter] - counts[0]) % step == 0
    return tuple(each for _, each in alike) if is_member else ()


def _counter_name(text: str, place: int) -> str | None:
    """Return the word of a counter's name that precedes the number at a position among the numbers of a text."""
    begin = list(_NUMBER.finditer(text))[place].start()
    found = list(_COUNTER.finditer(text, max(0, begin - _NAME_DISTANCE), begin))
    return found[-1][0] if found else None


def _may_be(exchange: Exchange, request: CanonicalRequest) -> bool:
    """Return whether method and path are equal, before a body is read."""
    head = exchange.key.partition(BODY_MARK)[0].partition("?")[0]
    return head == f"{request.method} {request.url.partition('?')[0]}"


def _recorded_text(exchange: Exchange, read_body: BodyReader | None) -> str:
    request = recorded_request(exchange, read_body)
    return "" if request is None else _text(request)


def _text(request: CanonicalRequest) -> str:
    """Return the URL and the body; text of other encodings than UTF-8 is compared byte by byte."""
    return request.url + "\n" + (request.body or b"").decode("latin-1")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, _NUMBER.findall(text)))
