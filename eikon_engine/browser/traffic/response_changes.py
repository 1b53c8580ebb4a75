"""Compare responses with recorded ones: what differs is evidence for divergences, never a divergence.

A server draws tokens and ids for each run. A replay learns them from its responses: they stand for the recorded ones
wherever pages show or send them.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag, urljoin

from eikon_engine.browser.redaction import redact_body
from eikon_engine.browser.request_keys import RedactedRequest
from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames, SocketRules
from eikon_engine.divergence.response_diff import (
    ABSENT,
    ENDING_PARTS,
    REDIRECT_PART,
    WITHHELD_ENDING,
    ComparedResponse,
    compare_responses,
    compare_values,
    diff_messages,
    is_absent,
    is_shortened,
)
from eikon_engine.dom.inline_scripts import differing_scripts
from eikon_engine.errors import InternalError
from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.network.keys import canonical_request
from eikon_engine.network.matching import Hit, Playback
from eikon_engine.network.response_values import (
    DrawnValues,
    comparable_text,
    header_lines,
    url_location,
    with_recorded_values,
)
from eikon_engine.network.rules import blank_request, blank_socket_url, find_telemetry_rule
from eikon_engine.network.websocket import SocketClosed, SocketMessage, SocketOpened, describe_close, socket_key
from eikon_engine.outcome.outcomes import ResponseChange, ValueChange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from playwright.async_api import Request

    from eikon_engine.browser.session import Session
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.matching import Match, RuleUsage
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.network.websocket import SocketEvent
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.secrets.stand_ins import StandInMap
    from eikon_engine.trace.rules import VolatileRule

MAX_CHANGED_VALUES: Final = 20
"""Changed values stored per response; the rest is counted."""
MAX_CHANGED_RESPONSES: Final = 500
"""Changed responses stored per run, besides those that ended differently; a note reports the total."""
MIN_LATER_LENGTH: Final = 4
"""Shorter texts of later polls may be those of other parts of a page."""
MAX_COMPARED_POLLS: Final = 20
"""The last recorded polls of a series that are compared to find what varies in their responses."""
_LITERAL: Final = re.compile(r"true|false|null|[-+]?[\d.,]+(?:[eE][-+]?\d+)?")
"""Values that any part of a page may have: booleans and numbers."""
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEnd:
    """How a request ended: with a response, or with a network error."""

    response: ComparedResponse | None
    failure: str | None = None
    redirects: tuple[str, ...] = ()
    """URLs that the site redirected a request to which failed then."""
    is_withheld: bool = False
    """Whether the browser reported that the page may not read the response at the last of them."""
    is_redirected: bool = True
    """Whether redirects may have led to it; without any, its URL is that of the request, which matched."""


class ResponseChanges:
    """The responses of one replay that differ from the recorded ones, in order of arrival."""

    def __init__(self, recording: NetworkRecording, rules: tuple[VolatileRule, ...] = ()) -> None:
        """Compare with `recording`; `rules` name what varies from run to run, which is no difference."""
        self._recording = recording
        self._rules = rules
        self._count = 0
        self._changes: list[ResponseChange] = []

    @property
    def changes(self) -> tuple[ResponseChange, ...]:
        """The differences, limited to a readable number."""
        return tuple(self._changes)

    def notes(self) -> tuple[str, ...]:
        """Report the total, if not all differences are stored."""
        if self._count == len(self._changes):
            return ()
        return (f"{self._count} responses differ from the recorded ones; the first {MAX_CHANGED_RESPONSES} are listed",)

    def differences(self, exchange: Exchange, live: RequestEnd) -> tuple[ValueChange, ...]:
        """List the values in which a response differs from that of a recorded exchange, apart from what rules cover."""
        recorded = exchange.response
        if find_telemetry_rule(exchange.key, self._rules) is not None:
            return ()
        if recorded is None or live.response is None:
            ended = f"status {recorded.status}" if recorded else exchange.failure or ABSENT
            ends = f"status {live.response.status}" if live.response else live.failure or ABSENT
            if ended == ends or ABORTED_ERROR in {ended, ends}:
                return ()
            known = recorded.url if recorded is not None and exchange.hops else ""
            redirects = (compare_values(REDIRECT_PART, known, url) for url in live.redirects)
            shown = WITHHELD_ENDING if live.is_withheld else ends
            return (ValueChange(part="ending", recorded=ended, live=shown), *chain.from_iterable(redirects))
        body = None
        if recorded.body is not None and live.response.body is not None:
            same = hashlib.sha256(live.response.body).hexdigest() == recorded.body.sha256
            body = live.response.body if same else self._recording.body(recorded.body)
        before = ComparedResponse(url=recorded.url, status=recorded.status, headers=recorded.headers, body=body)
        values = compare_responses(*self._without_covered(before, live.response))
        is_direct = not (live.is_redirected or exchange.hops)
        return tuple(each for each in values if not (is_direct and each.part == "url"))

    def without_later(
        self, series: Sequence[Exchange], values: tuple[ValueChange, ...]
    ) -> tuple[tuple[ValueChange, ...], frozenset[tuple[str, str]]]:
        """Remove the values that a response to a later poll than the recorded `series` has because it is a later one.

        Those are the parts of the body that vary among the recorded responses; of a single one, texts that differ only
        in numbers. Also return these texts, recorded and live, unless they are short or literals, which other parts of
        a page may have as well.
        """
        varying = self._varying_parts(series)
        later = [
            each
            for each in values
            if each.part.startswith("body ") and (_has_other_numbers(each) if varying is None else each.part in varying)
        ]
        texts = ((each.recorded.strip(), each.live.strip()) for each in later)
        return (
            tuple(each for each in values if each not in later),
            frozenset(pair for pair in texts if all(map(_is_distinctive, pair))),
        )

    def _varying_parts(self, series: Sequence[Exchange]) -> frozenset[str] | None:
        """Return the parts in which recorded responses of a series differ; None if fewer than two have a body."""
        compared = [each for each in series if each.response is not None and each.response.body is not None]
        if len(compared) <= 1:
            return None
        first, *others = compared[-MAX_COMPARED_POLLS:]
        ends = (RequestEnd(response=self._recorded_response(each)) for each in others)
        return frozenset(value.part for end in ends for value in self.differences(first, end))

    def _recorded_response(self, exchange: Exchange) -> ComparedResponse | None:
        recorded = exchange.response
        if recorded is None:
            return None
        body = None if recorded.body is None else self._recording.body(recorded.body)
        return ComparedResponse(url=recorded.url, status=recorded.status, headers=recorded.headers, body=body)

    def _without_covered(
        self, recorded: ComparedResponse, live: ComparedResponse
    ) -> tuple[ComparedResponse, ComparedResponse]:
        """Return both responses with the same values wherever rules cover them."""
        if not self._rules:
            return recorded, live
        before = dict(recorded.headers).get("location", "")
        headers = tuple(
            (name, self._recorded_url(recorded.url, before, value) if name == "location" else value)
            for name, value in live.headers
        )
        live = replace(live, url=self._recorded_url(recorded.url, recorded.url, live.url), headers=headers)
        if recorded.body is None or live.body is None or recorded.body == live.body:
            return recorded, live
        ours, theirs = comparable_text(recorded.body), comparable_text(live.body)
        covered = with_recorded_values(self._rules, recorded.url, ours, theirs)
        if covered == theirs:
            return recorded, live
        return replace(recorded, body=ours.encode()), replace(live, body=covered.encode())

    def _recorded_url(self, base: str, recorded: str, live: str) -> str:
        """Return the recorded URL in place of a live one that differs only in what rules cover."""
        covered = with_recorded_values(self._rules, urljoin(base, live), recorded, live)
        ours, theirs = urldefrag(urljoin(base, recorded)), urldefrag(urljoin(base, covered))
        before, after = (
            blank_request(canonical_request("GET", each.url, None, None), self._rules) for each in (ours, theirs)
        )
        is_covered = covered != live or bool(before.rules or after.rules)
        is_same = before.key == after.key and ours.fragment == theirs.fragment
        return recorded if is_covered and is_same else live

    def record(
        self, key: str, occurrence: int, values: tuple[ValueChange, ...], resource_type: str = "", sent: str = ""
    ) -> int | None:
        """Store what differs in the response to one recorded request, or on one recorded socket.

        `sent` is the request of this replay; it is kept if the response is an error, or ended in another way.
        Returns its place for `amend`; None if it was not stored.
        """
        if not values:
            return None
        self._count += 1
        if len(self._changes) < MAX_CHANGED_RESPONSES or any(each.part in ENDING_PARTS for each in values):
            shown = values[:MAX_CHANGED_VALUES]
            change = ResponseChange(
                key=key,
                sent=sent if any(each.part in ENDING_PARTS for each in values) else "",
                resource_type=resource_type,
                occurrence=occurrence,
                subgoal="",
                sequence=0,
                what=shown,
                more=len(values) - len(shown),
            )
            self._changes.append(change)
            return len(self._changes) - 1
        return None

    def amend(self, place: int, values: tuple[ValueChange, ...]) -> None:
        """Replace the values of a stored difference: later messages may show that they belong to another one."""
        shown = values[:MAX_CHANGED_VALUES]
        update = {"what": shown, "more": len(values) - len(shown)}
        self._changes[place] = self._changes[place].model_copy(update=update)

    def retract(self, key: str, occurrence: int) -> None:
        """Drop what differs in the response to a recorded request; the change itself stays, without values."""
        self._changes = [
            each.model_copy(update={"what": (), "more": 0})
            if (each.key, each.occurrence) == (key, occurrence)
            else each
            for each in self._changes
        ]


def _has_other_numbers(value: ValueChange) -> bool:
    """Return whether two values differ only in numbers."""
    return _NUMBER.sub("0", value.recorded) == _NUMBER.sub("0", value.live)


def _is_distinctive(text: str) -> bool:
    """Return whether a text is whole, and so long that other parts of a page hardly have it."""
    is_part = is_absent(text) or is_shortened(text) or _LITERAL.fullmatch(text) is not None
    return len(text) >= MIN_LATER_LENGTH and not is_part


class ResponseLearner:
    """Learns the tokens and drawn values of one run, response by response, as the recorded ones; mutable."""

    def __init__(
        self, session: Session, recording: NetworkRecording, rule_use: RuleUsage, learner: RuleLearner | None = None
    ) -> None:
        """Let what a session gets stand for what `recording` has; a `learner` learns more rules for drawn values."""
        self._session = session
        self._recording = recording
        self._drawn = DrawnValues(rule_use.rules, learner, rule_use, self._substitute, recording.exchanges)

    def _substitute(self, recorded: Mapping[str, str], urls: Collection[str]) -> None:
        """Replace drawn values; those that stand after `urls`, also after the current ones."""
        current = dict.fromkeys((*urls, *map(self._session.urls.to_new.replace_text, urls)))
        self._session.redactor.stand_ins.substitute(recorded, current)

    def learn_head(self, exchange: Exchange, url: str, headers: Iterable[tuple[str, str]]) -> None:
        """Learn from the URL and headers of the response that corresponds to that of a recorded exchange."""
        recorded = exchange.response
        if recorded is None:
            return
        as_recorded = self._session.urls.to_old.replace_text
        ours, theirs = header_lines(recorded.url, recorded.headers), as_recorded(header_lines(url, headers))
        self._session.redactor.stand_ins.learn(ours, theirs)
        here = as_recorded(url)
        self._drawn.learn((recorded.url, here), url_location(recorded.url), url_location(here), exchange)

    def learn_body(self, exchange: Exchange, url: str, body: bytes) -> None:
        """Learn from the body of such a response, unless it is the recorded one."""
        recorded = exchange.response
        if recorded is None or recorded.body is None or hashlib.sha256(body).hexdigest() == recorded.body.sha256:
            return
        as_recorded = self._session.urls.to_old.replace_text
        ours = comparable_text(self._recording.body(recorded.body))
        theirs = as_recorded(comparable_text(body))
        self._session.redactor.stand_ins.learn(ours, theirs)
        self._drawn.learn((recorded.url, as_recorded(url)), ours, theirs, exchange)
        if any(name.lower() == "content-type" and "html" in value for name, value in recorded.headers):
            self._session.inline_scripts |= differing_scripts(ours, self._session.redactor.redact_text(theirs))

    def learn_message(self, urls: tuple[str, str], recorded: bytes, live: bytes) -> None:
        """Learn from a message of a server that equals a recorded one but for what it draws; from no other.

        `urls` are those of both sockets; `live` is as the server sent it: redacted twice, the recorded id of a record
        is taken for that of another live one.
        """
        redact = self._session.redactor.redact_text
        ours, theirs = comparable_text(recorded), self._session.urls.to_old.replace_text(comparable_text(live))
        self._session.redactor.stand_ins.learn_from_equal(ours, redact(theirs))
        self._drawn.learn_from_equal(urls, ours, redact(theirs))  # with the tokens learned just now


class RecordingComparison:
    """Compare what a session is served from another recording with the one of the bundle."""

    def __init__(self, original: NetworkRecording, served: NetworkRecording, rules: tuple[VolatileRule, ...]) -> None:
        """Compare `served` with `original`; `rules` name what changes from run to run."""
        self._original, self._served, self._rules = original, served, rules
        self._playback = Playback(original.exchanges, read_body=original.body, rules=rules)
        self._running: _ComparedSession | None = None
        self._sockets: defaultdict[str, list[SocketOpened]] = defaultdict(list)
        """Recorded sockets by name, in order of opening."""
        for event in original.sockets:
            if isinstance(event, SocketOpened):
                self._sockets[self._socket_name(event.url)].append(event)
        self._opened: defaultdict[str, int] = defaultdict(int)
        self.changes = ResponseChanges(original, rules)

    def start(self, session: Session, rule_use: RuleUsage) -> None:
        """Compare for a session; `rule_use` counts the rules that responses and sockets need."""
        session.serves_other_recording = True
        self._running = _ComparedSession(
            session=session,
            served_stand_ins=session.redactor.stand_ins.unlearned(),
            learner=ResponseLearner(session, self._original, rule_use),
            socket_names=RecordedSocketNames(self._original, SocketRules(rule_use)),
        )

    @property
    def served_redactor(self) -> Redactor:
        """A redactor for what is looked up in the recording that is served, which has its own drawn values."""
        return self._started.session.redactor.with_stand_ins(self._started.served_stand_ins)

    def find(self, request: Request, timer_ms: float | None, *, is_for_resource: bool) -> Match:
        """Find the exchange of the original recording for a request of a page; see `Playback.match`.

        The caller counts the rules of the match, since the recording that is served may need the same ones.
        """
        redacted = RedactedRequest.of(self._started.session, request)
        return redacted.match(self._playback, timer_ms, is_for_resource=is_for_resource)

    def compare(self, match: Match, served: Exchange) -> None:
        """Learn from a response that is about to be served, and compare it with the original one, if there is one."""
        if not isinstance(match, Hit) or match.is_repeat or match.exchange.is_pending or served.is_pending:
            return
        recorded = match.exchange
        if find_telemetry_rule(recorded.key, self._rules) is not None:
            return
        values = self.changes.differences(recorded, self._ending(recorded, served))
        self.changes.record(recorded.key, recorded.occurrence, values, recorded.request.resource_type)

    def compare_socket(self, opened: SocketOpened, events: Sequence[SocketEvent]) -> None:
        """Compare what the server sends on a socket with what it sent on the recorded one."""
        redactor = self._started.session.redactor
        name = self._socket_name(redactor.redact_text(opened.url))
        place, recorded = self._opened[name], self._sockets[name]
        self._opened[name] += 1
        if place >= len(recorded):
            return
        own = [event for event in self._original.sockets if event.socket == recorded[place].socket]
        ours, theirs = server_messages(self._original, own), server_messages(self._served, events)
        for one, other in zip(ours, theirs, strict=False):
            self._started.learner.learn_message((recorded[place].url, opened.url), one, other)
        theirs = [redactor.redact_bytes(each) for each in theirs]
        values = (
            *diff_messages("message", ours, theirs),
            *compare_values("end", _server_close(own), _server_close(events)),
        )
        self.changes.record(socket_key(recorded[place].url), place, values)

    def key_of_opened(self, socket: int, url: str) -> str:
        """Return the original key of the n-th socket that pages open."""
        return self._started.socket_names.key_of_opened(socket, self._started.session.redactor.redact_text(url))

    def key_of_sent(self, socket: int, url: str, content: bytes) -> str:
        """Return the original key of the next message that a page sends on the n-th socket."""
        redactor = self._started.session.redactor
        sent = redactor.redact_key_bytes(content)
        return self._started.socket_names.key_of_sent(socket, redactor.redact_text(url), sent)

    def _socket_name(self, url: str) -> str:
        return socket_key(blank_socket_url(url, self._rules)[0])

    def _ending(self, recorded: Exchange, served: Exchange) -> RequestEnd:
        """Return how a served exchange ends, with what it draws as recorded."""
        response, is_redirected = served.response, bool(served.hops)
        if response is None:
            redirects = redirect_urls(served)
            return RequestEnd(response=None, failure=served.failure, redirects=redirects, is_redirected=is_redirected)
        session, learner = self._started.session, self._started.learner
        body = self._served.body(response.body) if response.body is not None else None
        learner.learn_head(recorded, response.url, response.headers)
        if body is not None:
            learner.learn_body(recorded, response.url, body)
        redact = session.redactor.redact_text
        content_type = next((value for name, value in response.headers if name.lower() == "content-type"), "")
        compared = ComparedResponse(
            url=redact(response.url),
            status=response.status,
            headers=tuple((name, redact(value)) for name, value in response.headers),
            body=None if body is None else redact_body(session, session.restore_secrets(body), content_type),
        )
        return RequestEnd(response=compared, is_redirected=is_redirected)

    @property
    def _started(self) -> _ComparedSession:
        if self._running is None:
            message = "responses were compared before start()"
            raise InternalError(message)
        return self._running


@dataclass(frozen=True, slots=True, kw_only=True)
class _ComparedSession:
    """A session that is served another recording than its own."""

    session: Session
    served_stand_ins: StandInMap
    learner: ResponseLearner
    socket_names: RecordedSocketNames
    """Names of the original sockets for those that pages open."""


def redirect_urls(exchange: Exchange) -> tuple[str, ...]:
    """Return the URLs that a request was redirected to."""
    headers = ((hop.url, {name.lower(): value for name, value in hop.headers}) for hop in exchange.hops)
    return tuple(urljoin(url, found["location"]) for url, found in headers if "location" in found)


def server_messages(recording: NetworkRecording, events: Sequence[SocketEvent]) -> list[bytes]:
    """Return the messages of the server."""
    messages = (event for event in events if isinstance(event, SocketMessage) and event.sender == "server")
    return [recording.message(each) for each in messages]


def _server_close(events: Sequence[SocketEvent]) -> str:
    """Return how the server closed a socket; empty if it did not."""
    ends = (event for event in events if isinstance(event, SocketClosed) and event.closer == "server")
    return next((describe_close(each.code, each.reason) for each in ends), "")
