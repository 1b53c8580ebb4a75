"""Learn rules while a mission is replayed: from requests that differ from a recorded one only in values that vary.

A learned rule proves nothing. Strict replays with the learned rules do.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import unquote, unquote_plus

from eikon_engine.files.origins import split_url
from eikon_engine.files.text import read_digits, shorten_pair
from eikon_engine.network.drawn_values import value_pattern
from eikon_engine.network.exchange import FETCH_TYPES
from eikon_engine.network.keys import (
    BODY_MARK,
    BOUNDARY,
    CanonicalRequest,
    canonical_url,
    read_json,
)
from eikon_engine.network.response_values import propose_response_rules
from eikon_engine.network.rules import (
    SOCKET_METHOD,
    TIMESTAMP,
    URLENCODED,
    blank_exchange,
    blank_message,
    blank_request,
    blank_socket_url,
    part_name,
    recorded_request,
    split_path,
)
from eikon_engine.trace.masks import matches_wildcard
from eikon_engine.trace.rules import (
    FormFieldRule,
    JsonPathRule,
    PathSegmentRule,
    QueryKeyRule,
    QueryStampRule,
    ResponseValueRule,
    TelemetryRule,
    TimestampRule,
    VolatileRule,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from eikon_engine.network.exchange import Exchange, RecordedRequest, RecordedResponse
    from eikon_engine.network.nearest import BodyReader
    from eikon_engine.outcome.outcomes import NetworkMiss

MAX_CANDIDATES: Final = 200
"""Maximum number of recorded requests that are compared with one of a replay."""
MAX_SHOWN: Final = 60
MAX_RECEIPT_BYTES: Final = 200
"""Maximum size of a response that only confirms a request, such as `{"status": 1}` or a GIF of one pixel."""
_STAMP: Final = re.compile(r"[0-9]{9,17}")
_SUCCESS: Final = 2
"""First digit of a status of success."""
_CREDENTIAL_HEADERS: Final = frozenset({"apikey", "authorization", "cookie", "x-api-key", "x-csrf-token"})
_ADDRESS: Final = re.compile(r"[0-9.]+|.*:.*")
_PLAIN_NAME: Final = re.compile(r'[^.\[\]"*]+')

DifferenceKind: TypeAlias = Literal["segment", "query", "stamp", "form", "json", "times"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """One value in which a request differs from a recorded one."""

    kind: DifferenceKind
    name: str
    """Name of the parameter, field or member; JSON path; position of a segment."""
    recorded: str
    requested: str


class _OtherRequestError(Exception):
    """Two requests differ in more than values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A recorded request that differs from a requested one only in what the rules ignore."""

    exchange: Exchange
    rules: tuple[VolatileRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedExchanges:
    """The recorded exchanges of a replay, and which ones were served."""

    exchanges: tuple[Exchange, ...]
    served: Collection[int]
    """Ordinals."""
    served_exactly: Collection[int]
    """Ordinals of those whose request was equal to the recorded one."""
    read_body: BodyReader | None


class RuleLearner:
    """Collect rules for the requests of one replay; mutable."""

    def __init__(
        self,
        recorded_at_s: float | None = None,
        on_miss: Callable[[NetworkMiss], None] = lambda _miss: None,
        *,
        is_live: bool = False,
    ) -> None:
        """Call `on_miss` with each request that no rule covers.

        `recorded_at_s` is the time of the recording, in Unix seconds: times of the page are near it. What a live site
        and its pages send may be a secret, so that rules learned from them do not show it.
        """
        self._is_live = is_live
        self._recorded_at_s = recorded_at_s
        self._on_miss = on_miss
        self.rules: list[VolatileRule] = []
        """The rules learned so far, each with a reason."""
        self.ambiguities: dict[str, str] = {}
        """Why a request that rules could cover got none, by its key."""

    def learn_request(
        self, sent: CanonicalRequest, played: PlayedExchanges, known: Sequence[VolatileRule]
    ) -> tuple[VolatileRule, ...]:
        """Return new rules with which a request matches a recorded one; empty if there are none."""
        found = self._candidates(sent, played)
        if not found:
            return self.learn_telemetry(sent.key, played.exchanges)
        chosen = min(found, key=lambda each: (len(each.rules), each.exchange.ordinal in played.served))
        rules = tuple(rule for rule in chosen.rules if not _is_known(rule, known))
        alike = _alike(chosen, played, (*known, *rules))
        competitor = next((each for each in alike if _competes(each, chosen, played)), None)
        if competitor is not None:
            self.ambiguities[sent.key] = (
                f"{competitor.key} and {chosen.exchange.key} were recorded with different responses, "
                "and a rule would make them the same request"
            )
            return ()
        self.rules.extend(rules)
        return rules

    def learn_telemetry(self, key: str, exchanges: Iterable[Exchange]) -> tuple[VolatileRule, ...]:
        """Return a new rule for the URL of a request, if the recorded requests to it only report; else nothing.

        The last resort for a request that no narrower rule covers.
        """
        method, location = _endpoint(key)
        if "*" in location or not _only_reports(key, exchanges):
            return ()
        rule = TelemetryRule(
            url=location,
            method=method,
            reason="the page only reports here: other content, or another moment, in a replay",
        )
        self.rules = [each for each in self.rules if not (each.url == location and each.method == method)]
        self.rules.append(rule)
        return (rule,)

    def note_miss(self, miss: NetworkMiss) -> None:
        """Note a request, WebSocket or message that does not match the recording."""
        why = self.ambiguities.get(miss.key)
        self._on_miss(miss if why is None else miss.model_copy(update={"reason": f"{miss.reason}; {why}"}))

    def learn_message(
        self, url: str, recorded: bytes, sent: bytes, known: Sequence[VolatileRule]
    ) -> tuple[VolatileRule, ...]:
        """Return new rules with which two WebSocket messages are equal; empty if there are none."""
        location = canonical_url(url).partition("?")[0]
        try:
            differences = _json_differences(recorded, sent)
        except _OtherRequestError:
            return ()
        return self._confirmed(
            self._rules_for(differences, location, SOCKET_METHOD),
            known,
            lambda rules: blank_message(url, recorded, rules)[0] == blank_message(url, sent, rules)[0],
        )

    def learn_socket_url(
        self, url: str, recorded: Iterable[str], known: Sequence[VolatileRule]
    ) -> tuple[VolatileRule, ...]:
        """Return new rules with which the URL of a WebSocket equals a recorded one; empty if there are none."""
        wanted = canonical_url(url)
        for other in map(canonical_url, recorded):
            try:
                differences = _url_differences(other, wanted)
            except _OtherRequestError:
                continue
            learned = self._confirmed(
                self._rules_for(differences, other.partition("?")[0], SOCKET_METHOD),
                known,
                partial(_are_equal_sockets, other, wanted),
            )
            if learned:
                return learned
        return ()

    def learn_response(
        self,
        location: tuple[str, str],
        recorded: str,
        live: str,
        known: Sequence[ResponseValueRule],
        uses: Callable[[str], tuple[str, ...]] | None = None,
    ) -> tuple[ResponseValueRule, ...]:
        """Return new rules for values that a server drew; for the parameters see `propose_response_rules`."""
        new: list[ResponseValueRule] = []
        for rule in propose_response_rules(location, recorded, live, self._recorded_at_s, uses):
            alike = [each for each in (*known, *new) if (each.pattern, each.path) == (rule.pattern, rule.path)]
            if any(matches_wildcard(each.url, rule.url) for each in alike):
                continue
            new.append(rule.model_copy(update={"url": site_glob(rule.url)}) if alike else rule)
            self.rules = [each for each in self.rules if each not in alike]  # the wider one covers them
        self.rules.extend(new)
        return tuple(new)

    def _confirmed(
        self,
        rules: tuple[VolatileRule, ...],
        known: Sequence[VolatileRule],
        is_enough: Callable[[tuple[VolatileRule, ...]], bool],
    ) -> tuple[VolatileRule, ...]:
        new = tuple(rule for rule in rules if not _is_known(rule, known))
        if not new or not is_enough((*known, *new)):
            return ()
        self.rules.extend(new)
        return new

    def _candidates(self, sent: CanonicalRequest, played: PlayedExchanges) -> list[_Candidate]:
        """Return the recorded requests that rules can make equal to the one that was sent, in order."""
        head = f"{sent.method} {split_path(sent.url.partition('?')[0])[0]}"
        similar = [each for each in played.exchanges if each.key.startswith(head)]
        is_telemetry = _only_reports(sent.key, played.exchanges)
        similar.sort(key=lambda each: (each.ordinal in played.served, each.ordinal))
        found = []
        for exchange in similar[:MAX_CANDIDATES]:
            try:
                differences = _request_differences(exchange, sent, played.read_body)
            except _OtherRequestError:
                continue
            rules = self._rules_for(differences, _location(exchange), sent.method, is_telemetry=is_telemetry)
            if rules and (blank_exchange(exchange, rules, played.read_body).key == blank_request(sent, rules).key):
                found.append(_Candidate(exchange=exchange, rules=rules))
        return found

    def _rules_for(
        self, differences: Sequence[_Difference], location: str, method: str, *, is_telemetry: bool = False
    ) -> tuple[VolatileRule, ...]:
        """Return a rule for each difference; empty if one of them has none."""
        url = _url_glob(location, [int(each.name) for each in differences if each.kind == "segment"])
        rules = []
        for each in differences:
            rule = self._rule_for(each, url, method, is_telemetry=is_telemetry)
            if rule is None:
                return ()
            rules.append(rule)
        return tuple(dict.fromkeys(rules))

    def _rule_for(  # noqa: PLR0911 - one return per rule type
        self, difference: _Difference, url: str, method: str, *, is_telemetry: bool
    ) -> VolatileRule | None:
        """Return the rule that ignores a difference; None if one of the values may matter."""
        kind, name = difference.kind, difference.name
        recorded, requested = difference.recorded, difference.requested
        shown = shorten_pair(recorded, requested, MAX_SHOWN)
        seen = "another value in another run" if self._is_live else f"requested {shown[1]!r}"
        reason = f"differed in a replay: recorded {shown[0]!r}, {seen}"
        if kind == "stamp":
            return QueryStampRule(url=url, method=method, reason=reason)
        if kind == "times":
            return TimestampRule(url=url, method=method, reason=reason)
        own_name, near_s = _own_name(difference), self._recorded_at_s
        is_measured = is_telemetry and kind != "segment"
        pattern = value_pattern(own_name, recorded, requested, near_s, is_telemetry=is_measured)
        if pattern is None:
            return None
        if kind == "segment":
            position, below = int(name), _glob_below(url, int(name))
            return PathSegmentRule(position=position, url=below, method=None, reason=reason, pattern=pattern)
        if kind == "query":
            return QueryKeyRule(name=name, url=url, method=method, reason=reason, pattern=pattern)
        if kind == "form":
            return FormFieldRule(name=name, url=url, method=method, reason=reason, pattern=pattern)
        return JsonPathRule(path=name, url=url, method=method, reason=reason, pattern=pattern)


def _are_equal_sockets(one: str, other: str, rules: tuple[VolatileRule, ...]) -> bool:
    return blank_socket_url(one, rules)[0] == blank_socket_url(other, rules)[0]


def _own_name(difference: _Difference) -> str:
    """Return the name of the part itself: the last one of a JSON path, none for a segment of a URL."""
    if difference.kind == "segment":
        return ""
    names = [each for each in re.split(r'[.\[\]"$]+', difference.name) if each] if difference.kind == "json" else []
    return next((each for each in reversed(names) if not each.isdecimal()), "") if names else difference.name


def _alike(chosen: _Candidate, played: PlayedExchanges, rules: Sequence[VolatileRule]) -> list[Exchange]:
    """Return the other recorded requests that become equal to the chosen one."""
    own = blank_exchange(chosen.exchange, rules, played.read_body).key
    method = chosen.exchange.key.partition(" ")[0]
    return [
        each
        for each in played.exchanges
        if each.key != chosen.exchange.key
        and each.key.startswith(f"{method} ")
        and blank_exchange(each, rules, played.read_body).key == own
    ]


def _competes(other: Exchange, chosen: _Candidate, played: PlayedExchanges) -> bool:
    """Return whether two requests must not become equal: they have different responses, and no order decides.

    None does if both were in flight at once, or if one was requested again exactly as recorded: then its id is real.
    """
    if _response(other) == _response(chosen.exchange):
        return False
    by_id = any(isinstance(rule, PathSegmentRule | QueryKeyRule) and _is_id(rule) for rule in chosen.rules)
    return (by_id and other.ordinal in played.served_exactly) or _were_concurrent(other, chosen.exchange)


def _is_id(rule: PathSegmentRule | QueryKeyRule) -> bool:
    """Return whether a rule ignores ids, and not times or counters."""
    return not (rule.pattern or "").startswith(("[0-9]{", "-?[0-9]", "0\\.", r"\d{4}"))


def _response(exchange: Exchange) -> tuple[object, ...]:
    response = exchange.response
    body = None if response is None or response.body is None else response.body.sha256
    return (None if response is None else response.status, body, exchange.failure)


def _were_concurrent(one: Exchange, other: Exchange) -> bool:
    first, second = sorted((one, other), key=lambda each: each.ordinal)
    return first.completed_ms is not None and second.started_ms < first.completed_ms


def _is_known(rule: VolatileRule, known: Iterable[VolatileRule]) -> bool:
    return any(rule.model_copy(update={"reason": each.reason}) == each for each in known)


def _location(exchange: Exchange) -> str:
    return _endpoint(exchange.key)[1]


def _endpoint(key: str) -> tuple[str, str]:
    """Return the method and the URL without query of a request."""
    method, _, url = key.partition(BODY_MARK)[0].partition(" ")
    return method, url.partition("?")[0]


def _only_reports(key: str, exchanges: Iterable[Exchange]) -> bool:
    """Return whether pages only report with all recorded requests to a URL, and get the same receipt each time."""
    recorded = [each for each in exchanges if _endpoint(each.key) == _endpoint(key)]
    receipts = {_receipt(each) for each in recorded if not _is_farewell(each)}
    return len(receipts) == 1 and None not in receipts and all(map(_is_telemetry, recorded))


def _is_farewell(exchange: Exchange) -> bool:
    """Return whether a beacon was sent as its page unloaded: its response is unknown."""
    return exchange.request.resource_type == "ping" and exchange.response is None


def _receipt(exchange: Exchange) -> tuple[int, int] | None:
    """Return status and size of a response that only confirms a request; None for any other."""
    response = exchange.response
    if response is None or response.body_missing is not None or response.status // 100 != _SUCCESS:
        return None
    size = _size(response)
    return (response.status, size) if size <= MAX_RECEIPT_BYTES else None


def _size(response: RecordedResponse) -> int:
    """Return the size of a body; that of a beacon is not recorded, since no page can read it."""
    if response.body is not None:
        return response.body.size
    declared = {name.lower(): value for name, value in response.headers}.get("content-length", "")
    return read_digits(declared) if declared.isdecimal() else 0


def _is_telemetry(exchange: Exchange) -> bool:
    """Return whether a request that gets a receipt is a beacon, or sent to another site without credentials.

    Sites are compared by the last two labels of their hosts: two sites below a suffix such as `co.uk` count as one.
    """
    request, response = exchange.request, exchange.response
    is_to_other_site = _is_cross_site(request)
    if request.resource_type == "ping":
        return is_to_other_site or response is None or not _size(response)
    has_credentials = any(name.lower() in _CREDENTIAL_HEADERS for name, _ in request.headers)
    is_write = request.resource_type in FETCH_TYPES and request.method == "POST"
    is_picture = request.resource_type == "image" and request.method == "GET"
    return is_to_other_site and not has_credentials and (is_write or is_picture)


def _is_cross_site(request: RecordedRequest) -> bool:
    headers = {name.lower(): value for name, value in request.headers}
    sender = split_url(headers.get("origin") or headers.get("referer") or "").hostname
    return sender is not None and _site_of_host(sender) != _site_of_host(split_url(request.url).hostname or "")


def _site_of_host(host: str) -> str:
    """Return the site of a host; all loopback hosts are one, since developers use several."""
    if host == "localhost" or host.endswith(".localhost") or host.startswith("127.") or host == "::1":
        return "localhost"
    return host if _ADDRESS.fullmatch(host) else ".".join(host.split(".")[-2:])


def _url_glob(location: str, drawn: Collection[int]) -> str:
    """Return the glob of a URL in which some segments are drawn."""
    site, segments = split_path(location)
    return "/".join((site, *("*" if place in drawn else each for place, each in enumerate(segments))))


def site_glob(url: str) -> str:
    """Return the glob of all URLs of the site of a URL."""
    return f"{split_path(url)[0]}/*"


def _glob_below(url: str, position: int) -> str:
    """Return the glob of all URLs whose first segments are those of a URL."""
    site, segments = split_path(url)
    return "/".join((site, *segments[:position], "*"))


def _request_differences(exchange: Exchange, sent: CanonicalRequest, read_body: BodyReader | None) -> list[_Difference]:
    recorded = recorded_request(exchange, read_body)
    if recorded is None:
        raise _OtherRequestError
    differences = _url_differences(recorded.url, sent.url)
    if recorded.body == sent.body:
        return differences
    if recorded.body is None or sent.body is None or recorded.media_type != sent.media_type:
        raise _OtherRequestError
    return [*differences, *_body_differences(recorded.body, sent.body, sent.media_type)]


def _url_differences(recorded: str, requested: str) -> list[_Difference]:
    (ours, _, our_query), (theirs, _, their_query) = recorded.partition("?"), requested.partition("?")
    (our_site, our_path), (their_site, their_path) = split_path(ours), split_path(theirs)
    if our_site != their_site or len(our_path) != len(their_path) or ("?" in recorded) != ("?" in requested):
        raise _OtherRequestError
    segments = [
        _Difference(kind="segment", name=str(place), recorded=unquote(one), requested=unquote(other))
        for place, (one, other) in enumerate(zip(our_path, their_path, strict=True))
        if one != other
    ]
    return [*segments, *_pair_differences(our_query, their_query, "query")]


def _pair_differences(recorded: str, requested: str, kind: Literal["query", "form"]) -> list[_Difference]:
    found = []
    for one, other in zip_longest(recorded.split("&"), requested.split("&")):
        if one == other:
            continue
        if one is None or other is None:
            raise _OtherRequestError
        if kind == "query" and _STAMP.fullmatch(one) and _STAMP.fullmatch(other):
            found.append(_Difference(kind="stamp", name="", recorded=one, requested=other))
            continue
        (name, mark, ours), (other_name, other_mark, theirs) = one.partition("="), other.partition("=")
        if name != other_name or not mark or not other_mark or not name:
            raise _OtherRequestError
        found.append(
            _Difference(kind=kind, name=unquote_plus(name), recorded=unquote_plus(ours), requested=unquote_plus(theirs))
        )
    return found


def _body_differences(recorded: bytes, requested: bytes, media_type: str) -> list[_Difference]:
    if media_type == URLENCODED:
        return _pair_differences(recorded.decode(errors="replace"), requested.decode(errors="replace"), "form")
    if media_type.startswith("multipart/"):
        return _multipart_differences(recorded, requested)
    return _json_differences(recorded, requested)


def _multipart_differences(recorded: bytes, requested: bytes) -> list[_Difference]:
    found = []
    delimiter = b"--" + BOUNDARY
    for one, other in zip_longest(recorded.split(delimiter), requested.split(delimiter)):
        if one == other:
            continue
        if one is None or other is None:
            raise _OtherRequestError
        (head, gap, ours), (other_head, _, theirs) = one.partition(b"\r\n\r\n"), other.partition(b"\r\n\r\n")
        name = part_name(head).decode(errors="replace")
        if head != other_head or not gap or not name:
            raise _OtherRequestError
        texts = [each.removesuffix(b"\r\n").decode(errors="replace") for each in (ours, theirs)]
        found.append(_Difference(kind="form", name=name, recorded=texts[0], requested=texts[1]))
    return found


def _json_differences(recorded: bytes, requested: bytes) -> list[_Difference]:
    """Compare two JSON texts; other texts may differ in times only."""
    try:
        if not recorded.lstrip().startswith((b"{", b"[")):
            raise ValueError  # noqa: TRY301 - as invalid JSON
        waiting = [("$", read_json(recorded), read_json(requested))]
    except (ValueError, RecursionError):
        if TIMESTAMP.split(recorded) != TIMESTAMP.split(requested):
            raise _OtherRequestError from None
        return [_Difference(kind="times", name="", recorded=_time_in(recorded), requested=_time_in(requested))]
    found = []
    while waiting:
        path, ours, theirs = waiting.pop()
        if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
            waiting.extend((_member_path(path, name), ours[name], theirs[name]) for name in ours)
        elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
            pairs = zip(ours, theirs, strict=True)
            waiting.extend((f"{path}[{place}]", one, other) for place, (one, other) in enumerate(pairs))
        elif type(ours) is not type(theirs):
            raise _OtherRequestError
        elif ours != theirs:
            if not isinstance(ours, str) or path == "$":
                raise _OtherRequestError
            found.append(_Difference(kind="json", name=path, recorded=str(ours), requested=str(theirs)))
    return found


def _member_path(path: str, name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}"
    if not name or '"' in name or "\\" in name:
        raise _OtherRequestError
    return f"{path}[{json.dumps(name, ensure_ascii=False)}]"


def _time_in(content: bytes) -> str:
    found = TIMESTAMP.search(content)
    return found[0].decode() if found else "none"
