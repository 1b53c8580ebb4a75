"""Which recorded exchange answers a request of the replay."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.network.deciding import HeaderValues, differing_headers, header_values
from eikon_engine.network.keys import CanonicalRequest, canonical_request
from eikon_engine.network.loose import Exhausted, RuleHit, RuleMatcher
from eikon_engine.network.nearest import BodyReader, NearestRequest, RequestIndex
from eikon_engine.network.rule_use import RuleUsage
from eikon_engine.network.rules import blank_request
from eikon_engine.outcome.outcomes import NetworkMiss
from eikon_engine.trace.volatile import describe_rule_part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.network.exchange import Exchange, HeaderPairs
    from eikon_engine.trace.volatile import VolatileRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """The exchange that answers a request; if it is `pending`, the request gets no response."""

    exchange: Exchange
    rules: tuple[VolatileRule, ...] = ()
    """Rules that were needed to match; empty for an exact match."""

    @property
    def key(self) -> str:
        """Return the recorded key, which differs from the key of the request if rules were needed."""
        return self.exchange.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A request without a recorded response."""

    key: str
    reason: str
    """Why, in one clause, for `SOCKET_METHOD URL: reason`."""
    nearest: NearestRequest | None
    """The most similar recorded request, if there is one."""

    def to_network_miss(self) -> NetworkMiss:
        """Return the miss as written to outcomes."""
        if self.nearest is None:
            return NetworkMiss(key=self.key, reason=self.reason)
        nearest, differences = self.nearest.exchange.key, self.nearest.differences
        return NetworkMiss(key=self.key, reason=self.reason, nearest=nearest, differences=differences)


