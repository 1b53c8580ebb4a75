"""Which recorded exchange answers a request of the replay."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.network.keys import CanonicalRequest, canonical_request
from eikon_engine.network.nearest import BodyReader, Nearest, Neighbourhood

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.network.exchange import Exchange

DECIDING_HEADERS: Final = (
    "accept",
    "accept-language",
    "access-control-request-headers",
    "access-control-request-method",
    "hx-request",
    "hx-target",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "next-action",
    "purpose",
    "range",
    "rsc",
    "sec-purpose",
    "turbo-frame",
    "x-inertia",
    "x-inertia-partial-data",
    "x-pjax",
    "x-requested-with",
)
"""Request headers by which servers choose between answers of one URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Answer with this exchange; if it is `pending`, do not answer at all."""

    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """Answer with nothing: the recording does not say what belongs here."""

    key: str
    reason: str
    """Why, in one clause, for `METHOD URL: reason`."""
    nearest: Nearest | None
    """The recorded request that looks most like it, if any does."""


Match: TypeAlias = Hit | Miss
_Values: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    """Hold the exchanges of one key, apart by the deciding headers in which they differ."""

    headers: tuple[str, ...]
    groups: dict[_Values, dict[int, Exchange | None]]
    """By header values, then by place within the group; None where it is not known which exchange belongs there."""

    @property
    def first(self) -> Exchange:
        return next(exchange for group in self.groups.values() for exchange in group.values() if exchange is not None)


class Playback:
    """Answer the requests of one replay from a recording, each exchange at most once.

    A mutable object that counts what was asked. Not safe for threads: one replay, one playback, one event loop.
    """

    def __init__(self, exchanges: Iterable[Exchange], *, read_body: BodyReader | None = None) -> None:
        """Sort the exchanges by key; `read_body` lets a miss say where a JSON or form body differs."""
        self._exchanges = tuple(sorted(exchanges, key=lambda exchange: exchange.ordinal))
        self._read_body = read_body
        self._answers = _by_key(self._exchanges)
        self._asked: Counter[tuple[str, _Values]] = Counter()
        self._served: set[int] = set()
        self._hits: list[Hit] = []
        self._misses: list[Miss] = []
        self._neighbourhood: Neighbourhood | None = None

    @property
    def hits(self) -> tuple[Hit, ...]:
        """Return what was answered, in the order of asking."""
        return tuple(self._hits)

    @property
    def misses(self) -> tuple[Miss, ...]:
        """Return what could not be answered, in the order of asking."""
        return tuple(self._misses)

    def unused(self) -> tuple[Exchange, ...]:
        """Return the recorded exchanges that nothing asked for yet, in issue order."""
        return tuple(exchange for exchange in self._exchanges if exchange.ordinal not in self._served)

    def match(
        self,
        method: str,
        url: str,
        body: bytes | None,
        content_type: str | None,
        headers: Iterable[tuple[str, str]],
    ) -> Match:
        """Answer one request and count it; the n-th request of its kind gets the n-th recorded exchange of its kind."""
        wanted = canonical_request(method, url, body, content_type)
        found = self._look_up(wanted, headers)
        if isinstance(found, Hit):
            self._served.add(found.exchange.ordinal)
            self._hits.append(found)
        else:
            self._misses.append(found)
        return found

    def _look_up(self, wanted: CanonicalRequest, headers: Iterable[tuple[str, str]]) -> Match:
        answers = self._answers.get(wanted.key)
        if answers is None:
            return self._never_recorded(wanted)
        values = _header_values(headers, answers.headers)
        group = answers.groups.get(values)
        if group is None:
            return _other_headers(wanted, answers, values)
        count = self._asked[wanted.key, values]
        self._asked[wanted.key, values] += 1
        exchange = group.get(count)
        if exchange is not None:
            return Hit(exchange=exchange)
        return _no_such_occurrence(wanted, answers.first, group, count)

    def _never_recorded(self, wanted: CanonicalRequest) -> Miss:
        if self._neighbourhood is None:
            self._neighbourhood = Neighbourhood(self._exchanges, self._read_body)
        nearest = self._neighbourhood.find(wanted, self._served)
        reason = "it was not recorded, and no recorded request is like it" if nearest is None else nearest.reason
        return Miss(key=wanted.key, reason=reason, nearest=nearest)


def _by_key(exchanges: tuple[Exchange, ...]) -> dict[str, _Answers]:
    by_key: defaultdict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        by_key[exchange.key].append(exchange)
    return {key: _group(sorted(of_key, key=lambda exchange: exchange.occurrence)) for key, of_key in by_key.items()}


def _group(exchanges: list[Exchange]) -> _Answers:
    """Part the exchanges of one key.

    An occurrence may be missing from a recording that was cut off. In a single group it leaves a gap; in one of
    several groups, every later place is in doubt.
    """
    all_values = [_header_values(exchange.request.headers, DECIDING_HEADERS) for exchange in exchanges]
    differing = [place for place in range(len(DECIDING_HEADERS)) if len({values[place] for values in all_values}) > 1]
    groups: dict[_Values, dict[int, Exchange | None]] = {}
    for rank, (exchange, values) in enumerate(zip(exchanges, all_values, strict=True)):
        group = groups.setdefault(tuple(values[place] for place in differing), {})
        if not differing:
            group[exchange.occurrence] = exchange
        else:
            group[len(group)] = exchange if exchange.occurrence == rank else None
    return _Answers(headers=tuple(DECIDING_HEADERS[place] for place in differing), groups=groups)


def _header_values(headers: Iterable[tuple[str, str]], names: tuple[str, ...]) -> _Values:
    if not names:
        return ()
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        found[lower] = f"{found[lower]}, {value.strip()}" if lower in found else value.strip()
    return tuple(found.get(name) for name in names)


def _other_headers(wanted: CanonicalRequest, answers: _Answers, values: _Values) -> Miss:
    differences = []
    for place, name in enumerate(answers.headers):
        recorded = {group[place] for group in answers.groups}
        shown = " or ".join(sorted("none" if value is None else repr(value) for value in recorded))
        requested = "none" if values[place] is None else repr(values[place])
        differences.append(f"header {name}: recorded {shown}, requested {requested}")
    names = ", ".join(answers.headers)
    reason = f"it was recorded, but not with these values of the headers that decide its answer ({names})"
    nearest = Nearest(
        exchange=answers.first, reason=reason, agreements=_key_parts(wanted), differences=tuple(differences)
    )
    return Miss(key=wanted.key, reason=reason, nearest=nearest)


def _no_such_occurrence(
    wanted: CanonicalRequest, first: Exchange, group: dict[int, Exchange | None], count: int
) -> Miss:
    known = [exchange for exchange in group.values() if exchange is not None]
    times = "once" if len(known) == 1 else f"{len(known)} times"
    reason = f"recorded {times}, this is occurrence {count + 1}"
    if count < max(group):
        reason += ", which is missing from the recording"
    nearest = Nearest(
        exchange=known[-1] if known else first,
        reason=reason,
        agreements=_key_parts(wanted),
        differences=(f"occurrence: recorded {len(known)}, requested {count + 1}",),
    )
    return Miss(key=wanted.key, reason=reason, nearest=nearest)


def _key_parts(wanted: CanonicalRequest) -> tuple[str, ...]:
    parts = (f"method {wanted.method}", f"url {wanted.url}")
    return parts if wanted.body is None else (*parts, "body")
