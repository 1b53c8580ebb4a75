"""Propose rules for requests that the recording has no answer to, but for one part."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.network.keys import BODY_MARK
from eikon_engine.network.rules import SOCKET_METHOD
from eikon_engine.trace.volatile import (
    FormFieldRule,
    HeaderRule,
    JsonPathRule,
    QueryKeyRule,
    QueryStampRule,
    TimestampRule,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.outcome.outcomes import NetworkMiss
    from eikon_engine.trace.volatile import VolatileRule

_DIFFERENCE: Final = re.compile(r"(?P<part>query|body|header|times) (?P<name>.+?): (?P<values>recorded .*)", re.DOTALL)
_REPEATED: Final = re.compile(r"\[\d+\]$")
_STAMP: Final = re.compile(r"[0-9]{9,17}")
_MANY: Final = 3
"""As many addresses of one site that differ in the same part are a habit of the site: one rule for all of it."""
_CLIPPED: Final = "…"
_DIFFERS: Final = "differs from the recording"


def propose_rules(misses: Sequence[tuple[NetworkMiss, ...]], known: Iterable[VolatileRule]) -> tuple[VolatileRule, ...]:
    """Return new rules for the misses of some runs (one tuple a run); none for a miss that differs in more than values.

    Differences in the query, in places of a JSON body, in fields of a form and in headers can be ruled out; another
    method, path or site, or one request too many, cannot.
    """
    runs: Counter[VolatileRule] = Counter()
    values: dict[VolatileRule, str] = {}
    for of_run in misses:
        found = {rule: shown for miss in of_run for rule, shown in _rules_for(miss)}
        runs.update(found.keys())
        values = found | values
    taken = {_without_reason(rule) for rule in known}
    widened = _widened(tuple(rule for rule in runs if _without_reason(rule) not in taken))
    return tuple(
        wide.model_copy(update={"reason": f"differed in {runs[rule]} of {len(misses)} runs: {values[rule]}"})
        for rule, wide in widened
        if _without_reason(wide) not in taken
    )


def _rules_for(miss: NetworkMiss) -> list[tuple[VolatileRule, str]]:
    """Return the rules that would make a miss a hit, with the values that differ; none unless they do together."""
    if not miss.nearest:
        return []
    method, _, location = miss.nearest.partition(BODY_MARK)[0].partition(" ")
    url = re.split(r"[?#]", location, maxsplit=1)[0]
    rules = []
    for difference in miss.differences:
        parts = _DIFFERENCE.fullmatch(difference)
        rule = _rule(parts["part"], parts["name"], url, method) if parts else None
        if rule is None or parts is None:
            return []
        rules.append((rule, parts["values"]))
    return rules


def _rule(part: str, name: str, url: str, method: str) -> VolatileRule | None:  # noqa: PLR0911 - one kind a line
    if name.endswith(_CLIPPED):
        return None
    try:
        if part == "times":
            return TimestampRule(url=url, method=method, reason=_DIFFERS)
        if part == "header":
            return HeaderRule(name=name, url=url, method=method, reason=_DIFFERS)
        if part == "query" and _STAMP.fullmatch(name):
            return QueryStampRule(url=url, method=method, reason=_DIFFERS)
        if part == "query":
            return QueryKeyRule(name=_REPEATED.sub("", name), url=url, method=method, reason=_DIFFERS)
        if name.startswith("$"):
            return JsonPathRule(path=name, url=url, method=method, reason=_DIFFERS)
        return FormFieldRule(name=_REPEATED.sub("", name), url=url, method=method, reason=_DIFFERS)
    except ValidationError:
        return None  # a name that no rule can have


def _widened(rules: tuple[VolatileRule, ...]) -> list[tuple[VolatileRule, VolatileRule]]:
    """Make one rule of those that name the same place in several elements of a list, or at many addresses of a site."""
    by_place: defaultdict[VolatileRule, list[VolatileRule]] = defaultdict(list)
    for rule in rules:
        path = re.sub(r"\[\d+\]", "[*]", rule.path) if isinstance(rule, JsonPathRule) else ""
        by_place[rule.model_copy(update={"path": path}) if path else rule].append(rule)
    places = [(found[0], shape if len(found) > 1 else found[0]) for shape, found in by_place.items()]
    by_site: defaultdict[VolatileRule, list[tuple[VolatileRule, VolatileRule]]] = defaultdict(list)
    for first, wide in places:
        by_site[wide.model_copy(update={"url": _site(wide.url), "method": _side(wide.method)})].append((first, wide))
    return [
        each
        for site, found in by_site.items()
        for each in ([(found[0][0], site)] if len({wide.url for _, wide in found}) >= _MANY else found)
    ]


def _site(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.partition('/')[0]}/*"


def _side(method: str | None) -> str | None:
    """Keep sockets apart from requests."""
    return method if method == SOCKET_METHOD else None


def _without_reason(rule: VolatileRule) -> VolatileRule:
    return rule.model_copy(update={"reason": ""})
