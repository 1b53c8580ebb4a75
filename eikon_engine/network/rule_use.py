"""Count how often each rule was used in one replay."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.network.deciding import VARY_HEADERS
from eikon_engine.network.rules import header_rules
from eikon_engine.outcome.outcomes import RuleApplied
from eikon_engine.trace.volatile import describe_rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.network.exchange import HeaderPairs
    from eikon_engine.network.keys import CanonicalRequest
    from eikon_engine.network.rules import BlankedRequest
    from eikon_engine.trace.volatile import VolatileRule


class RuleUsage:
    """Usage counts of the rules of one replay; mutable."""

    def __init__(self, rules: Iterable[VolatileRule]) -> None:
        """Start with no uses; duplicate rules are merged."""
        self.rules = tuple(dict.fromkeys(rules))
        self._found: set[VolatileRule] = set()
        self._applied: Counter[VolatileRule] = Counter()

    def record_parts(self, wanted: CanonicalRequest, loosened: BlankedRequest, headers: HeaderPairs) -> None:
        """Record the rules whose part a request contains, whether or not they are needed to match it."""
        self._found.update(loosened.rules)
        names = {name.lower() for name, _ in headers} & set(VARY_HEADERS)
        freed = header_rules(wanted.method, wanted.url, self.rules)
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
        """Return the rules whose part occurred in no request."""
        return tuple(rule for rule in self.rules if rule not in self._found)

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