Match: TypeAlias = Hit | Miss
_MissFactory: TypeAlias = Callable[[], Miss]
"""Creates the miss. Finding the nearest request is slow, so it is deferred until there is no match at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeyedExchanges:
    """The exchanges of one key, grouped by the values of the deciding headers in which they differ."""

    headers: tuple[str, ...]
    groups: dict[HeaderValues, dict[int, Exchange | None]]
    """By header values, then by position in the group; None if the exchange at a position is unknown."""

    @property
    def first(self) -> Exchange:
        return next(exchange for group in self.groups.values() for exchange in group.values() if exchange is not None)


class Playback:
    """Match the requests of one replay with a recording; each exchange is served at most once.

    Mutable and not thread-safe: one replay, one playback, one event loop.
    """

    def __init__(
        self,
        exchanges: Iterable[Exchange],
        *,
        read_body: BodyReader | None = None,
        rules: tuple[VolatileRule, ...] = (),
    ) -> None:
        """Index the exchanges by key.

        `read_body` is needed to describe how JSON and form bodies differ, and for rules about bodies. Rules are only
        applied to requests without an exact match.
        """
        self._exchanges = tuple(sorted(exchanges, key=lambda exchange: exchange.ordinal))
        self._read_body = read_body
        self._by_key = _index_by_key(self._exchanges)
        self._counts: Counter[tuple[str, HeaderValues]] = Counter()
        self._served: set[int] = set()
        self._rule_matcher = RuleMatcher(self._exchanges, rules, read_body) if rules else None
        self.rule_use = RuleUsage(rules)
        self._hits: list[Hit] = []
        self._misses: list[Miss] = []
        self._request_index: RequestIndex | None = None

    @property
    def hits(self) -> tuple[Hit, ...]:
        """Return the matched requests, in the order received."""
        return tuple(self._hits)

    @property
    def misses(self) -> tuple[Miss, ...]:
        """Return the requests without a match, in the order received."""
        return tuple(self._misses)

    def unused(self) -> tuple[Exchange, ...]:
        """Return the recorded exchanges that were not served yet, in the order sent."""
        return tuple(exchange for exchange in self._exchanges if exchange.ordinal not in self._served)

    def rules_applied(self) -> tuple[tuple[VolatileRule, int], ...]:
        """Return the rules that were needed to match requests, with the number of requests."""
        return self.rule_use.applied()

    def unused_rules(self) -> tuple[VolatileRule, ...]:
        """Return the rules whose part occurred in no request so far."""
        return self.rule_use.unused()

    def match(
        self,
        method: str,
        url: str,
        body: bytes | None,
        content_type: str | None,
        headers: Iterable[tuple[str, str]],
    ) -> Match:
        """Match one request: the n-th request with a key gets the n-th recorded exchange with that key."""
        wanted = canonical_request(method, url, body, content_type)
        found = self._match(wanted, tuple(headers))
        if isinstance(found, Hit):
            self._served.add(found.exchange.ordinal)
            self._hits.append(found)
        else:
            self._misses.append(found)
        return found

    def _match(self, wanted: CanonicalRequest, headers: HeaderPairs) -> Match:
        """Find an exact match, or else a request that differs only in what rules ignore."""
        exact = self._match_exactly(wanted, headers)
        by_rule = (
            self._match_by_rules(self._rule_matcher, wanted, headers, exact) if self._rule_matcher is not None else None
        )
        if by_rule is not None:
            return by_rule
        return exact if isinstance(exact, Hit) else exact()

    def _match_by_rules(
        self, loose: RuleMatcher, wanted: CanonicalRequest, headers: HeaderPairs, exact: Hit | _MissFactory
    ) -> Match | None:
        """Count the rules that apply to a request, and use them to match it unless there is an exact match."""
        loosened = blank_request(wanted, self.rule_use.rules)
        self.rule_use.record_parts(wanted, loosened, headers)
        if isinstance(exact, Hit):
            return exact
        match loose.find(wanted, loosened, headers, self._served):
            case RuleHit(exchange=exchange, rules=rules):
                self.rule_use.count_use(rules)
                return Hit(exchange=exchange, rules=rules)
            case Exhausted() as exhausted:
                return _all_served(wanted, exhausted)
            case None:
                return None

    def _match_exactly(self, wanted: CanonicalRequest, headers: HeaderPairs) -> Hit | _MissFactory:
        """Return the exact match, or a function that explains why there is none."""
        answers = self._by_key.get(wanted.key)
        if answers is None:
            return partial(self._not_recorded, wanted)
        values = header_values(headers, answers.headers)
        group = answers.groups.get(values)
        if group is None:
            return partial(_other_headers, wanted, answers, values)
        count = self._counts[wanted.key, values]
        exchange = group.get(count)
        while exchange is not None and exchange.ordinal in self._served:  # served to another request by a rule
            count += 1
            exchange = group.get(count)
        self._counts[wanted.key, values] = count + 1
        if exchange is not None:
            return Hit(exchange=exchange)
        return partial(_no_such_occurrence, wanted, answers.first, group, count)

    def _not_recorded(self, wanted: CanonicalRequest) -> Miss:
        if self._request_index is None:
            self._request_index = RequestIndex(self._exchanges, self._read_body)
        nearest = self._request_index.find(wanted, self._served)
        reason = "it was not recorded, and no recorded request is similar" if nearest is None else nearest.reason
        return Miss(key=wanted.key, reason=reason, nearest=nearest)


def _index_by_key(exchanges: tuple[Exchange, ...]) -> dict[str, _KeyedExchanges]:
    by_key: defaultdict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        by_key[exchange.key].append(exchange)
    return {
        key: _group_exchanges(sorted(of_key, key=lambda exchange: exchange.occurrence))
        for key, of_key in by_key.items()
    }


def _group_exchanges(exchanges: list[Exchange]) -> _KeyedExchanges:
    """Group the exchanges of one key.

    An occurrence may be missing from an interrupted recording. In a single group it leaves a gap; with several groups,
    every later position is uncertain.
    """
    differing = differing_headers(exchanges)
    groups: dict[HeaderValues, dict[int, Exchange | None]] = {}
    for rank, exchange in enumerate(exchanges):
        group = groups.setdefault(header_values(exchange.request.headers, differing), {})
        if not differing:
            group[exchange.occurrence] = exchange
        else:
            group[len(group)] = exchange if exchange.occurrence == rank else None
    return _KeyedExchanges(headers=differing, groups=groups)


def _other_headers(wanted: CanonicalRequest, answers: _KeyedExchanges, values: HeaderValues) -> Miss:
    differences = []
    for place, name in enumerate(answers.headers):
        recorded = {group[place] for group in answers.groups}
        shown = " or ".join(sorted("none" if value is None else repr(value) for value in recorded))
        requested = "none" if values[place] is None else repr(values[place])
        differences.append(f"header {name}: recorded {shown}, requested {requested}")
    names = ", ".join(answers.headers)
    reason = f"it was recorded with different values of headers that select the response ({names})"
    nearest = NearestRequest(
        exchange=answers.first, reason=reason, agreements=_key_parts(wanted), differences=tuple(differences)
    )
    return Miss(key=wanted.key, reason=reason, nearest=nearest)


def _no_such_occurrence(
    wanted: CanonicalRequest, first: Exchange, group: dict[int, Exchange | None], count: int
) -> Miss:
    known = [exchange for exchange in group.values() if exchange is not None]
    times = "once" if len(known) == 1 else f"{len(known)} times"
    reason = f"it was recorded {times}, this is occurrence {count + 1}"
    if count < max(group):
        reason += ", which is missing from the recording"
    nearest = NearestRequest(
        exchange=known[-1] if known else first,
        reason=reason,
        agreements=_key_parts(wanted),
        differences=(f"occurrence: recorded {len(known)}, requested {count + 1}",),
    )
    return Miss(key=wanted.key, reason=reason, nearest=nearest)


def _all_served(wanted: CanonicalRequest, exhausted: Exhausted) -> Miss:
    recorded = len(exhausted.exchanges)
    times = "once" if recorded == 1 else f"{recorded} times"
    parts = ", ".join(describe_rule_part(rule) for rule in exhausted.rules)
    reason = f"it was recorded {times} apart from what rules ignore ({parts}), and every response was already served"
    nearest = NearestRequest(
        exchange=exhausted.exchanges[-1],
        reason=reason,
        agreements=(f"method {wanted.method}", f"url {wanted.url.partition('?')[0]}"),
        differences=(f"occurrence: recorded {recorded}, requested {recorded + 1}",),
    )
    return Miss(key=wanted.key, reason=reason, nearest=nearest)


def _key_parts(wanted: CanonicalRequest) -> tuple[str, ...]:
    parts = (f"method {wanted.method}", f"url {wanted.url}")
    return parts if wanted.body is None else (*parts, "body")
