"""How often each rule was of use in one replay."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.network.deciding import DECIDING_HEADERS
from eikon_engine.network.rules import header_rules
from eikon_engine.outcome.outcomes import RuleApplied
from eikon_engine.trace.volatile import describe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.network.exchange import HeaderPairs
    from eikon_engine.network.keys import CanonicalRequest
    from eikon_engine.network.rules import Loosened
    from eikon_engine.trace.volatile import VolatileRule


class RuleUse:
    """Count what rules did. A mutable object of one replay."""

    def __init__(self, rules: Iterable[VolatileRule]) -> None:
        """Begin with no use; of rules that are equal in everything one is kept."""
        self.rules = tuple(dict.fromkeys(rules))
        self._found: set[VolatileRule] = set()
        self._applied: Counter[VolatileRule] = Counter()

    def saw(self, wanted: CanonicalRequest, loosened: Loosened, headers: HeaderPairs) -> None:
        """Note the rules whose part a request has, whether or not it takes them to answer it."""
        self._found.update(loosened.rules)
        names = {name.lower() for name, _ in headers} & set(DECIDING_HEADERS)
        freed = header_rules(wanted.method, wanted.url, self.rules)
        self._found.update(rule for rule in freed if rule.name.lower() in names)

    def count(self, rules: Iterable[VolatileRule]) -> None:
        """Count one answer, or one message of a socket, that was matched by means of these rules."""
        used = tuple(rules)
        self._found.update(used)
        self._applied.update(used)

    def applied(self) -> tuple[tuple[VolatileRule, int], ...]:
        """Return the rules by means of which something was matched, with how often, in the order of the trace."""
        return tuple((rule, self._applied[rule]) for rule in self.rules if self._applied[rule])

    def unused(self) -> tuple[VolatileRule, ...]:
        """Return the rules whose part stood in nothing that was asked."""
        return tuple(rule for rule in self.rules if rule not in self._found)

    def for_outcome(self) -> tuple[RuleApplied, ...]:
        """Return what `NetworkOutcome.rules_applied` says."""
        return tuple(
            RuleApplied(rule=describe(rule), reason=rule.reason, times=times) for rule, times in self.applied()
        )

    def notes(self) -> tuple[str, ...]:
        """Return a note on each rule that was of no use."""
        return tuple(
            f"the rule {describe(rule)} found nothing in any request of this replay; mend it or remove it"
            for rule in self.unused()
        )
