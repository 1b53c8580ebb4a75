"""Requests that the actions of a recording caused, and which of them a live replay has not sent."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl

from eikon_engine.files.origins import split_url
from eikon_engine.files.text import ELLIPSIS
from eikon_engine.network.exchange import FETCH_TYPES, SAFE_METHODS
from eikon_engine.network.matching import Playback
from eikon_engine.network.nearest import body_fields
from eikon_engine.network.rules import find_telemetry_rule, recorded_request
from eikon_engine.network.saves import SAVE_METHOD
from eikon_engine.network.unsent import SEARCH_MS, SLACK_MS, explain_unsent, is_loading_page, is_unsafe
from eikon_engine.outcome.outcomes import shorten_value
from eikon_engine.trace.actions import (
    AnswerDialog,
    Assert,
    Evaluate,
    Expect,
    ExtractDom,
    Fill,
    InsertText,
    Note,
    Press,
    Read,
    Screenshot,
    SetValue,
    SwitchPage,
    TypeText,
    WaitFor,
)
from eikon_engine.trace.execution import Succeeded
from eikon_engine.trace.generated_ids import is_generated_id
from eikon_engine.trace.steps import begun_ms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkMiss
    from eikon_engine.trace.execution import ActionTrace
    from eikon_engine.trace.rules import VolatileRule

CAUSED_MS: Final = 1_000.0
"""Page time after an action, or after the end of a request that it caused, within which a request counts as caused by
it. A timer may have sent it then, too; in a replay it does so by the same page time."""
MAX_INTERVAL_MS: Final = 5_000.0
"""Page time after a request to the same address within which a request may be one of a timer that began later in the
replay: it gets as much time again."""
_WITHOUT_REQUESTS: Final = (AnswerDialog, Assert, Expect, ExtractDom, Note, Read, Screenshot, SwitchPage, WaitFor)
"""Actions that cause no requests; a note stands for a call that replays skip."""
_ENTERING_ACTIONS: Final = (Fill, InsertText, Press, SetValue, TypeText)
_OPERATION: Final = re.compile(
    r"(?:\$(?:\[\d+\])?\.)?(action|cmd|command|doc_?id|kind|method|op|operation(?:_?name)?|type)", re.IGNORECASE
)
"""Parameters, and top-level members of JSON bodies, that say which operation a request to a shared address is."""
_MIN_ID_LENGTH: Final = 6
"""Characters from which a part of a path with a digit counts as an id."""
_SECOND_LEVEL: Final = frozenset({"ac", "co", "com", "edu", "go", "gob", "gov", "gv", "ne", "net", "or", "org"})
"""Labels below which the registries of many countries register domains, as in `shop.co.uk`."""
_COUNTRY_LENGTH: Final = 2
_HOSTING: Final = frozenset(
    {"appspot.com", "azurewebsites.net", "cloudfront.net", "firebaseapp.com", "fly.dev", "github.io", "gitlab.io"}
    | {"herokuapp.com", "myshopify.com", "netlify.app", "ngrok-free.app", "ngrok.io", "onrender.com", "pages.dev"}
    | {"vercel.app", "web.app", "workers.dev"}
)
"""Domains below which everyone may have a site, of https://publicsuffix.org."""


@dataclass(frozen=True, slots=True)
class Address:
    """Method and URL of a request, without the query and the body."""

    method: str
    url: str

    @classmethod
    def of(cls, key: str) -> Address:
        """Return the address of a request."""
        method, url, *_ = key.split(" ")
        return cls(method, url.partition("?")[0])

    @property
    def shape(self) -> Address:
        """The address with `#` in place of each id and number in its path."""
        scheme, mark, rest = self.url.partition("://")
        host, *segments = rest.split("/")
        return Address(self.method, "/".join((f"{scheme}{mark}{host}", *map(_blank_ids, segments))))


def _blank_ids(segment: str) -> str:
    is_id = is_generated_id(segment) or (len(segment) >= _MIN_ID_LENGTH and any(char.isdigit() for char in segment))
    return "#" if is_id else re.sub(r"\d+", "#", segment)


@dataclass(frozen=True, slots=True)
class CausedRequest:
    """A recorded request that an action caused."""

    ordinal: int
    key: str
    step: int
    """Position of that action among the steps."""
    started_ms: float
    due_ms: float
    """Recorded page time by which a replay that follows the recording has sent it."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request of a replay."""

    step: int
    """Position of the step among those of the recording."""
    key: str


