"""Propose rules for requests that differ from a recorded one in some parts only."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import ValidationError

from eikon_engine.files.text import ELLIPSIS
from eikon_engine.network.drawn_values import is_money_name, value_pattern
from eikon_engine.network.keys import BODY_MARK
from eikon_engine.network.rule_learner import site_glob
from eikon_engine.network.rules import SOCKET_METHOD
from eikon_engine.network.varying_numbers import classify_number
from eikon_engine.trace.rules import (
    FormFieldRule,
    HeaderRule,
    JsonPathRule,
    QueryKeyRule,
    QueryStampRule,
    TelemetryRule,
    TimestampRule,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eikon_engine.network.varying_numbers import VaryingNumber
    from eikon_engine.outcome.outcomes import NetworkMiss, RequestDifference
    from eikon_engine.trace.rules import VolatileRule

_REPEATED: Final = re.compile(r"\[\d+\]$")
_STAMP: Final = re.compile(r"[0-9]{9,17}")
_SITE_WIDE_FROM: Final = 3
"""If this many URLs of one site differ in the same part, one rule covers the whole site."""
_RequestPart: TypeAlias = tuple[str, str, str, str]
"""URL without query, method, part and name of a value."""
_NUMBERED_PARTS: Final = frozenset({"query", "body"})
"""Parts whose rules hold for some values only."""
_DEFAULT_REASON: Final = "differs from the recording"


def propose_rules(misses: Sequence[tuple[NetworkMiss, ...]], known: Iterable[VolatileRule]) -> tuple[VolatileRule, ...]:
    """Return new rules for the misses of the runs (one tuple per run).

    Rules can cover values that vary by their nature in the query, JSON body and form fields, and headers, but not
    another method, path or site, nor an extra request.
    """
    runs: Counter[VolatileRule] = Counter()
    values: dict[VolatileRule, str] = {}
    for of_run in misses:
        found = {rule: shown for miss in of_run for rule, shown in _rules_for(miss)}
        runs.update(found.keys())
        values = found | values
    taken = {_without_reason(rule) for rule in known}
    widened = _merge_rules(tuple(rule for rule in runs if _without_reason(rule) not in taken))
    return tuple(
        wide.model_copy(update={"reason": f"differed in {runs[rule]} of {len(misses)} runs: {values[rule]}"})
        for rule, wide in widened
        if _without_reason(wide) not in taken
    )


def propose_number_rules(
    misses: Sequence[tuple[NetworkMiss, ...]], known: Iterable[VolatileRule], recorded_place: int = 0
) -> tuple[VolatileRule, ...]:
    """Return new rules for requests that differ in numbers of a known type, such as a counter, each with its evidence.

    `misses` has one tuple per run of the site, in the order of the runs; `recorded_place` is the place of the recording
    among them. The runs must differ: a number that is another one than in the recording, and the same in every run, is
    a change of the site. A request that also differs in anything else gets no rule.
    """
    numbers = _classify_numbers(misses, recorded_place)
    found = [rule for of_run in misses for miss in of_run for rule in _number_rules(miss, numbers)]
    taken = {_without_reason(rule) for rule in known}
    return tuple(rule for rule in merge_rules(found) if _without_reason(rule) not in taken)


def _classify_numbers(
    misses: Sequence[tuple[NetworkMiss, ...]], recorded_place: int
) -> dict[_RequestPart, tuple[VaryingNumber, ...]]:
    """Return the parts of requests that are numbers of a known type, with each of the types."""
    seen: defaultdict[_RequestPart, list[list[RequestDifference]]] = defaultdict(lambda: [[] for _ in misses])
    for run, of_run in enumerate(misses):
        for miss in of_run:
            for part, difference in _value_differences(miss):
                seen[part][run].append(difference)
    typed = {
        part: _classify_part(runs, recorded_place)
        for part, runs in seen.items()
        if part[2] in _NUMBERED_PARTS and not is_money_name(part[3])
    }
    return {part: numbers for part, numbers in typed.items() if numbers}


def _classify_part(runs: Sequence[Sequence[RequestDifference]], recorded_place: int) -> tuple[VaryingNumber, ...]:
    """Return what one part of requests is: a type for each of the requests that every run sends, or nothing.

    The values that one run sends, such as two quantities, differ for another reason than that time has passed. If all
    runs send the same ones, the site has changed. A run without a difference sent the recorded values, or nothing.
    """
    differing = [run for run in runs if run]
    sent = [[_whole_value(each.sent) for each in run] for run in differing]
    if len({len(run) for run in sent}) != 1 or len({tuple(sorted(map(str, run))) for run in sent}) == 1:
        return ()
    place = sum(bool(run) for run in runs[:recorded_place])
    found = []
    for number in range(len(sent[0])):
        recorded = {_whole_value(run[number].recorded) for run in differing}
        values = [run[number] for run in sent]
        observed = [*values[:place], *recorded, *values[place:]]
        if len(recorded) > 1 or len(set(values)) == 1:
            return ()
        found.append(classify_number(["" if each is None else each for each in observed], is_shown=False))
    typed = tuple(each for each in found if each is not None)
    return typed if len(typed) == len(found) else ()


def _value_differences(miss: NetworkMiss) -> Iterator[tuple[_RequestPart, RequestDifference]]:
    """Yield the values in which a request differs from the nearest recorded one; none if there are more differences."""
    if miss.nearest and not miss.more_differences:
        url, method = _endpoint(miss.nearest)
        yield from (((url, method, each.part, each.name), each) for each in miss.differences)


def _endpoint(key: str) -> tuple[str, str]:
    """Return the URL without query, and the method, of the request with a key."""
    method, _, location = key.partition(BODY_MARK)[0].partition(" ")
    return re.split(r"[?#]", location, maxsplit=1)[0], method


def merge_rules(rules: Sequence[VolatileRule]) -> tuple[VolatileRule, ...]:
    """Merge rules for the same place in several list items, or at many URLs of a site; each keeps its first reason."""
    reasons: dict[VolatileRule, str] = {}
    for rule in rules:
        reasons.setdefault(_without_reason(rule), rule.reason)
    return tuple(wide.model_copy(update={"reason": reasons[first]}) for first, wide in _merge_rules(tuple(reasons)))


def _rules_for(miss: NetworkMiss) -> list[tuple[VolatileRule, str]]:
    """Return the rules that together make the miss a match, with the differing values; empty if that is impossible."""
    rules = []
    for part, difference in _value_differences(miss):
        rule = _rule(difference, *part[:2])
        if rule is None:
            return []
        rules.append((rule, difference.values))
    return rules


def _number_rules(
    miss: NetworkMiss, numbers: Mapping[_RequestPart, tuple[VaryingNumber, ...]]
) -> tuple[VolatileRule, ...]:
    """Return rules for a miss that differs in nothing but `numbers`; empty if that is impossible."""
    differences = tuple(_value_differences(miss))
    if any(part not in numbers for part, _ in differences):
        return ()
    rules = [_rule(each, *part[:2], number) for part, each in differences for number in numbers[part]]
    found = tuple(rule for rule in rules if rule is not None)
    return found if len(found) == len(rules) else ()


def _rule(  # noqa: PLR0911 - one return per rule type
    difference: RequestDifference, url: str, method: str, number: VaryingNumber | None = None
) -> VolatileRule | None:
    """Return a rule for a difference; None if one of its values may matter."""
    part, name = difference.part, difference.name
    try:
        if part == "times":
            return TimestampRule(url=url, method=method, reason=_DEFAULT_REASON)
        if not name or name.endswith(ELLIPSIS):
            return None
        if part == "header":
            return HeaderRule(name=name, url=url, method=method, reason=_DEFAULT_REASON)
        if part == "query" and _STAMP.fullmatch(name):
            return QueryStampRule(url=url, method=method, reason=_DEFAULT_REASON)
        own = _REPEATED.sub("", name)
        reason = _DEFAULT_REASON if number is None else number.evidence
        recorded, sent = _whole_value(difference.recorded), _whole_value(difference.sent)
        if recorded is None or sent is None:
            return None
        pattern = value_pattern(_own_name(name), recorded, sent) if number is None else number.pattern
        if pattern is None:
            return None
        if part == "query":
            return QueryKeyRule(name=own, url=url, method=method, reason=reason, pattern=pattern)
        if name.startswith("$"):
            return JsonPathRule(path=name, url=url, method=method, reason=reason, pattern=pattern)
        return FormFieldRule(name=own, url=url, method=method, reason=reason, pattern=pattern)
    except ValidationError:
        return None  # not a valid name of a rule


def _own_name(name: str) -> str:
    """Return the last name of a JSON path, or the name of a parameter or field without its number."""
    return _REPEATED.sub("", name).rpartition(".")[2]


def _whole_value(value: str | None) -> str | None:
    """Return a value, decoded if it is a JSON string; None if it is absent or shortened."""
    if value is None or value.startswith(ELLIPSIS) or value.endswith(ELLIPSIS):
        return None
    try:
        return str(json.loads(value)) if value.startswith('"') else value
    except ValueError:
        return None


def _merge_rules(rules: tuple[VolatileRule, ...]) -> list[tuple[VolatileRule, VolatileRule]]:
    """Merge rules for the same place in several list items, or at many URLs of a site, into one rule.

    Rules for telemetry are not merged: each holds for the URL whose recorded responses were looked at.
    """
    by_place: defaultdict[VolatileRule, list[VolatileRule]] = defaultdict(list)
    for rule in rules:
        path = re.sub(r"\[\d+\]", "[*]", rule.path) if isinstance(rule, JsonPathRule) else ""
        by_place[rule.model_copy(update={"path": path}) if path else rule].append(rule)
    places = [(found[0], shape if len(found) > 1 else found[0]) for shape, found in by_place.items()]
    by_site: defaultdict[VolatileRule, list[tuple[VolatileRule, VolatileRule]]] = defaultdict(list)
    for first, wide in places:
        by_site[wide.model_copy(update={"url": site_glob(wide.url), "method": _socket_method(wide.method)})].append(
            (first, wide)
        )
    return [
        each
        for site, found in by_site.items()
        for each in ([(found[0][0], site)] if _is_site_wide(site, found) else found)
    ]


def _is_site_wide(site: VolatileRule, found: list[tuple[VolatileRule, VolatileRule]]) -> bool:
    return not isinstance(site, TelemetryRule) and len({wide.url for _, wide in found}) >= _SITE_WIDE_FROM


def _socket_method(method: str | None) -> str | None:
    """Keep the method of WebSockets, so that their rules stay separate from those of requests."""
    return method if method == SOCKET_METHOD else None


def _without_reason(rule: VolatileRule) -> VolatileRule:
    return rule.model_copy(update={"reason": ""})
