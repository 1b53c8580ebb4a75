"""Match the requests of a replay with recorded exchanges: first exactly, then by rules."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.network.exchange import REPEATABLE_METHODS, REUSED_TYPES
from eikon_engine.network.keys import BODY_MARK, CanonicalRequest, canonical_request
from eikon_engine.network.nearest import MAX_SHOWN_PARTS, BodyReader, NearestRequest, RequestIndex
from eikon_engine.network.poll_series import find_series
from eikon_engine.network.rules import blank_exchange, blank_request, has_telemetry_rule, header_rules, recorded_request
from eikon_engine.network.saves import SAVE_METHOD, group_saves
from eikon_engine.outcome.outcomes import NetworkMiss, RequestDifference, RuleApplied
from eikon_engine.trace.rules import ResponseValueRule, TelemetryRule, describe_rule, describe_rule_part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from eikon_engine.network.exchange import Exchange, HeaderPairs
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.network.rules import BlankedRequest
    from eikon_engine.trace.rules import VolatileRule

VARY_HEADERS: Final = (
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

_ADDED_BY_BROWSER: Final = frozenset({"accept-language"})
"""Headers that the browser adds after a request was reported, so that some recorded requests lack them."""

_DEFAULT_VALUES: Final = {"accept": "*/*"}
"""Values that the browser adds after a request was reported, unless a script has set one."""

_COMPARED_HEADERS: Final = tuple(name for name in VARY_HEADERS if name not in _ADDED_BY_BROWSER)
"""The deciding headers that every recorded request has, if it was sent with them."""
HeaderValues: TypeAlias = tuple[str | None, ...]


def header_values(headers: Iterable[tuple[str, str]], names: tuple[str, ...]) -> HeaderValues:
    """Return the value of each named header, None if absent; `names` are in lower case.

    An absent header with a default value has that value.
    """
    if not names:
        return ()
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        found[lower] = f"{found[lower]}, {value.strip()}" if lower in found else value.strip()
    return tuple(found.get(name, _DEFAULT_VALUES.get(name)) for name in names)


def differing_headers(exchanges: Iterable[Exchange]) -> tuple[str, ...]:
    """Return the deciding headers in which recorded requests differ."""
    values = [header_values(exchange.request.headers, VARY_HEADERS) for exchange in exchanges]
    columns = zip(*values, strict=True)
    return tuple(
        name
        for name, column in zip(VARY_HEADERS, columns, strict=bool(values))
        if len(set(column)) > 1 and not (name in _ADDED_BY_BROWSER and None in column)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleHit:
    """The next unserved exchange, and the rules that were needed to match it."""

    exchange: Exchange
    rules: tuple[VolatileRule, ...]
    alike: tuple[Exchange, ...]
    """The matching exchanges, served or not, in the order sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """Every matching exchange has already been served."""

    exchanges: tuple[Exchange, ...]
    rules: tuple[VolatileRule, ...]


RuleMatch: TypeAlias = RuleHit | Exhausted | None


class _RuleGroup:
    """Exchanges that are equal except for what rules ignore, in the order sent."""

    def __init__(self, exchanges: tuple[Exchange, ...]) -> None:
        self.exchanges = exchanges
        self.differing = differing_headers(exchanges)
        self._by_headers: dict[tuple[str, ...], dict[HeaderValues, list[Exchange]]] = {}

    def with_headers(self, headers: HeaderPairs, names: tuple[str, ...]) -> tuple[Exchange, ...]:
        """Return the exchanges with the same values of the named headers."""
        if names not in self._by_headers:
            by_values = self._by_headers[names] = defaultdict(list)
            for exchange in self.exchanges:
                by_values[header_values(exchange.request.headers, names)].append(exchange)
        return tuple(self._by_headers[names].get(header_values(headers, names), ()))