_Operation: TypeAlias = frozenset[tuple[str, str]]
"""What says which operation a request is: names and values; empty if nothing does."""


class CausedRequests:
    """The requests that actions caused in a recording."""

    def __init__(
        self, recording: NetworkRecording, steps: Sequence[ActionTrace], rules: tuple[VolatileRule, ...] = ()
    ) -> None:
        """Find them; `rules` name what varies from run to run, and what only reports."""
        self._recording = recording
        self._addresses = {Address.of(each.key) for each in recording.exchanges}
        playback = Playback(recording.exchanges, read_body=recording.body, rules=rules)
        self._groups: dict[str, str] = {}
        """The first of the keys that rules make equal, by the key of each unsafe request."""
        self._exchanges: dict[str, Exchange] = {}
        """A recorded unsafe request of each key."""
        for exchange in recording.exchanges:
            if exchange.request.method not in SAFE_METHODS and exchange.key not in self._groups:
                alike = playback.alike(exchange)
                self._groups.update((each.key, alike[0].key) for each in (exchange, *alike))
                self._exchanges[exchange.key] = exchange
        self._groups_at: defaultdict[Address, set[str]] = defaultdict(set)
        for key, group in self._groups.items():
            self._groups_at[Address.of(key)].add(group)
        self._operations: dict[str, _Operation] = {}
        caused = [each for each in _find_caused(recording, steps) if find_telemetry_rule(each.key, rules) is None]
        self._caused = self._without_superseded(caused, steps)

    def _without_superseded(
        self, caused: Sequence[CausedRequest], steps: Sequence[ActionTrace]
    ) -> tuple[CausedRequest, ...]:
        """Drop what a page saved while a text was entered, or with PUT, if it saved something else soon after that.

        Such a page waits for a pause, which may be too short in the replay.
        """
        following: dict[tuple[Address, _Operation], CausedRequest] = {}
        required = []
        for each in reversed(caused):
            address = Address.of(each.key)
            is_shared = len(self._groups_at.get(address, ())) > 1
            place = address, self._operation(each.key) if is_shared else frozenset()
            later = following.get(place)
            following[place] = each
            is_save = address.method == SAVE_METHOD or isinstance(steps[each.step].action, _ENTERING_ACTIONS)
            is_other = later is not None and later.key != each.key and later.started_ms - each.started_ms <= SEARCH_MS
            if not (is_save and is_other):
                required.append(each)
        return tuple(reversed(required))

    def due(self, step: int, now_ms: float) -> list[CausedRequest]:
        """Return what a replay that follows the recording has sent by a recorded page time, at the end of a step."""
        return [each for each in self._caused if each.step <= step and each.due_ms <= now_ms]

    def find_missing(
        self, due: Sequence[CausedRequest], sent: Sequence[SentRequest], changed: Iterable[NetworkMiss] = ()
    ) -> list[CausedRequest]:
        """Return the requests of `due` that were not sent, nor another one in their place.

        A safe request may have been sent in any step, with any query, since pages keep what they loaded. Each unsafe
        one needs a request of its own: with the recorded values or, if it is not a recorded one, with other values;
        if the recording has requests with different values at the address, only for the same operation, as far as
        `changed` tells, which are the requests that differ from recorded ones in values only. It may belong to another
        step. In place of either, its step may have sent one to an address that differs only in ids.
        """
        by_address: defaultdict[Address, list[SentRequest]] = defaultdict(list)
        for each in sent:
            by_address[Address.of(each.key)].append(each)
        unsafe: defaultdict[Address, list[CausedRequest]] = defaultdict(list)
        missing: list[CausedRequest] = []
        for caused in due:
            address = Address.of(caused.key)
            if address.method not in SAFE_METHODS:
                unsafe[address].append(caused)
            elif address not in by_address:
                missing.append(caused)
        misses = {miss.key: miss for miss in changed}
        for address, requests in unsafe.items():
            missing.extend(self._missing_at(address, requests, by_address.get(address, []), misses))
        return self._without_replaced(sorted(missing, key=lambda each: each.ordinal), by_address)

    def _missing_at(
        self,
        address: Address,
        requests: Sequence[CausedRequest],
        sent: Sequence[SentRequest],
        misses: Mapping[str, NetworkMiss],
    ) -> list[CausedRequest]:
        """Return which unsafe requests to an address are missing."""
        if len(self._groups_at[address]) == 1:
            return _match_steps(requests, [each.step for each in sent])
        steps: defaultdict[str, list[int]] = defaultdict(list)
        others: defaultdict[_Operation | None, list[int]] = defaultdict(list)
        for each in sent:
            if each.key in self._groups:
                steps[self._groups[each.key]].append(each.step)
            else:
                others[self._sent_operation(misses.get(each.key))].append(each.step)
        by_group: defaultdict[str, list[CausedRequest]] = defaultdict(list)
        for caused in requests:
            by_group[self._groups[caused.key]].append(caused)
        missing = [each for group, members in by_group.items() for each in _match_steps(members, steps[group])]
        if not others:
            return missing
        by_operation: defaultdict[_Operation, list[CausedRequest]] = defaultdict(list)
        for caused in missing:
            by_operation[self._operation(caused.key)].append(caused)
        left = [each for name, members in by_operation.items() for each in _match_steps(members, others[name])]
        return _match_steps(left, others[None])

    def _operation(self, key: str) -> _Operation:
        """Return the operation of a recorded request."""
        if key not in self._operations:
            exchange = self._exchanges.get(key)
            request = None if exchange is None else recorded_request(exchange, self._recording.body)
            fields = {} if request is None else body_fields(request.body, request.media_type)
            fields |= dict(parse_qsl(split_url(key.split(" ")[1]).query))
            self._operations[key] = frozenset(
                (name, shorten_value(value)) for name, value in fields.items() if _OPERATION.fullmatch(name)
            )
        return self._operations[key]

    def _sent_operation(self, miss: NetworkMiss | None) -> _Operation | None:
        """Return the operation of a request that was not recorded; None if it is not known."""
        if miss is None or not miss.is_same_resource or miss.more_differences:
            return None
        operation = dict(self._operation(miss.nearest))
        for each in miss.differences:
            if not _OPERATION.fullmatch(each.name):
                continue
            if each.sent is None:
                operation.pop(each.name, None)
            elif ELLIPSIS in each.sent:
                return None
            else:
                operation[each.name] = each.sent
        return frozenset(operation.items())

    def _without_replaced(
        self, missing: list[CausedRequest], by_address: Mapping[Address, Sequence[SentRequest]]
    ) -> list[CausedRequest]:
        """Drop the requests in whose place their step sent one to an address that the recording does not have."""
        if not missing:
            return []
        new = Counter(
            (each.step, address.shape)
            for address, requests in by_address.items()
            if address not in self._addresses
            for each in requests
        )
        left = []
        for caused in missing:
            place = caused.step, Address.of(caused.key).shape
            if new[place]:
                new[place] -= 1
            else:
                left.append(caused)
        return left


