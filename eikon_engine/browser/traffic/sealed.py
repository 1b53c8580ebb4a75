"""Serve every request of a session from a recording, and nothing from anywhere else."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag

from eikon_engine.browser.frames import frame_of, is_main_document
from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.page_tracker import BackgroundTasks, UninstrumentedWorkers
from eikon_engine.browser.playwright_errors import ABORT_CODES
from eikon_engine.browser.traffic.live import REDIRECT_DOCUMENT_HEADER
from eikon_engine.browser.traffic.recorded_responses import (
    COOKIE_HEADERS,
    REDIRECTED_HEADER,
    STREAM_HEADER,
    cors_denial,
    cors_denial_headers,
    delivery_moments,
    delivery_orders,
    detour_of,
    redirect_cookies,
    redirect_document,
    served_headers,
    stream_body,
    was_blocked_by_cors,
    with_engine_header,
    with_relative_lifetimes,
)
from eikon_engine.browser.traffic.response_changes import RecordingComparison, RedactedRequest
from eikon_engine.browser.traffic.schedule import DeliverySchedule
from eikon_engine.browser.traffic.socket_replay import SocketReplay, SocketRules
from eikon_engine.errors import InternalError
from eikon_engine.files.text import pluralize
from eikon_engine.network.exchange import FETCH_TYPES
from eikon_engine.network.keys import canonical_url, request_key
from eikon_engine.network.long_polls import find_long_polls, find_poll_loops, was_deferred
from eikon_engine.network.matching import Hit, Playback
from eikon_engine.network.rules import find_telemetry_rule
from eikon_engine.network.unsent import SentRequests, Unsent, find_unsent_requests, has_moments
from eikon_engine.outcome.outcomes import NetworkMiss, NetworkOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from playwright.async_api import Frame, Request, Route

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.live_responses import LiveResponder
    from eikon_engine.network.exchange import Exchange, HeaderPairs, Moment, RecordedResponse
    from eikon_engine.network.matching import Match
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.rules import VolatileRule


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RedirectContinuation:
    """A redirect from the requested document to the one that was served."""

    exchange: Exchange
    frame: Frame | None
    """The frame that we navigate; None if a document of ours at `source` redirects."""
    source: str
    target: str

    def is_started_by(self, request: Request) -> bool:
        """Whether a navigation is the one that completes this redirect."""
        if urldefrag(request.url).url != urldefrag(self.target).url:
            return False
        frame = frame_of(request)
        if self.frame is not None:
            return frame is self.frame
        return frame is not None and urldefrag(frame.url).url == urldefrag(self.source).url


class RedirectContinuations:
    """Redirects to complete, each once."""

    def __init__(self) -> None:
        """Start without any."""
        self._pending: list[RedirectContinuation] = []

    def pending_count(self) -> int:
        """Count our own navigations whose request has not arrived yet."""
        return sum(each.frame is not None for each in self._pending)

    def add(self, continuation: RedirectContinuation) -> None:
        """Expect one more."""
        self._pending.append(continuation)

    def take(self, request: Request) -> Exchange | None:
        """Return the exchange that a navigation completes; None if the page navigates by itself."""
        found = next((each for each in self._pending if each.is_started_by(request)), None)
        if found is None:
            return None
        self._pending.remove(found)
        return found.exchange

    def drop(self, continuation: RedirectContinuation) -> None:
        """Stop expecting one."""
        if continuation in self._pending:
            self._pending.remove(continuation)


def redirect_target(exchange: Exchange, requested: str = "") -> str:
    """Return where the redirects of a `requested` URL led, with the fragment that the browser shows.

    A `Location` without a fragment keeps the previous one: https://fetch.spec.whatwg.org/#http-redirect-fetch.
    """
    url = exchange.response.url if exchange.response is not None else ""
    if "#" in url:
        return url
    for hop in reversed(exchange.hops):
        location = next((value for name, value in hop.headers if name.lower() == "location"), "")
        _, mark, fragment = location.partition("#")
        if mark:
            return f"{url}#{fragment}"
    _, mark, fragment = requested.partition("#")
    return f"{url}{mark}{fragment}"


async def _requested_fragment(frame: Frame, url: str) -> str:
    """Return the fragment, with its mark, of the URL that a document of a frame navigated to; Playwright omits it.

    Top-level documents answer only when the navigation is over.
    """
    from playwright.async_api import Error

    destination = ""
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(RECEIVED_S):
            destination = await frame.evaluate("window.__eikon__?.destination ?? ''")
    _, mark, fragment = destination.partition("#")
    return f"{mark}{fragment}" if canonical_url(destination) == canonical_url(url) else ""


def is_same_document(frame: Frame, target: str) -> bool:
    """Whether navigating a frame would only scroll its document, because the URL differs only in its fragment."""
    return "#" in target and urldefrag(frame.url).url == urldefrag(target).url


@dataclass(slots=True, kw_only=True)
class OnDemandDeliveries:
    """Deliveries since responses are served on request; grows as the session continues.

    Orders refer to `recording`, whose moments are those that the session started with.
    """

    recording: NetworkRecording
    scheduled_orders: frozenset[int]
    """Orders that have a delivery of their own; any other order belongs to the one before it."""
    delivered_before: frozenset[int]
    """Orders that were delivered at their recorded moments, before the switch."""
    moments: dict[int, Moment] = field(default_factory=dict)
    """Moments of the deliveries since the switch, by order."""
    unanswered: set[int] = field(default_factory=set)
    """Ordinals of exchanges requested since the switch that have no recorded response."""

    def add(self, exchange: Exchange) -> None:
        """Add an exchange with the live site."""
        self.recording = replace(self.recording, exchanges=(*self.recording.exchanges, exchange))
        self.scheduled_orders |= frozenset(() if exchange.moment is None else (exchange.moment.order,))


MAX_REPEATS_AT_ONCE: Final = 10
"""How often one key is repeated at one page time: a page that asks again at once would never be idle."""
RECEIVED_S: Final = 1.0
"""Wall time after which a fulfilled response counts as received by the page."""
NO_CONTENT: Final = 204
OK: Final = 200


class SealedTraffic:
    """Serve recorded exchanges by key and occurrence, at their recorded moments; block everything else."""

    def __init__(
        self,
        recording: NetworkRecording,
        rules: tuple[VolatileRule, ...] = (),
        original: NetworkRecording | None = None,
        on_delivery: Callable[[int, Moment], None] | None = None,
        failures: Sequence[int] = (),
        learner: RuleLearner | None = None,
    ) -> None:
        """Serve from `recording`; `rules` name the parts of requests that change from run to run.

        If `recording` replaces that of the bundle, its responses are compared with `original`. If `on_delivery` is set,
        it is called with each delivery, and responses are served on request instead of at their recorded moments,
        except those recorded after `failures`: see `DeliverySchedule`. A `learner` learns rules for requests that are
        not recorded, and is notified of those that remain.
        """
        self._learner = learner
        self._on_delivery = on_delivery
        self._failed_actions = failures
        self._recording = recording
        self._long_polls = find_long_polls(recording.exchanges)
        self._requested: set[int] = set()
        """Ordinals of the exchanges that pages requested."""
        self._telemetry: frozenset[int] = frozenset()
        """Ordinals of exchanges that rules do not compare; known when the session starts."""
        self._scheduled = set(find_poll_loops(recording.as_recorded.exchanges))
        """Ordinals of polls, which are served at their moments even while other responses are served on request."""
        self._deferred = frozenset(
            each.ordinal
            for each in recording.as_recorded.exchanges
            if each.request.resource_type in FETCH_TYPES and was_deferred(each)
        )
        self._timer_driven: set[Request] = set()
        """Requests that a timer caused, directly or by another request."""
        self._sent_ms: dict[int, float] = {}
        """When each exchange was last requested, by ordinal; see `SentRequests.sent_ms`."""
        self._sent_by_timer: set[int] = set()
        self._repeats: Counter[str] = Counter()
        """Requests beyond those recorded, by key."""
        self._repeats_by_time: Counter[tuple[str, int]] = Counter()
        """As above, by key and page time."""
        self._playback = Playback(recording.exchanges, read_body=recording.body, rules=rules, learner=learner)
        self._response_comparison = RecordingComparison(original, recording, rules) if original is not None else None
        self._recorded_keys: dict[Request, str] = {}
        self._continuations = RedirectContinuations()
        self._continued: dict[Request, Exchange] = {}
        self._unanswered: list[Route] = []
        """Routes of requests that get no response, as in the recording or because the replay has ended."""
        self._ended_routes: list[asyncio.Future[None]] = []
        self._misses: list[NetworkMiss] = []
        """Misses of requests and sockets, in order."""
        self._notes: list[str] = [recording.truncation] if recording.truncation else []
        self._uninstrumented_workers = UninstrumentedWorkers()
        self._running: _ServedSession | None = None
        self._on_demand: OnDemandDeliveries | None = None
        self._live_responder: LiveResponder | None = None
        self._live_responders: tuple[LiveResponder, ...] = ()
        """Every live responder of this session; the last one may be active."""

    @property
    def recording(self) -> NetworkRecording:
        """The recording that is served."""
        return self._recording

    def set_live_responder(self, responder: LiveResponder | None) -> None:
        """Send requests to the live site from now on; None blocks again whatever is not recorded."""
        self._live_responder = responder
        if responder is None:
            return
        self._live_responders = (*(each for each in self._live_responders if each is not responder), responder)
        if responder.sends_every_request:
            self._started.session.is_live_now = True
            self._started.schedule.queue.stop_expecting(delivery_orders(self._recording.exchanges))

    async def start(self, session: Session) -> None:
        """Set up the routes."""
        moments = delivery_moments(self._recording)
        schedule = DeliverySchedule(
            session.stabilizer, session.tracker, moments, self._on_delivery, self._failed_actions
        )
        if self._on_delivery is not None:
            session.stabilizer.settles_after_action = max(self._failed_actions, default=-1) + 1
        rules = SocketRules(self._playback.rule_use, self._learner)
        on_opened = self._response_comparison.compare_socket if self._response_comparison is not None else None
        sockets = SocketReplay(session, schedule, self._recording, rules, self._misses, on_opened)
        self._running = _ServedSession(session, schedule, sockets, BackgroundTasks(session.tracker))
        self._uninstrumented_workers.listen(session)
        session.stabilizer.pending_deliveries = schedule.queue
        session.stabilizer.pending_work.append(self._continuations.pending_count)
        session.context.on("close", lambda _context: self._on_context_closed())
        telemetry = [each for each in self._recording.exchanges if self._is_telemetry_key(each.key)]
        self._telemetry = frozenset(each.ordinal for each in telemetry)
        schedule.queue.stop_expecting(delivery_orders(telemetry))
        session.cookies.keep_until_change()
        await session.context.route("**/*", self._serve)
        await session.context.route_web_socket(lambda _url: True, sockets.play)
        await session.context.add_init_script(load_script("init_sockets.js"))

    async def stop(self) -> None:
        """Cancel pending deliveries."""
        if self._running is not None:
            await self._running.sockets.stop()
            await self._running.schedule.stop()
            await self._running.background.stop()

    async def deliver_on_demand(self) -> OnDemandDeliveries:
        """Serve responses on request from now on, because the mission departs from its recording.

        Returns once the pages have what they had requested. Idempotent: later calls return the same object.
        """
        if self._on_demand is None:
            stabilizer, schedule = self._started.session.stabilizer, self._started.schedule
            self._on_demand = OnDemandDeliveries(
                recording=self._recording,
                scheduled_orders=frozenset(moment.order for moment in delivery_moments(self._recording)),
                delivered_before=frozenset(schedule.queue.delivered),
            )
            self._on_delivery = self._on_demand.moments.__setitem__
            schedule.deliver_on_demand(self._on_delivery)
            stabilizer.settles_after_action = stabilizer.timeline.phase // stabilizer.timeline.phase_after(1)
            await stabilizer.wait_until_idle()
        return self._on_demand

    def is_continuation(self, request: Request) -> bool:
        """Whether a request is our own navigation to the target of a recorded redirect."""
        return request in self._continued

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the recorded redirects that our own navigation replaces."""
        exchange = self._continued.get(request)
        return tuple((hop.url, hop.status) for hop in exchange.hops) if exchange is not None else ()

    def is_timer_driven(self, request: Request) -> bool:
        """Whether a timer caused a request, directly or by another request."""
        return request in self._timer_driven

    def is_telemetry(self, request: Request) -> bool:
        """Whether a rule says that a request only reports."""
        url = self._started.session.redactor.redact_text(request.url)
        return self._is_telemetry_key(request_key(request.method, url, None, None))

    def recorded_key(self, request: Request) -> str | None:
        """Return the key of the recorded exchange that answers a request; rules may make the two keys differ."""
        return self._recorded_keys.get(request)

    def outcome(self) -> NetworkOutcome:
        """Summarize hits, misses and recorded requests that no page sent."""
        sockets = self._started.sockets
        late = self._started.schedule.queue.late_count
        notes = [*self._notes, *self._uninstrumented_workers.notes()]
        if late:
            what = f"{late} recorded responses and messages"
            notes.append(f"schedule: {what} were delivered at a different time than in the recording")
        notes += (
            f"{key} was requested {pluralize(count, 'more time')} than recorded, by a timer; "
            "it got the last recorded response"
            for key, count in self._repeats.items()
        )
        notes += (
            f"{url}: the page sent {pluralize(count, 'more heartbeat')} than recorded"
            for url, count in sockets.heartbeats.items()
        )
        network_outcome = NetworkOutcome(
            served=len(self._playback.hits) + sockets.served,
            misses=tuple(self._misses),
            unused=(
                *(exchange.key for exchange in self._playback.unused() if not exchange.is_pending),
                *sockets.unused(),
            ),
            repeats=self._repeats.total() + sockets.heartbeats.total(),
            rules_applied=self._playback.rule_use.to_outcome(),
            response_changes=self._response_comparison.changes.changes if self._response_comparison is not None else (),
            notes=(*notes, *self._playback.rule_use.notes()),
        )
        for live in self._live_responders:
            network_outcome = live.add_to_outcome(network_outcome)
        return network_outcome

    def unsent(self) -> tuple[Unsent, ...]:
        """Return what pages sent in the recording and not by now; nothing if the recording has no moments."""
        recording = self._recording.as_recorded
        if not has_moments(recording):
            return ()
        end_ms = self._started.session.timeline.recorded_ms
        unused = (each for each in self._playback.unused() if not self._is_telemetry_key(each.key))
        sent = SentRequests(end_ms=end_ms, sent_ms=self._sent_ms, by_timer=frozenset(self._sent_by_timer))
        return (
            *find_unsent_requests(recording, unused, self._playback.alike, sent),
            *self._started.sockets.unsent(recording.sockets, end_ms),
        )

    async def _serve(self, route: Route) -> None:
        """Serve a request; a failure ends the session and aborts the request."""
        serving = self._started.background.start(self._serve_from_match(route))
        await asyncio.wait({serving})
        if serving.cancelled():
            self._unanswered.append(route)
        elif serving.exception() is not None:
            await self._abort(route, "failed")

    async def _serve_from_match(self, route: Route) -> None:
        """Look a request up in the recording, and serve the match."""
        request = route.request
        session = self._started.session
        exchange = self._continuations.take(request) if request.is_navigation_request() else None
        if exchange is not None:
            self._continued[request] = exchange
            await self._serve_in_turn(route, exchange)
            return
        redacted = RedactedRequest.of(session, request)
        match = redacted.match(self._playback, self._timer_ms(request))
        if self._live_responder is not None and (
            self._live_responder.sends_every_request or not isinstance(match, Hit)
        ):
            await self._serve_live(route, self._live_responder, match)
            return
        if not isinstance(match, Hit):
            await self._block(route, match.to_network_miss())
            return
        self._sent_ms[match.exchange.ordinal] = session.timeline.recorded_ms
        if request in self._timer_driven:
            self._sent_by_timer.add(match.exchange.ordinal)
        if self._is_telemetry_key(match.key):
            await self._serve_telemetry(route, match)
            return
        if match.is_repeat:
            await self._serve_repeat(route, match)
            return
        if self._response_comparison is not None:
            self._response_comparison.compare(redacted, match.exchange)
        if match.has_predecessor and request in self._timer_driven and self._on_demand is None:
            self._scheduled.add(match.exchange.ordinal)
        if match.skipped:
            self._started.schedule.queue.stop_expecting(delivery_orders(match.skipped))
        await self._serve_recorded(route, match)

    def _timer_ms(self, request: Request) -> float | None:
        """Return the page time, in the recorded timeline, of a request that a timer caused; None for any other."""
        timeline = self._started.session.timeline
        if not timeline.is_timer_driven:
            return None
        self._timer_driven.add(request)
        is_departed = self._live_responder is not None or self._on_demand is not None
        return None if is_departed else timeline.recorded_ms

    async def _serve_repeat(self, route: Route, match: Hit) -> None:
        """Serve the last response again; what the server deferred, or had not sent by now, stays unanswered."""
        request, exchange, timeline = route.request, match.exchange, self._started.session.timeline
        self._recorded_keys[request] = match.key
        self._repeats[match.key] += 1
        self._repeats_by_time[match.key, round(timeline.now_ms)] += 1
        moment = exchange.moment
        if (
            moment is None
            or moment.at_ms > timeline.recorded_ms
            or request.resource_type == "eventsource"
            or exchange.ordinal in self._deferred
            or self._repeats_by_time[match.key, round(timeline.now_ms)] > MAX_REPEATS_AT_ONCE
        ):
            self._leave_unanswered(route)
            return
        await self._deliver(route, _without_moment(exchange))

    def _is_telemetry_key(self, key: str) -> bool:
        return find_telemetry_rule(key, self._playback.rule_use.rules) is not None

    async def _serve_telemetry(self, route: Route, match: Hit) -> None:
        """Serve a recorded response at once, since telemetry is sent at any moment."""
        self._recorded_keys[route.request] = match.key
        alike = (match.exchange, *self._playback.alike(match.exchange))
        answered = next((each for each in alike if each.response is not None and not each.response.body_missing), None)
        if answered is None:
            await self._serve_recorded(route, match)
            return
        self._note_requested(match.exchange)
        self._started.schedule.queue.stop_expecting(delivery_orders((match.exchange,)))
        await self._deliver(route, _without_moment(answered))

    async def _serve_recorded(self, route: Route, match: Hit) -> None:
        """Serve the recorded response, or leave the request pending if it never got one."""
        request = route.request
        self._recorded_keys[request] = match.key
        self._note_requested(match.exchange)
        is_never_answered = match.exchange.is_cancelled and not is_main_document(request)
        if match.exchange.is_pending or (self._on_delivery is not None and is_never_answered):
            if self._on_demand is not None:
                self._on_demand.unanswered.add(match.exchange.ordinal)
            self._leave_unanswered(route)
        else:
            await self._deliver(route, match.exchange)

    async def _serve_live(self, route: Route, live: LiveResponder, match: Match) -> None:
        """Serve the live site's response as if it had been recorded."""
        refusal = live.refusal_reason(route.request)
        if refusal is not None and isinstance(match, Hit):
            await self._serve_recorded(route, match)
            return
        if refusal is not None:
            await self._block(route, NetworkMiss(key=match.key, reason=refusal))
            return
        if isinstance(match, Hit):
            self._recorded_keys[route.request] = match.key
            self._note_requested(match.exchange)
        exchange = await live.respond(self._started.session, route.request, match)
        if self._on_demand is not None:
            self._on_demand.add(exchange)
        await self._deliver(route, exchange)

    async def _block(self, route: Route, miss: NetworkMiss) -> None:
        self._misses.append(miss)
        if self._learner is not None:
            self._learner.note_miss(miss)
        await self._abort(route, "blockedbyclient")

    async def _deliver(self, route: Route, exchange: Exchange) -> None:
        is_document = route.request.is_navigation_request()
        if exchange.hops and is_document and exchange.response is not None:
            await self._redirect(route, exchange)
        else:
            await self._serve_in_turn(route, exchange)

    def _note_requested(self, exchange: Exchange) -> None:
        """Note a request that a long poll may have waited for."""
        self._requested.add(exchange.ordinal)
        self._started.schedule.queue.wake()

    def _has_cause(self, exchange: Exchange) -> bool:
        """Whether a response may be served on request: everything was requested that the server waited for."""
        if self._on_demand is None and exchange.ordinal in self._scheduled:
            return False
        causes = self._long_polls.get(exchange.ordinal, frozenset()) - self._telemetry
        return causes <= self._requested

    async def _serve_in_turn(self, route: Route, exchange: Exchange) -> None:
        """Deliver an exchange when its turn comes."""
        moment = exchange.pieces[0].moment if exchange.pieces else exchange.moment
        at_once = is_main_document(route.request)
        is_poll = exchange.ordinal in self._scheduled
        async with self._started.schedule.in_turn(
            moment,
            route.request,
            is_immediate=at_once,
            is_background=is_poll or exchange.ordinal in self._deferred or route.request in self._timer_driven,
            has_cause=lambda: self._has_cause(exchange),
        ):
            self._started.session.timeline.is_timer_driven = is_poll or route.request in self._timer_driven
            response = exchange.response
            if response is None and was_blocked_by_cors(exchange):
                await self._fulfill(route, OK, cors_denial(exchange), b"")
            elif response is None:
                await self._abort(route, ABORT_CODES.get(exchange.failure or "", "failed"))
            elif response.body_missing is not None:
                self._notes.append(f"{exchange.key}: the recording has no body ({response.body_missing})")
                await self._abort(route, "failed")
            else:
                await self._fulfill_response(route, exchange, response)
                await self._wait_until_received(route.request)

    async def _fulfill_response(self, route: Route, exchange: Exchange, response: RecordedResponse) -> None:
        hops = () if exchange.request.is_navigation else exchange.hops
        cookies = redirect_cookies(exchange, self._now_s) if hops else ()
        headers: HeaderPairs = (
            *cookies,
            *with_relative_lifetimes(response.headers, self._now_s),
            *cors_denial_headers(exchange, response),
        )
        if hops and route.request.resource_type in FETCH_TYPES:
            target = self._started.session.restore_secrets(response.url.encode()).decode()
            headers = with_engine_header(headers, REDIRECTED_HEADER, target)
        if not exchange.pieces or route.request.resource_type != "fetch":
            await self._fulfill(route, response.status, headers, self._body(exchange, response))
            return
        headers = with_engine_header(headers, STREAM_HEADER, str(exchange.ordinal))
        await self._fulfill(route, response.status, headers, b"")
        body = self._body(exchange, response) if response.body is not None else b""
        self._started.background.start(stream_body(self._started.schedule, route.request, exchange, body))

    async def _wait_until_received(self, request: Request) -> None:
        """Wait until a page has its response: two in transit at once could overtake each other."""
        if is_main_document(request):
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(RECEIVED_S):
                await self._started.session.tracker.requests.wait_until_ended(request)

    async def _redirect(self, route: Route, exchange: Exchange) -> None:
        """Serve a redirected document: set the cookies, then navigate to the redirect's target.

        A fulfilled redirect would send the browser past our routes, to the network.
        """
        session = self._started.session
        request = route.request
        is_asked = canonical_url(session.requested_url) == canonical_url(request.url)
        requested = session.requested_url if is_asked else request.url
        target = session.restore_secrets(redirect_target(exchange, requested).encode()).decode()
        frame = frame_of(request)
        if frame is not None and is_same_document(frame, target):
            frame = None
        session.redirects_served += 1
        detour = detour_of(request.url, target) if frame is None else None
        source = detour or request.url
        continuation = RedirectContinuation(exchange=exchange, frame=frame, source=source, target=target)
        self._continuations.add(continuation)
        cookies = tuple(redirect_cookies(exchange, self._now_s))
        if frame is None:
            # A popup is no page before its first document, and a URL that differs only in its fragment does not load a
            # document again: a document of ours redirects instead, and is not observed.
            headers = (*cookies, ("content-type", "text/html"), (REDIRECT_DOCUMENT_HEADER, "1"))
            await self._fulfill(route, OK, headers, redirect_document(target, detour))
            return
        await self._fulfill(route, NO_CONTENT, cookies, b"")
        self._started.background.start(self._navigate(request, frame, continuation))

    async def _navigate(self, request: Request, frame: Frame, continuation: RedirectContinuation) -> None:
        from playwright.async_api import Error

        target = continuation.target
        if "#" not in target and not self._started.session.requested_url:
            fragment = await _requested_fragment(frame, request.url)
            if not is_same_document(frame, f"{target}{fragment}"):  # which would not load again
                target += fragment
        try:
            await frame.goto(target, wait_until="commit", referer=request.headers.get("referer"))
        except Error as error:
            if "ERR_ABORTED" not in error.message and "Download is starting" not in error.message:
                self._notes.append(f"could not follow the redirect to {target}: {error.message.splitlines()[0]}")
        finally:
            self._continuations.drop(continuation)
            self._started.session.tracker.changed.set()

    def _leave_unanswered(self, route: Route) -> None:
        self._unanswered.append(route)
        self._started.schedule.queue.mark_never_answered(route.request)
        self._started.session.tracker.changed.set()

    def _on_context_closed(self) -> None:
        """End Playwright's tasks for unanswered requests, of which asyncio would warn when its loop is gone."""
        self._ended_routes.extend(asyncio.ensure_future(_end(route)) for route in self._unanswered)

    async def _fulfill(self, route: Route, status: int, headers: HeaderPairs, body: bytes) -> None:
        from playwright.async_api import Error

        try:
            await route.fulfill(status=status, headers=served_headers(headers, route.request.method), body=body)
        except Error:
            self._started.session.tracker.changed.set()  # the page or the request is gone
        finally:
            if any(name.lower() in COOKIE_HEADERS for name, _ in headers):
                self._started.session.cookies.note_change()

    async def _abort(self, route: Route, code: str) -> None:
        from playwright.async_api import Error

        try:
            await route.abort(code)
        except Error:
            self._started.session.tracker.changed.set()  # as above

    def _body(self, exchange: Exchange, response: RecordedResponse) -> bytes:
        if response.body is None:
            return b""
        bodies = (live.pop_body(exchange) for live in self._live_responders)
        body = next((each for each in bodies if each is not None), None)
        return self._started.session.restore_secrets(self._recording.body(response.body) if body is None else body)

    @property
    def _now_s(self) -> float:
        """Return page time as a Unix timestamp, in seconds."""
        session = self._started.session
        return (session.environment.clock_start_ms + session.timeline.now_ms) / 1000

    @property
    def _started(self) -> _ServedSession:
        if self._running is None:
            message = "sealed traffic was used before start()"
            raise InternalError(message)
        return self._running


def _without_moment(exchange: Exchange) -> Exchange:
    """Return an exchange that is delivered whole, as soon as it is requested."""
    return exchange.model_copy(update={"pieces": (), "completed_ms": None, "completion": None})


async def _end(route: Route) -> None:
    """End a route of a context that is closed."""
    from playwright.async_api import Error

    with suppress(Error):  # it was handled after all
        await route.fallback()


@dataclass(frozen=True, slots=True)
class _ServedSession:
    """The parts that serve one session."""

    session: Session
    schedule: DeliverySchedule
    sockets: SocketReplay
    background: BackgroundTasks
