"""The second tier of matching: requests that equal a recorded one except for what rules ignore."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.network.deciding import differing_headers, header_values
from eikon_engine.network.rules import blank_exchange, header_rules

if TYPE_CHECKING:
    from collections.abc import Collection

    from eikon_engine.network.deciding import HeaderValues
    from eikon_engine.network.exchange import Exchange, HeaderPairs
    from eikon_engine.network.keys import CanonicalRequest
    from eikon_engine.network.nearest import BodyReader
    from eikon_engine.network.rules import BlankedRequest
    from eikon_engine.trace.volatile import VolatileRule


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleHit:
    """The next unserved exchange, and the rules that were needed to match it."""

    exchange: Exchange
    rules: tuple[VolatileRule, ...]


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
            parted = self._by_headers[names] = defaultdict(list)
            for exchange in self.exchanges:
                parted[header_values(exchange.request.headers, names)].append(exchange)
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
        self, wanted: CanonicalRequest, loosened: BlankedRequest, headers: HeaderPairs, served: Collection[int]
    ) -> RuleMatch:
        """Return the first matching exchange not in `served` (ordinals); None if no rule leads to a match."""
        freed = header_rules(wanted.method, wanted.url, self._rules)
        if not loosened.rules and not freed:
            return None
        group = self._get_index().get(loosened.key)
        if group is None:
            return None
        ignored = {rule.name.lower() for rule in freed}
        alike = group.with_headers(headers, tuple(name for name in group.differing if name not in ignored))
        if not alike:
            return None
        used = (*loosened.rules, *(rule for rule in freed if rule.name.lower() in group.differing))
        waiting = next((each for each in alike if each.ordinal not in served), None)
        return RuleHit(exchange=waiting, rules=used) if waiting is not None else Exhausted(exchanges=alike, rules=used)

    def _get_index(self) -> dict[str, _RuleGroup]:
        if self._index is None:
            groups: defaultdict[str, list[Exchange]] = defaultdict(list)
            for exchange in self._exchanges:
                loosened = blank_exchange(exchange, self._rules, self._read_body)
                if loosened.rules or header_rules(*_method_and_url(exchange), self._rules):
                    groups[loosened.key].append(exchange)
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