class RuleMatcher:
    """Exchanges indexed by their requests without what rules ignore. The index is built on first use."""

    def __init__(
        self, exchanges: tuple[Exchange, ...], rules: tuple[VolatileRule, ...], read_body: BodyReader | None
    ) -> None:
        """Store the exchanges, which must be in the order sent."""
        self._exchanges = exchanges
        self._rules = rules
        self._read_body = read_body
        self._index: dict[str, _RuleGroup] | None = None

    def find(
        self, sent: CanonicalRequest, blanked: BlankedRequest, headers: HeaderPairs, served: Collection[int]
    ) -> RuleMatch:
        """Return the first matching exchange not in `served` (ordinals); None if no rule leads to a match."""
        freed = header_rules(sent.method, sent.url, self._rules)
        if not blanked.rules and not freed:
            return None
        group = self._get_index().get(blanked.key)
        if group is None:
            return None
        ignored = {rule.name.lower() for rule in freed}
        is_telemetry = has_telemetry_rule(blanked.rules)
        names = () if is_telemetry else tuple(name for name in group.differing if name not in ignored)
        alike = group.with_headers(headers, names)
        if not alike:
            return None
        used = (*blanked.rules, *(rule for rule in freed if rule.name.lower() in group.differing))
        waiting = next((each for each in alike if each.ordinal not in served), None)
        if waiting is None:
            return Exhausted(exchanges=alike, rules=used)
        return RuleHit(exchange=waiting, rules=used, alike=alike)

    def alike(self, exchange: Exchange) -> tuple[Exchange, ...]:
        """Return the exchanges that equal a recorded one up to the rules, in the order sent; empty without a rule."""
        blanked = blank_exchange(exchange, self._rules, self._read_body)
        group = self._get_index().get(blanked.key)
        return () if group is None else group.exchanges

    def _get_index(self) -> dict[str, _RuleGroup]:
        if self._index is None:
            groups: defaultdict[str, list[Exchange]] = defaultdict(list)
            for exchange in self._exchanges:
                blanked = blank_exchange(exchange, self._rules, self._read_body)
                if blanked.rules or header_rules(*_method_and_url(exchange), self._rules):
                    groups[blanked.key].append(exchange)
            self._index = {key: _RuleGroup(_before_first_gap(group)) for key, group in groups.items()}
        return self._index


def _method_and_url(exchange: Exchange) -> tuple[str, str]:
    method, _, rest = exchange.key.partition(" ")
    return method, rest.partition(" ")[0]


def _before_first_gap(group: list[Exchange]) -> tuple[Exchange, ...]:
    """Drop exchanges after a request that is missing from the recording, since their occurrence is uncertain."""
    known: defaultdict[str, list[Exchange]] = defaultdict(list)
    end: float = float("inf")
    for exchange in group:
        of_key = known[exchange.key]
        if exchange.occurrence != len(of_key):
            end = min(end, of_key[-1].ordinal if of_key else -1)
        of_key.append(exchange)
    return tuple(exchange for exchange in group if exchange.ordinal <= end)


