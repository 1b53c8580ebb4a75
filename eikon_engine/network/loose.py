"""The second tier of matching: requests that equal a recorded one except for what rules ignore."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.network.deciding import differing_headers, header_values
from eikon_engine.network.rules import header_rules, loosen_exchange

if TYPE_CHECKING:
    from collections.abc import Collection

    from eikon_engine.network.deciding import HeaderValues
    from eikon_engine.network.exchange import Exchange, HeaderPairs
    from eikon_engine.network.keys import CanonicalRequest
    from eikon_engine.network.nearest import BodyReader
    from eikon_engine.network.rules import Loosened
    from eikon_engine.trace.volatile import VolatileRule


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseHit:
    """The next unserved exchange, and the rules that were needed to match it."""

    exchange: Exchange
    rules: tuple[VolatileRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """Every matching exchange has already been served."""

    exchanges: tuple[Exchange, ...]
    rules: tuple[VolatileRule, ...]


LooseMatch: TypeAlias = LooseHit | Exhausted | None


class _Group:
    """Exchanges that are equal except for what rules ignore, in the order sent."""

    def __init__(self, exchanges: tuple[Exchange, ...]) -> None:
        self.exchanges = exchanges
        self.differing = differing_headers(exchanges)
        self._parted: dict[tuple[str, ...], dict[HeaderValues, list[Exchange]]] = {}

    def alike(self, headers: HeaderPairs, names: tuple[str, ...]) -> tuple[Exchange, ...]:
        """Return the exchanges with the same values of the named headers."""
        if names not in self._parted:
            parted = self._parted[names] = defaultdict(list)
            for exchange in self.exchanges:
                parted[header_values(exchange.request.headers, names)].append(exchange)
        return tuple(self._parted[names].get(header_values(headers, names), ()))


class LooseAnswers:
    """Exchanges indexed by their requests without what rules ignore. The index is built on first use."""

    def __init__(
        self, exchanges: tuple[Exchange, ...], rules: tuple[VolatileRule, ...], read_body: BodyReader | None
    ) -> None:
        """Store the exchanges, which must be in the order sent."""
        self._exchanges = exchanges
        self._rules = rules
        self._read_body = read_body
        self._index: dict[str, _Group] | None = None

    def find(
        self, wanted: CanonicalRequest, loosened: Loosened, headers: HeaderPairs, served: Collection[int]
    ) -> LooseMatch:
        """Return the first matching exchange not in `served` (ordinals); None if no rule leads to a match."""
        freed = header_rules(wanted.method, wanted.url, self._rules)
        if not loosened.rules and not freed:
            return None
        group = self._indexed().get(loosened.key)
        if group is None:
            return None
        ignored = {rule.name.lower() for rule in freed}
        alike = group.alike(headers, tuple(name for name in group.differing if name not in ignored))
        if not alike:
            return None
        used = (*loosened.rules, *(rule for rule in freed if rule.name.lower() in group.differing))
        waiting = next((each for each in alike if each.ordinal not in served), None)
        return LooseHit(exchange=waiting, rules=used) if waiting is not None else Exhausted(exchanges=alike, rules=used)

    def _indexed(self) -> dict[str, _Group]:
        if self._index is None:
            groups: defaultdict[str, list[Exchange]] = defaultdict(list)
            for exchange in self._exchanges:
                loosened = loosen_exchange(exchange, self._rules, self._read_body)
                if loosened.rules or header_rules(*_method_and_url(exchange), self._rules):
                    groups[loosened.key].append(exchange)
            self._index = {key: _Group(_before_any_gap(group)) for key, group in groups.items()}
        return self._index


def _method_and_url(exchange: Exchange) -> tuple[str, str]:
    method, _, rest = exchange.key.partition(" ")
    return method, rest.partition(" ")[0]


def _before_any_gap(group: list[Exchange]) -> tuple[Exchange, ...]:
    """Drop exchanges after a request that is missing from the recording, since their occurrence is uncertain."""
    known: defaultdict[str, list[Exchange]] = defaultdict(list)
    end: float = float("inf")
    for exchange in group:
        of_key = known[exchange.key]
        if exchange.occurrence != len(of_key):
            end = min(end, of_key[-1].ordinal if of_key else -1)
        of_key.append(exchange)
    return tuple(exchange for exchange in group if exchange.ordinal <= end)