def _match_steps(requests: Sequence[CausedRequest], steps: Sequence[int]) -> list[CausedRequest]:
    """Return the requests for which none was sent, each once: in their step, in a later one, or else before."""
    free = Counter(steps)
    others = []
    for each in requests:
        if free[each.step]:
            free[each.step] -= 1
        else:
            others.append(each)
    left = sorted(free.elements())
    missing = []
    for each in others:
        if left:
            later = bisect_left(left, each.step)
            left.pop(later if later < len(left) else -1)
        else:
            missing.append(each)
    return missing


def is_page(exchange: Exchange) -> bool:
    """Return whether an exchange loaded a page."""
    return exchange.request.is_navigation and not exchange.request.frame


def call_end_ms(step: ActionTrace) -> float:
    """Return the page time at which the agent's call returned; recorded page time is wall time."""
    if step.started_at is None or step.ended_at is None:
        return begun_ms(step)
    return begun_ms(step) + (step.ended_at - step.started_at).total_seconds() * 1000


def _find_caused(recording: NetworkRecording, steps: Sequence[ActionTrace]) -> Iterator[CausedRequest]:
    """Yield the requests that actions caused and that matter: unsafe ones, fetches and pages."""
    acting = [(_acted_ms(each), place) for place, each in enumerate(steps) if _may_cause_requests(each)]
    exchanges = sorted(recording.exchanges, key=lambda each: each.started_ms)
    pages = [each for each in exchanges if is_page(each)]
    own = _OwnRequests(exchanges, {site_of(each.request.url) for each in pages})
    caused_until: dict[int, float] = {}
    """Page time until which an action causes requests, by its position."""
    requested: dict[Address, float] = {}
    """When each address was last requested because of an action."""
    for exchange in exchanges:
        before = bisect_right(acting, (exchange.started_ms, len(steps)))
        if not before:
            continue
        acted_ms, step = acting[before - 1]
        until_ms = max(acted_ms + CAUSED_MS, call_end_ms(steps[step]))
        if exchange.started_ms > caused_until.setdefault(step, until_ms):
            continue
        address, is_safe = Address.of(exchange.key), exchange.request.method in SAFE_METHODS
        if not (is_safe and address in requested):  # a poll may have been sent by a timer, as what follows it
            ended_ms = exchange.started_ms if exchange.completed_ms is None else exchange.completed_ms
            caused_until[step] = max(caused_until[step], ended_ms + CAUSED_MS)
        interval_ms = exchange.started_ms - requested.get(address, -math.inf)
        requested[address] = exchange.started_ms
        is_loading = any(acted_ms <= page.started_ms < exchange.started_ms for page in pages)
        if not own.depend_on(exchange, is_loading=is_loading):
            continue
        if _matters(exchange, recording) and isinstance(steps[step].result, Succeeded):
            due_ms = exchange.started_ms + SLACK_MS + (interval_ms if interval_ms <= MAX_INTERVAL_MS else 0.0)
            yield CausedRequest(exchange.ordinal, exchange.key, step, exchange.started_ms, due_ms)