class RuleUsage:
    """Usage counts of the rules of one replay; mutable."""

    def __init__(self, rules: Iterable[VolatileRule]) -> None:
        """Start with no uses; duplicate rules are merged."""
        self.rules = tuple(dict.fromkeys(rules))
        self._found: set[VolatileRule] = set()
        self._applied: Counter[VolatileRule] = Counter()

    def add(self, rules: Iterable[VolatileRule]) -> None:
        """Add rules that were learned during the replay."""
        self.rules = tuple(dict.fromkeys((*self.rules, *rules)))

    def record_parts(self, sent: CanonicalRequest, blanked: BlankedRequest, headers: HeaderPairs) -> None:
        """Record the rules whose part a request contains, whether or not they are needed to match it."""
        self._found.update(blanked.rules)
        names = {name.lower() for name, _ in headers} & set(VARY_HEADERS)
        freed = header_rules(sent.method, sent.url, self.rules)
        self._found.update(rule for rule in freed if rule.name.lower() in names)

    def count_use(self, rules: Iterable[VolatileRule]) -> None:
        """Count one request or WebSocket message that was matched by these rules."""
        used = tuple(rules)
        self._found.update(used)
        self._applied.update(used)

    def applied(self) -> tuple[tuple[VolatileRule, int], ...]:
        """Return the rules that were needed for a match, with their counts, in the order of the trace."""
        return tuple((rule, self._applied[rule]) for rule in self.rules if self._applied[rule])

    def unused(self) -> tuple[VolatileRule, ...]:
        """Return the rules whose part occurred in no request; responses have others, and telemetry need not be sent."""
        needed = (rule for rule in self.rules if not isinstance(rule, ResponseValueRule | TelemetryRule))
        return tuple(rule for rule in needed if rule not in self._found)

    def to_outcome(self) -> tuple[RuleApplied, ...]:
        """Return the value of `NetworkOutcome.rules_applied`."""
        return tuple(
            RuleApplied(rule=describe_rule(rule), reason=rule.reason, times=times) for rule, times in self.applied()
        )

    def notes(self) -> tuple[str, ...]:
        """Return a note for each unused rule."""
        return tuple(
            f"unused rule: {describe_rule(rule)} matched no request of this replay. Fix or remove it."
            for rule in self.unused()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """The exchange that answers a request; if it is `pending`, the request gets no response."""

    exchange: Exchange
    rules: tuple[VolatileRule, ...] = ()
    """Rules that were needed to match; empty for an exact match."""
    is_repeat: bool = False
    """Whether every recorded exchange was served already, and this is the last one that was answered by now; of a
    resource, the first one."""
    has_other_body: bool = False
    """Whether it is a save with a body that was not recorded: then another one was served before."""
    is_resource: bool = False
    """Whether it is a repeat of a resource that the recorded browser may have taken from its memory cache."""
    has_predecessor: bool = field(default=False, compare=False)
    """Whether an equal request precedes it in the recording."""
    skipped: tuple[Exchange, ...] = field(default=(), compare=False)
    """Repetitions before it that will not be served any more."""

    @property
    def key(self) -> str:
        """Return the recorded key, which differs from the key of the request if rules were needed."""
        return self.exchange.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A request without a recorded response."""

    key: str
    reason: str
    """Why, in one clause, for `METHOD URL: reason`."""
    nearest: NearestRequest | None
    """The most similar recorded request, if there is one."""

    def to_network_miss(self) -> NetworkMiss:
        """Return the miss as written to outcomes."""
        if self.nearest is None:
            return NetworkMiss(key=self.key, reason=self.reason)
        return NetworkMiss(
            key=self.key,
            reason=self.reason,
            nearest=self.nearest.exchange.key,
            differences=self.nearest.differences,
            more_differences=self.nearest.more_differences,
        )


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
        learner: RuleLearner | None = None,
    ) -> None:
        """Index the exchanges by key.

        `read_body` is needed to describe how JSON and form bodies differ, and for rules about bodies. Rules are only
        applied to requests without an exact match; with a `learner`, those that it learns apply from then on.
        """
        self.learner = learner
        """Learns rules for requests without a match, if there is one."""
        self._exchanges = tuple(sorted(exchanges, key=lambda exchange: exchange.ordinal))
        self.read_body = read_body
        """Reads recorded bodies, if they can be read."""
        self._by_key = _index_by_key(self._exchanges)
        self._counts: Counter[tuple[str, HeaderValues]] = Counter()
        self._served: set[int] = set()
        self._rule_matcher = RuleMatcher(self._exchanges, rules, read_body) if rules else None
        self.rule_use = RuleUsage(rules)
        self._passed: set[int] = set()
        """Ordinals of exchanges that were served, or skipped as repetitions that brought nothing new."""
        self._timer_ms: float | None = None
        self._is_for_resource = False
        """Both as given to `match` with the present request."""
        self._by_path: defaultdict[str, list[Exchange]] | None = None
        """Exchanges by method and URL without query; made on first use."""
        self._saves: Mapping[str, tuple[Exchange, ...]] = {}
        """Saves by address without what `_saves_rules` ignore; made on first use."""
        self._saves_rules: tuple[VolatileRule, ...] | None = None
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

    def has_key(self, key: str) -> bool:
        """Return whether a request with this key was recorded."""
        return key in self._by_key

    def unused(self) -> tuple[Exchange, ...]:
        """Return the recorded exchanges that were not served yet, in the order sent."""
        return tuple(exchange for exchange in self._exchanges if exchange.ordinal not in self._served)

    def has_served(self, exchange: Exchange) -> bool:
        """Return whether a request has matched a recorded exchange."""
        return exchange.ordinal in self._served

    def alike(self, exchange: Exchange) -> tuple[Exchange, ...]:
        """Return the recorded exchanges whose requests equal that of a recorded one, in the order sent.

        Numbered polls of a series are equal but for their numbers.
        """
        by_rule = self._rule_matcher.alike(exchange) if self._rule_matcher is not None else ()
        if exchange in by_rule:
            return by_rule
        answers = self._by_key[exchange.key]
        group = answers.groups[header_values(exchange.request.headers, answers.headers)]
        equal = tuple(each for each in group.values() if each is not None)
        request = recorded_request(exchange, self.read_body) if len(equal) == 1 else None
        return (find_series(request, self._on_path(exchange), self.read_body) if request is not None else ()) or equal

    def find_saves(self, address: str) -> tuple[Exchange, ...]:
        """Return the recorded saves at an address, in the order sent."""
        if self._saves_rules != self.rule_use.rules:
            self._saves_rules = self.rule_use.rules
            self._saves = group_saves(self._exchanges, self.address)
        return self._saves.get(address, ())

    def address(self, exchange: Exchange) -> str:
        """Return the URL of a recorded request without what rules ignore in its query, with its method."""
        return self._address(*_method_and_url(exchange))

    def _on_path(self, exchange: Exchange) -> tuple[Exchange, ...]:
        """Return the exchanges with the method and path of a recorded one; none if there are too many to compare."""
        if self._by_path is None:
            self._by_path = defaultdict(list)
            for each in self._exchanges:
                self._by_path[each.key.partition(BODY_MARK)[0].partition("?")[0]].append(each)
        found = self._by_path[exchange.key.partition(BODY_MARK)[0].partition("?")[0]]
        return tuple(found) if len(found) <= MAX_SERIES else ()

    def match(  # noqa: PLR0913 - the parts of a request, and what may be repeated
        self,
        method: str,
        url: str,
        body: bytes | None,
        content_type: str | None,
        headers: Iterable[tuple[str, str]],
        timer_ms: float | None = None,
        *,
        is_for_resource: bool = False,
    ) -> Match:
        """Match one request: the n-th request with a key gets the n-th recorded exchange with that key.

        `timer_ms` is the page time, in the recorded timeline, of a request that a timer of the page may have sent; None
        if an action caused it. A timer may repeat a request more often than recorded, and skips recorded repetitions
        that are past and brought nothing new: the page gets each change at its recorded time. A request that
        `is_for_resource`, such as a font, may be sent more often: the recorded browser may have had it in its memory.
        """
        sent = canonical_request(method, url, body, content_type)
        self._timer_ms = timer_ms
        self._is_for_resource = is_for_resource
        found = self._match(sent, tuple(headers))
        if isinstance(found, Hit):
            self._served.add(found.exchange.ordinal)
            self._passed.add(found.exchange.ordinal)
            self._hits.append(found)
        else:
            self._misses.append(found)
        return found

    def continued_poll(
        self, miss: Miss, sent: CanonicalRequest, timer_ms: float, *, may_follow: Callable[[Exchange], bool]
    ) -> Exchange | None:
        """Return the recorded poll or save that a request of a timer repeats with a later number; None if it does not.

        The request was a miss, which is forgotten then; `timer_ms` is as in `match`. `may_follow` decides whether it
        may follow a single recorded one: actions may have sent both.
        """
        self._timer_ms = timer_ms
        found = self._continue_series(sent, may_follow) or self._repeat_equal_save(sent, may_follow)
        if found is None:
            return None
        self.retract(miss)
        return found.exchange

    def retract(self, miss: Miss) -> None:
        """Forget a miss whose request is matched again, after more of it could be redacted."""
        self._misses = [each for each in self._misses if each is not miss]

    def _match(self, sent: CanonicalRequest, headers: HeaderPairs) -> Match:
        """Find an exact match, or else a request that differs only in what rules ignore."""
        exact = self._match_exactly(sent, headers)
        by_rule = (
            self._match_by_rules(self._rule_matcher, sent, headers, exact) if self._rule_matcher is not None else None
        )
        if isinstance(by_rule, Miss):
            learned = () if self.learner is None else self.learner.learn_telemetry(sent.key, self._exchanges)
            return self._match_with(learned, sent, headers, exact) or by_rule
        if by_rule is not None:
            return by_rule
        if isinstance(exact, Hit):
            return exact
        return (
            self._continue_series(sent)
            or self._match_by_learned_rules(sent, headers, exact)
            or self._repeat_save(sent, headers)
            or exact()
        )

    def _continue_series(
        self, sent: CanonicalRequest, may_follow: Callable[[Exchange], bool] = lambda _single: True
    ) -> Hit | None:
        """Return what a series of numbered polls had last, for a request of a timer with a later number.

        It continues a single recorded one only if it `may_follow` that.
        """
        if self._timer_ms is None:
            return None
        series = find_series(sent, self._exchanges, self.read_body)
        if len(series) > 1:
            return self._repeat(series)
        if not series or series[0].ordinal not in self._served:  # counting begins with the recorded number
            return None
        if not may_follow(series[0]):
            return None
        return Hit(exchange=series[0], is_repeat=True, has_predecessor=True)

    def _repeat_save(self, sent: CanonicalRequest, headers: HeaderPairs) -> Hit | None:
        """Return what the recorded timeline had last for a save of a timer with a body that was not recorded."""
        if self._timer_ms is None or sent.method != SAVE_METHOD:
            return None
        saves = self.find_saves(self._address(sent.method, sent.url))
        served = tuple(each for each in saves if each.ordinal in self._served)
        values = header_values(headers, _COMPARED_HEADERS)
        if not served or any(header_values(each.request.headers, _COMPARED_HEADERS) != values for each in saves):
            return None
        repeat = self._repeat(served)
        return None if repeat is None else replace(repeat, has_other_body=True)

    def _repeat_equal_save(self, sent: CanonicalRequest, may_follow: Callable[[Exchange], bool]) -> Hit | None:
        """Return what the recorded timeline had last for a save of a timer of which only a number in the query differs.

        Its body was saved already.
        """
        if sent.method != SAVE_METHOD:
            return None
        saves = self.find_saves(self._address(sent.method, sent.url))
        body = sent.key.partition(BODY_MARK)[2]
        equal = tuple(
            each
            for each in saves
            if each.ordinal in self._served and each.key.partition(BODY_MARK)[2] == body and may_follow(each)
        )
        return self._repeat(equal) if equal else None

    def _address(self, method: str, url: str) -> str:
        """Return a path, and the method and URL without what rules ignore: only queries may differ."""
        request = CanonicalRequest(method=method, url=url, body=None, media_type="")
        return f"{url.partition('?')[0]} {blank_request(request, self.rule_use.rules).key}"

    def _match_by_learned_rules(
        self, sent: CanonicalRequest, headers: HeaderPairs, exact: _MissFactory
    ) -> Match | None:
        """Learn rules that make a request equal to a recorded one, and match it by them; None if there are none."""
        if self.learner is None:
            return None
        from eikon_engine.network.rule_learner import PlayedExchanges  # noqa: PLC0415 - few replays learn rules

        by_rules = {hit.exchange.ordinal for hit in self._hits if hit.rules}
        played = PlayedExchanges(
            exchanges=self._exchanges,
            served=self._served,
            served_exactly=self._served - by_rules,
            read_body=self.read_body,
        )
        return self._match_with(self.learner.learn_request(sent, played, self.rule_use.rules), sent, headers, exact)

    def _match_with(
        self,
        learned: tuple[VolatileRule, ...],
        sent: CanonicalRequest,
        headers: HeaderPairs,
        exact: Hit | _MissFactory,
    ) -> Match | None:
        """Match a request by all rules, with those just learned; None if there are none."""
        if not learned:
            return None
        self.rule_use.add(learned)
        self._rule_matcher = RuleMatcher(self._exchanges, self.rule_use.rules, self.read_body)
        return self._match_by_rules(self._rule_matcher, sent, headers, exact)

    def _match_by_rules(
        self, loose: RuleMatcher, sent: CanonicalRequest, headers: HeaderPairs, exact: Hit | _MissFactory
    ) -> Match | None:
        """Count the rules that apply to a request, and use them to match it unless there is an exact match."""
        blanked = blank_request(sent, self.rule_use.rules)
        self.rule_use.record_parts(sent, blanked, headers)
        if isinstance(exact, Hit) and not exact.is_repeat:
            return exact
        match loose.find(sent, blanked, headers, self._passed):
            case RuleHit(exchange=exchange, rules=rules, alike=alike):
                self.rule_use.count_use(rules)
                return self._hit_after_skipped(exchange, alike, rules)
            case Exhausted() as exhausted:
                repeat = self._repeat(exhausted.exchanges, exhausted.rules, is_free=has_telemetry_rule(exhausted.rules))
                if repeat is None:
                    return exact if isinstance(exact, Hit) and exact.is_resource else _all_served(sent, exhausted)
                self.rule_use.count_use(exhausted.rules)
                return repeat
            case None:
                return None

    def _match_exactly(self, sent: CanonicalRequest, headers: HeaderPairs) -> Hit | _MissFactory:
        """Return the exact match, or a function that explains why there is none."""
        answers = self._by_key.get(sent.key)
        if answers is None:
            return partial(self._not_recorded, sent)
        values = header_values(headers, answers.headers)
        group = answers.groups.get(values)
        if group is None:
            return partial(_other_headers, sent, answers, values)
        count = self._counts[sent.key, values]
        exchange = group.get(count)
        while exchange is not None and exchange.ordinal in self._passed:  # served by a rule, or skipped
            count += 1
            exchange = group.get(count)
        self._counts[sent.key, values] = count + 1
        if exchange is not None and self._timer_ms is None:
            return Hit(exchange=exchange, has_predecessor=count > 0)
        alike = tuple(each for each in group.values() if each is not None)
        if exchange is not None:
            return self._hit_after_skipped(exchange, alike)
        repeat = self._repeat(alike) if alike and count > max(group) else None
        return repeat or partial(_no_such_occurrence, sent, answers.first, group, count)

    def _hit_after_skipped(
        self, exchange: Exchange, alike: tuple[Exchange, ...], rules: tuple[VolatileRule, ...] = ()
    ) -> Hit:
        """Return the hit; if a timer sent the request, repetitions are skipped that the next one has outdated."""
        if self._timer_ms is None:
            return Hit(exchange=exchange, rules=rules, has_predecessor=exchange is not alike[0])
        first = place = next(place for place, each in enumerate(alike) if each is exchange)
        while (
            0 < place < len(alike) - 1
            and _was_answered_by(alike[place + 1], self._timer_ms - SKIP_AFTER_MS)
            and has_equal_answer(alike[place - 1], alike[place])
        ):
            self._passed.add(alike[place].ordinal)
            place += 1
        return Hit(exchange=alike[place], rules=rules, has_predecessor=place > 0, skipped=tuple(alike[first:place]))

    def _repeat(
        self, alike: tuple[Exchange, ...], rules: tuple[VolatileRule, ...] = (), *, is_free: bool = False
    ) -> Hit | None:
        """Return what the recorded timeline had last, for a request that a timer may repeat; else None.

        A request that `is_free` may be repeated at any time, and one for a resource if its responses are all equal.
        """
        resource = _cached_resource(alike) if self._is_for_resource else None
        if resource is not None:
            return Hit(exchange=resource, rules=rules, is_repeat=True, is_resource=True, has_predecessor=True)
        is_timed = len(alike) > 1 or alike[0].request.method in REPEATABLE_METHODS
        if not is_free and (self._timer_ms is None or not is_timed):
            return None
        now_ms = math.inf if self._timer_ms is None else self._timer_ms
        answered = [each for each in alike if _was_answered_by(each, now_ms)]
        last = max((each for each in answered if not each.is_cancelled), key=_delivery_order, default=alike[-1])
        return Hit(exchange=last, rules=rules, is_repeat=True, has_predecessor=True)

    def _not_recorded(self, sent: CanonicalRequest) -> Miss:
        if self._request_index is None:
            self._request_index = RequestIndex(self._exchanges, self.read_body)
        nearest = self._request_index.find(sent, self._served)
        reason = "it was not recorded, and no recorded request is similar" if nearest is None else nearest.reason
        return Miss(key=sent.key, reason=reason, nearest=nearest)


MAX_SERIES: Final = 100
"""Requests of one path above which numbered polls that were not sent are not looked for: each is compared with all."""
SKIP_AFTER_MS: Final = 50.0
"""Page time by which the answer to the next recorded repetition must be past, so that this one is skipped."""


def _was_answered_by(exchange: Exchange, now_ms: float) -> bool:
    return exchange.moment is not None and exchange.moment.at_ms <= now_ms


def has_equal_answer(before: Exchange, after: Exchange) -> bool:
    """Return whether two exchanges ended with the same answer, so that the later one brought nothing new."""
    left, right = before.response, after.response
    if left is None or right is None:
        return left is right and before.failure == after.failure
    has_body = left.body_missing is None and right.body_missing is None
    return has_body and (left.status, left.url, left.body) == (right.status, right.url, right.body)


def _cached_resource(alike: tuple[Exchange, ...]) -> Exchange | None:
    """Return the first of equal responses with a resource that a browser may keep in its memory cache; else None."""
    first = alike[0]
    response = first.response
    if response is None or response.status != HTTPStatus.OK or first.request.method != "GET":
        return None
    is_stored = all("no-store" not in value for name, value in response.headers if name.lower() == "cache-control")
    is_equal = all(each.request.resource_type in REUSED_TYPES and has_equal_answer(first, each) for each in alike)
    return first if is_stored and is_equal else None


def _delivery_order(exchange: Exchange) -> int:
    return exchange.completion or 0


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


def _other_headers(sent: CanonicalRequest, answers: _KeyedExchanges, values: HeaderValues) -> Miss:
    differences = [
        RequestDifference.shortened("header", name, recorded, values[place])
        for place, name in enumerate(answers.headers)
        for recorded in sorted({group[place] for group in answers.groups}, key=lambda value: value or "")
        if recorded != values[place]
    ]
    names = ", ".join(answers.headers)
    reason = f"it was recorded with different values of headers that select the response ({names})"
    nearest = NearestRequest(
        exchange=answers.first,
        reason=reason,
        equal_parts=_key_parts(sent),
        differences=tuple(differences[:MAX_SHOWN_PARTS]),
        more_differences=max(0, len(differences) - MAX_SHOWN_PARTS),
    )
    return Miss(key=sent.key, reason=reason, nearest=nearest)


def _no_such_occurrence(sent: CanonicalRequest, first: Exchange, group: dict[int, Exchange | None], count: int) -> Miss:
    known = [exchange for exchange in group.values() if exchange is not None]
    times = "once" if len(known) == 1 else f"{len(known)} times"
    reason = f"it was recorded {times}, this is occurrence {count + 1}"
    if count < max(group):
        reason += ", which is missing from the recording"
    nearest = NearestRequest(
        exchange=known[-1] if known else first,
        reason=reason,
        equal_parts=_key_parts(sent),
        differences=(RequestDifference(part="occurrence", recorded=str(len(known)), sent=str(count + 1)),),
    )
    return Miss(key=sent.key, reason=reason, nearest=nearest)


def _all_served(sent: CanonicalRequest, exhausted: Exhausted) -> Miss:
    recorded = len(exhausted.exchanges)
    times = "once" if recorded == 1 else f"{recorded} times"
    parts = ", ".join(describe_rule_part(rule) for rule in exhausted.rules)
    reason = f"it was recorded {times} apart from what rules ignore ({parts}), and every response was already served"
    nearest = NearestRequest(
        exchange=exhausted.exchanges[-1],
        reason=reason,
        equal_parts=(f"method {sent.method}", f"url {sent.url.partition('?')[0]}"),
        differences=(RequestDifference(part="occurrence", recorded=str(recorded), sent=str(recorded + 1)),),
    )
    return Miss(key=sent.key, reason=reason, nearest=nearest)


def _key_parts(sent: CanonicalRequest) -> tuple[str, ...]:
    parts = (f"method {sent.method}", f"url {sent.url}")
    return parts if sent.body is None else (*parts, "body")
