"""Send requests to the live network, and record how the responses differ from a recording."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter, defaultdict, deque
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from weakref import WeakSet

from eikon_engine.browser.redaction import redact_body
from eikon_engine.browser.request_keys import RedactedRequest
from eikon_engine.browser.request_tracker import (
    NON_NETWORK_SCHEMES,
    NULL_BODY_STATUSES,
    dropped_response,
    first_request,
)
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.traffic.live_pace import LivePace
from eikon_engine.browser.traffic.response_changes import (
    RequestEnd,
    ResponseChanges,
    ResponseLearner,
)
from eikon_engine.browser.traffic.server_messages import ComparedMessages, RecordedSockets, ServerMessages
from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames, SocketRules
from eikon_engine.divergence.response_diff import (
    ENDING_PARTS,
    FIRST_ERROR_STATUS,
    ComparedResponse,
)
from eikon_engine.errors import EikonError
from eikon_engine.network.heartbeats import EFFECT_MS
from eikon_engine.network.keys import canonical_request, request_key, unpack_body
from eikon_engine.network.matching import Hit, Playback
from eikon_engine.network.response_values import comparable_text
from eikon_engine.network.rules import find_telemetry_rule
from eikon_engine.network.unsent import has_moments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from playwright.async_api import ConsoleMessage, Request, Response, Route

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.live_pace import HeldRequest
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.matching import Miss
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkOutcome, ResponseChange
    from eikon_engine.trace.rules import VolatileRule


class _WithheldRedirects:
    """Redirects to other origins that do not let a page read their response, as the browser's console reports them.

    Playwright reports such a request as failed, and most of these redirects not at all.
    """

    def __init__(self) -> None:
        """Start without redirects."""
        self._urls: defaultdict[str, deque[str]] = defaultdict(deque)
        """The last URL of each, by the first."""

    def note(self, message: ConsoleMessage) -> None:
        """Note a redirect that a message of the browser reports; it precedes the failure of the request."""
        found = None if message.args else withheld_redirect_in(message.text)  # a page logs with arguments
        if found is not None:
            first, last = found
            self._urls[first.partition("#")[0]].append(last)

    def pop(self, root: Request) -> str | None:
        """Return the URL to which a request was redirected that the browser withheld; None if it did not."""
        withheld = self._urls.get(root.url.partition("#")[0])
        return withheld.popleft() if withheld else None


def withheld_redirect_in(text: str) -> tuple[str, str] | None:
    """Return the first and the last URL of a redirect that Chromium reports as blocked by CORS; None in other texts."""
    found = _WITHHELD.match(text)
    return None if found is None else (found["first"], found["last"])


_WITHHELD: Final = re.compile(
    r"Access to [^']+ at '(?P<last>[^']*)' \(redirected from '(?P<first>[^']*)'\) from origin '[^']*' has been blocked "
    "by CORS"
)
"""What Chromium logs."""


def _redirect_urls(root: Request) -> Iterator[str]:
    """Yield the URLs that a request was redirected to, as far as Playwright reports them."""
    following = root.redirected_to
    while following is not None:
        yield following.url
        following = following.redirected_to


class ProbeTraffic(LiveTraffic):
    """Match live requests with recorded ones by key; recorded responses are never served.

    Bodies are read as soon as a request ends, since the browser discards them with the next document; the stabilizer
    waits for that. Whatever is stored has its secrets redacted.
    """

    def __init__(
        self,
        recording: NetworkRecording,
        rules: tuple[VolatileRule, ...] = (),
        learner: RuleLearner | None = None,
        *,
        repeated_keys: AbstractSet[str] = frozenset(),
        deadlines_ms: Sequence[float] = (),
    ) -> None:
        """Compare with `recording`; `rules` name what changes from run to run, and a `learner` learns more of them.

        `repeated_keys` are the keys of requests that pages sent more often in the replays that gave the baselines than
        in the recording; `deadlines_ms` are the recorded page times at which waits of the agent timed out.
        """
        super().__init__()
        self._repeated_keys = repeated_keys
        self._deadlines_ms = deadlines_ms
        self._recording = recording
        self._learner = learner
        self._playback = Playback(recording.exchanges, read_body=recording.body, rules=rules)
        self._values: ResponseLearner | None = None
        """Set when the session starts."""
        self._pace: LivePace | None = None
        """Set when the session starts, if the recording has moments of natural time."""
        self._keys: dict[Request, str] = {}
        self._matched: dict[Request, Exchange] = {}
        self._missed: dict[Request, tuple[RedactedRequest, Miss]] = {}
        """Requests without a recorded one, as they were when they were sent."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._effects: WeakSet[Request] = WeakSet()
        """Requests that were sent so soon after an action that they may be effects of it, such as a debounced save."""
        self._spontaneous: set[int] = set()
        """Recorded exchanges, by ordinal, that were matched by requests of which no action can be the cause."""
        self._continued: dict[Request, Exchange] = {}
        """Polls that continue a recorded series, with its last one."""
        self._later_values: set[tuple[str, str]] = set()
        self._changed = ResponseChanges(recording, rules)
        self._stood_in: set[int] = set()
        """Recorded exchanges, by ordinal, with whose response that of a changed request was compared."""
        self._warnings: list[str] = []
        self._withheld = _WithheldRedirects()
        self._messages = ServerMessages(self._learn_from_messages)
        self._recorded_sockets = RecordedSockets(recording)
        self._read: Counter[int] = Counter()
        """From how many messages of each socket values were learned."""

    async def start(self, session: Session) -> None:
        """Set up routes and listeners."""
        await super().start(session)
        self._values = ResponseLearner(session, self._recording, self._playback.rule_use, self._learner)
        if self.sockets is not None:
            self.sockets.listeners.append(self._messages)
            names = self.sockets.recorded_names
            if names is not None and session.environment.clock == "natural" and has_moments(self._recording):
                self._pace = LivePace(session, self._recording, names, self._is_telemetry_exchange, self._deadlines_ms)
                self.sockets.set_pace(self._pace)
        session.context.on("console", self._withheld.note)
        session.context.on("request", lambda request: self._on_request(session, request))
        session.context.on("requestfinished", lambda request: self._on_end(session, request))
        session.context.on("requestfailed", lambda request: self._on_end(session, request))
        session.stabilizer.pending_work.append(lambda: len(self._tasks))

    async def stop(self) -> None:
        """Cancel pending comparisons."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._pace is not None:
            await self._pace.stop()
        await super().stop()

    def recorded_key(self, request: Request) -> str | None:
        """Return the key of the recorded request that a live one matches; rules may make them differ."""
        return self._keys.get(request)

    def is_telemetry(self, request: Request) -> bool:
        """Whether a rule says that a request only reports."""
        if self._session is None:
            return False
        key = request_key(request.method, self._session.redactor.redact_text(request.url), None, None)
        return find_telemetry_rule(key, self._playback.rule_use.rules) is not None

    def _is_telemetry_exchange(self, exchange: Exchange) -> bool:
        return find_telemetry_rule(exchange.key, self._playback.rule_use.rules) is not None

    def socket_names(self) -> RecordedSocketNames:
        """Use the recording's names for sockets."""
        return RecordedSocketNames(self._recording, SocketRules(self._playback.rule_use, self._learner))

    def outcome(self) -> NetworkOutcome:
        """Add the differences from the recording."""
        self._compare_messages()
        notes = (*self._warnings, *self._changed.notes())
        live = super().outcome()
        return live.model_copy(
            update={
                "unused": tuple(exchange.key for exchange in self._playback.unused() if not exchange.is_pending),
                "unmatched": tuple(miss.key for miss in self._playback.misses),
                "changed_requests": tuple(
                    miss.to_network_miss() for miss in self._playback.misses if miss.nearest is not None
                ),
                "response_changes": self._changed.changes,
                "rules_applied": self._playback.rule_use.to_outcome(),
                "notes": (*live.notes, *notes, *self._playback.rule_use.notes()),
            }
        )

    def later_values(self) -> frozenset[tuple[str, str]]:
        """Return recorded texts, with those in their places in the responses to later polls than the recording has."""
        return frozenset(self._later_values)

    def missing_messages(self) -> tuple[ResponseChange, ...]:
        """Return the messages that the server had sent by now in the recording, and has not sent yet."""
        if self._session is None:
            return ()
        self._compare_messages()
        timeline = self._session.timeline
        sockets = self._messages.compared.values()
        return tuple(each for one in sockets for each in one.missing(timeline.observed_phase, timeline.used_ms))

    def _compare_messages(self) -> None:
        """Compare what the server sent on sockets that are paired with recorded ones by now."""
        if self.sockets is None or self.sockets.recorded_names is None:
            return
        redact = self.sockets.session.redactor.redact_bytes
        names = self.sockets.recorded_names
        for socket in self._messages.urls:
            opened = names.recorded_socket(socket)
            if opened is None:
                continue
            self._learn_from_messages(socket)
            if socket not in self._messages.compared:
                recorded = self._recorded_sockets.messages(opened, names.heartbeat(opened))
                self._messages.compared[socket] = ComparedMessages(recorded)
            compared = self._messages.compared[socket]
            compared.add(
                [redact(each) for each in self._messages.received[socket][len(compared.live) :]], self._changed
            )

    def _learn_from_messages(self, socket: int) -> None:
        """Learn the tokens in the messages of a socket from the recorded ones, once it is paired with a recorded one.

        The first messages may come before that: a drawn value in the URL of the socket may not be learned yet.
        """
        if self._session is None or self.sockets is None or self.sockets.recorded_names is None:
            return
        redactor, names = self._session.redactor, self.sockets.recorded_names
        for earlier, url in self._messages.urls.items() if names.recorded_socket(socket) is None else ():
            if earlier <= socket:
                names.key_of_opened(earlier, redactor.redact_text(url))  # in this order
        opened = names.recorded_socket(socket)
        if opened is None or self._values is None:
            return
        heartbeat, received = names.heartbeat(opened), self._messages.received[socket]
        contents = self._recorded_sockets.messages(opened, heartbeat).contents
        while (number := self._read[socket]) < len(received):
            if heartbeat is not None and heartbeat.is_sent_in(received[number]):
                del received[number]
                continue
            if number < len(contents) and contents[number] != received[number]:
                urls = opened.url, self._messages.urls[socket]
                self._values.learn_message(urls, contents[number], received[number])
            self._read[socket] += 1

    def _on_request(self, session: Session, request: Request) -> None:
        if request.redirected_from is not None or request.url.startswith(NON_NETWORK_SCHEMES):
            return
        if session.timeline.since_cause_ms <= EFFECT_MS:
            self._effects.add(request)
        self._match(request, RedactedRequest.of(session, request))

    def _match(self, request: Request, redacted: RedactedRequest) -> None:
        match = redacted.match(self._playback)
        if not isinstance(match, Hit):
            poll = self._continued_poll(request, redacted, match)
            if poll is None:
                self._missed[request] = redacted, match
            else:
                self._keys[request], self._continued[request] = poll.key, poll
            return
        self._keys[request] = match.key
        if self._pace is not None:
            self._pace.expect_response(request, match.exchange)
        if request not in self._effects:
            self._spontaneous.add(match.exchange.ordinal)
        if match.exchange.ordinal in self._stood_in:
            self._stood_in.remove(match.exchange.ordinal)
            self._changed.retract(match.exchange.key, match.exchange.occurrence)
        if not match.exchange.is_pending and find_telemetry_rule(match.key, self._playback.rule_use.rules) is None:
            self._matched[request] = match.exchange

    async def _forward(self, route: Route) -> None:
        """Let a request through when its page got the recorded response, in the order of these."""
        pace = self._pace
        if pace is None:
            await super()._forward(route)
            return
        async with pace.response_turn(route.request, is_background=self.is_timer_driven(route.request)) as early:
            if early is None:
                await super()._forward(route)
            else:
                await self._fetch(route, pace, early)

    async def _fetch(self, route: Route, pace: LivePace, early: HeldRequest) -> None:
        """Send a request before its turn, and keep the response until then."""
        from playwright.async_api import Error

        await self._wait_for_holds(route.request)
        self._served += 1
        try:
            response = await route.fetch(max_redirects=0, timeout=0)
            async with pace.answer_turn(early):
                await route.fulfill(response=response)
        except Error:  # the page or the request is gone, or the server did not answer
            self._served -= 1
            with suppress(Error):
                await route.abort()

    def _continued_poll(self, request: Request, redacted: RedactedRequest, miss: Miss) -> Exchange | None:
        """Return the last recorded poll of the series that a request continues, if a timer sent it.

        A single one is a poll if no action can be the cause of it, or of this request, or if a sealed replay repeated
        it when the baselines were stored.
        """
        if self._session is None or not self.is_timer_driven(request):
            return None
        sent = canonical_request(redacted.method, redacted.url, redacted.body, redacted.content_type)
        return self._playback.continued_poll(
            miss,
            sent,
            self._session.timeline.recorded_ms,
            may_follow=lambda single: (
                request not in self._effects or single.ordinal in self._spontaneous or single.key in self._repeated_keys
            ),
        )

    def _match_again(self, session: Session, request: Request) -> None:
        """Match a request once more if a value in it has been learned since: from a response that was still read.

        What has the place of a token in the recorded request to the same resource is that token if no response had it:
        the page may have it from a redirect or an open event stream. A rule is learned only for a request that differs
        in something else.
        """
        before, miss = self._missed[request]
        redacted = RedactedRequest.of(session, request)
        recorded = _changed_exchange(miss)
        if redacted == before and recorded is not None:
            session.redactor.stand_ins.learn_unknown(self._request_text(recorded), _text_of(redacted))
            redacted = RedactedRequest.of(session, request)
        if redacted == before and self._learner is None:
            return
        del self._missed[request]
        self._playback.retract(miss)
        self._playback.learner = self._learner
        self._match(request, redacted)
        self._playback.learner = None

    def _request_text(self, recorded: Exchange) -> str:
        """Return URL and body of a recorded request, as `_text_of` does for a live one."""
        body = None if recorded.request.body is None else self._recording.body(recorded.request.body)
        return _join_request(recorded.request.url, body)

    def _on_end(self, session: Session, request: Request) -> None:
        root = first_request(request)
        withheld = self._withheld.pop(root) if request.failure is not None else None
        if root not in self._matched and root not in self._missed and root not in self._continued:
            return
        task = asyncio.ensure_future(self._compare(session, root, request, withheld, earlier=frozenset(self._tasks)))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._on_compared(session, done))

    def _on_compared(self, session: Session, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        session.tracker.changed.set()
        fault = None if task.cancelled() else task.exception()
        if isinstance(fault, EikonError):
            session.tracker.fail(fault)
        elif fault is not None:
            self._warnings.append(f"could not compare a response with the recorded one: {fault}")

    async def _compare(
        self,
        session: Session,
        root: Request,
        last: Request,
        withheld: str | None,
        earlier: frozenset[asyncio.Task[None]],
    ) -> None:
        if root in self._missed:
            await asyncio.gather(*earlier, return_exceptions=True)
            self._match_again(session, root)
        dropped = dropped_response(last)
        response = dropped if last.failure is not None else await last.response()
        if last.redirected_to is not None:
            return  # a redirect: the request that it led to ends the exchange
        poll = self._continued.pop(root, None)
        exchange = self._matched.pop(root, poll)
        is_changed = exchange is None and root in self._missed
        if is_changed:
            exchange = _changed_exchange(self._missed[root][1])
        if exchange is None or exchange.is_pending:
            return
        failure = None if response is not None else last.failure or "net::ERR_EMPTY_RESPONSE"
        answer = await self._live_response(session, response, exchange) if response is not None else None
        followed = () if last.failure is None else (*_redirect_urls(root), *((withheld,) if withheld else ()))
        end = RequestEnd(
            response=answer,
            failure=failure,
            redirects=tuple(dict.fromkeys(map(session.redactor.redact_text, followed))),
            is_withheld=withheld is not None,
            is_redirected=last is not root,
        )
        values = self._changed.differences(exchange, end)
        if poll is not None:
            values, later = self._changed.without_later(self._playback.alike(poll), values)
            self._later_values |= later
        if is_changed:
            if self._playback.has_served(exchange) or not any(each.part in ENDING_PARTS for each in values):
                return  # an extra request, or another one, which may get another response
            self._stood_in.add(exchange.ordinal)
        if session.urls.changes_paths:
            values = tuple(each for each in values if session.urls.to_old_path(each.live, last.url) != each.recorded)
        sent = _sent_request(session, exchange, last)
        self._changed.record(exchange.key, exchange.occurrence, values, exchange.request.resource_type, sent)

    async def _live_response(self, session: Session, response: Response, exchange: Exchange) -> ComparedResponse:
        pairs = [(pair["name"].lower(), pair["value"]) for pair in await response.headers_array()]
        if self._values is not None:
            self._values.learn_head(exchange, response.url, pairs)
        body = await self._body(session, response, exchange)
        redact = session.redactor.redact_text
        return ComparedResponse(
            url=redact(response.url),
            status=response.status,
            headers=tuple((name, redact(value)) for name, value in pairs),
            body=body,
        )

    async def _body(self, session: Session, response: Response, exchange: Exchange) -> bytes | None:
        """Return the redacted body if there is a recorded one, and learn the tokens in it; of errors, always the body.

        An error says what went wrong even where the recorded response had no body.
        """
        from playwright.async_api import Error

        recorded_body = None if exchange.response is None else exchange.response.body
        is_error = exchange.response is not None and response.status >= FIRST_ERROR_STATUS
        if (recorded_body is None and not is_error) or dropped_response(response.request):
            return None
        redirect = HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST
        if redirect or response.status in NULL_BODY_STATUSES or response.request.method == "HEAD":
            return None
        try:
            body = await response.body()
        except Error as error:
            url = session.redactor.redact_text(response.url)
            self._warnings.append(f"could not compare the body of {url}: {error.message.splitlines()[0]}")
            return None
        if exchange.response is not None and recorded_body is not None:
            if hashlib.sha256(body).hexdigest() == recorded_body.sha256:
                return body
            if self._values is not None:
                self._values.learn_body(exchange, response.url, body)
        return redact_body(session, body, response.headers.get("content-type", ""))


def _sent_request(session: Session, recorded: Exchange, request: Request) -> str:
    """Return the method and URL of a live request as its server has them; empty if they are those of the recording.

    That is the last one of its redirects, which got the response.
    A part of the path that has a stand-in in the recording stays so, and there is no query: both may have secrets.
    """
    known = session.redactor.stand_ins
    now = urlsplit(session.redactor.with_stand_ins(known.unlearned()).redact_text(request.url))
    first = urlsplit(recorded.request.url)
    before = first if recorded.response is None else urlsplit(recorded.response.url)
    if now[:3] in {first[:3], before[:3]}:  # it may have been redirected only then, or only now
        return ""
    paths = before.path.split("/"), now.path.split("/")
    if len(paths[0]) != len(paths[1]):
        return ""
    path = "/".join(old if known.is_recorded_in(old) else new for old, new in zip(*paths, strict=True))
    is_recorded = (*now[:2], path) == before[:3]
    return "" if is_recorded else f"{request.method} {now.scheme}://{now.netloc}{path}"


def _text_of(request: RedactedRequest) -> str:
    return _join_request(request.url, request.body)


def _join_request(url: str, body: bytes | None) -> str:
    return f"{url}\n{comparable_text(unpack_body(body) or b'')}"


def _changed_exchange(miss: Miss) -> Exchange | None:
    """Return the recorded exchange whose request was sent with other values, if there is one."""
    if miss.nearest is None or not miss.to_network_miss().is_same_resource:
        return None
    return miss.nearest.exchange