class _OwnRequests:
    """The requests of a recording to the sites whose pages it shows."""

    def __init__(self, exchanges: Iterable[Exchange], sites: Collection[str]) -> None:
        """`exchanges` are sorted by their beginning."""
        self._sites = sites
        mine = (each for each in exchanges if site_of(each.request.url) in sites and _may_matter(each))
        self._begins = [each.started_ms for each in mine]

    def depend_on(self, exchange: Exchange, *, is_loading: bool) -> bool:
        """Return whether the pages may need a request.

        What pages send to other sites, such as analytics and advertisements, varies from visit to visit, above all
        while they load. They need its response if they sent something to their own site as soon as they had it.
        """
        if site_of(exchange.request.url) in self._sites:
            return True
        response, ended_ms = exchange.response, exchange.completed_ms
        if is_loading or response is None or response.body is None or ended_ms is None:
            return False
        following = bisect_left(self._begins, ended_ms)
        return following < len(self._begins) and self._begins[following] <= ended_ms + SLACK_MS


def site_of(url: str) -> str:
    """Return the domain that a host is registered under, or an IP address: pages and their servers mostly share it."""
    host = split_url(url).hostname or ""
    labels = host.split(".")
    if ":" in host or labels[-1].isdigit():
        return host
    is_below_country = len(labels[-1]) == _COUNTRY_LENGTH and labels[-2:-1] and labels[-2] in _SECOND_LEVEL
    count = 3 if is_below_country or ".".join(labels[-2:]) in _HOSTING else 2
    return ".".join(labels[-count:])


def _acted_ms(step: ActionTrace) -> float:
    seen = step.observation
    return 0.0 if seen is None else seen.acted_ms if seen.acted_ms is not None else seen.begun_ms


def _may_cause_requests(step: ActionTrace) -> bool:
    is_poll = isinstance(step.action, Evaluate) and step.action.is_poll
    return step.observation is not None and not is_poll and not isinstance(step.action, _WITHOUT_REQUESTS)


def _may_matter(exchange: Exchange) -> bool:
    request = exchange.request
    is_effect = is_unsafe(request.method, request.resource_type)
    return is_effect or is_page(exchange) or request.resource_type in FETCH_TYPES


def _matters(exchange: Exchange, recording: NetworkRecording) -> bool:
    """Return whether the mission may depend on a request."""
    if not _may_matter(exchange) or explain_unsent(exchange, recording, ()):
        return False
    if exchange.response is not None:
        return True
    is_leaving = any(is_loading_page(each, exchange.started_ms) for each in recording.exchanges if each is not exchange)
    return is_unsafe(exchange.request.method, exchange.request.resource_type) and not is_leaving
