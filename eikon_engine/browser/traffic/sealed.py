"""Serve every request of a session from a recording, and nothing from anywhere else."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag

from eikon_engine.browser.frames import is_main_document
from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.page_tracker import BackgroundTasks, UninstrumentedWorkers
from eikon_engine.browser.request_keys import RedactedRequest
from eikon_engine.browser.traffic.recorded_responses import delivery_moments, delivery_orders
from eikon_engine.browser.traffic.schedule import DeliverySchedule
from eikon_engine.browser.traffic.sealed_responder import DeliveryCause, SealedResponder
from eikon_engine.browser.traffic.socket_replay import SocketReplay, SocketRules
from eikon_engine.errors import InternalError
from eikon_engine.files.text import pluralize
from eikon_engine.network.exchange import FETCH_TYPES, REUSED_TYPES
from eikon_engine.network.keys import BODY_MARK, request_key
from eikon_engine.network.long_polls import find_long_polls, find_poll_loops, was_deferred
from eikon_engine.network.matching import Hit, Playback
from eikon_engine.network.rules import find_telemetry_rule
from eikon_engine.network.saves import SAVE_METHOD, SentSave
from eikon_engine.network.unsent import SentRequests, Unsent, find_unsent_requests, has_moments
from eikon_engine.outcome.outcomes import NetworkMiss, NetworkOutcome, ResponseChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from playwright.async_api import ConsoleMessage, Request, Route

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.front_end import FrontEndResponder
    from eikon_engine.browser.traffic.live_responses import LiveResponder
    from eikon_engine.browser.traffic.response_changes import RecordingComparison
    from eikon_engine.network.exchange import Exchange, Moment, RecordedResponse
    from eikon_engine.network.matching import Match, RuleUsage
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.rules import VolatileRule


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


TIMER_MARK: Final = "\0eikon-timer:"
"""Begins the console messages by which documents report requests of their timers; see init_sealed.js."""
SHOWN_LATE: Final = 3
"""How many deliveries at a different time than in the recording are listed."""
MAX_REPEATS_AT_ONCE: Final = 10
"""How often one key is repeated at one page time: a page that asks again at once would never be idle."""


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

        If `recording` replaces that of the bundle, its responses are compared with `original`, and what the server drew
        for them stands for what it drew there. If `on_delivery` is set, it is called with each delivery, and responses
        are served on request instead of at their recorded moments, except those recorded after `failures`: see
        `DeliverySchedule`. A `learner` learns rules for requests that are not recorded, and is notified of those that
        remain.
        """
        self._learner = learner
        self._on_delivery = on_delivery
        self._failed_actions = failures
        self._recording = recording
        self._has_other_scripts = original is not None
        """Whether the pages may have other scripts than the recorded ones."""
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
        self._sent_by_timers: Counter[tuple[int, str]] = Counter()
        """Requests of timers that documents reported and whose routes were not called yet, by the move of the clock in
        which the timer fired, and method and URL."""
        self._timer_driven: set[Request] = set()
        """Requests that a timer caused, directly or by another request."""
        self._sent_ms: dict[int, float] = {}
        """When each exchange was last requested, by ordinal; see `SentRequests.sent_ms`."""
        self._sent_by_timer: set[int] = set()
        self._saves: list[SentSave] = []
        self._repeats: Counter[str] = Counter()
        """Requests of timers beyond those recorded, by key."""
        self._repeated_resources: Counter[str] = Counter()
        """Requests for resources beyond those recorded, by key."""
        self._repeated_saves: Counter[str] = Counter()
        """Saves of timers with a body that was not recorded, by method and URL."""
        self._repeats_by_time: Counter[tuple[str, int]] = Counter()
        """All of these, by key and page time."""
        self._playback = Playback(recording.exchanges, read_body=recording.body, rules=rules, learner=learner)
        self._response_comparison: RecordingComparison | None = None
        if original is not None:
            from eikon_engine.browser.traffic.response_changes import RecordingComparison

            self._response_comparison = RecordingComparison(original, recording, rules)
        self._recorded_keys: dict[Request, str] = {}
        """Keys in the recording of the bundle, if it has one, else in the one that is served."""
        self._misses: list[NetworkMiss] = []
        """Misses of requests and sockets, in order."""
        self._notes: list[str] = [recording.truncation] if recording.truncation else []
        self._uninstrumented_workers = UninstrumentedWorkers()
        self._running: _ServedSession | None = None
        self._on_demand: OnDemandDeliveries | None = None
        self._live_responder: LiveResponder | None = None
        self._front_end: FrontEndResponder | None = None
        """Fetches what belongs to the front end of a deployment."""
        self._live_responders: tuple[LiveResponder, ...] = ()
        """Every live responder of this session; the last one may be active."""

    @property
    def recording(self) -> NetworkRecording:
        """The recording that is served."""
        return self._recording

    @property
    def rule_use(self) -> RuleUsage:
        """The rules, with how often they were used."""
        return self._playback.rule_use

    def set_live_responder(self, responder: LiveResponder | None) -> None:
        """Send requests to the live site from now on; None blocks again whatever is not recorded."""
        self._live_responder = responder
        if responder is None:
            return
        self._live_responders = (*(each for each in self._live_responders if each is not responder), responder)
        if responder.sends_every_request:
            self._started.session.is_live_now = True
            self._started.schedule.queue.stop_expecting(delivery_orders(self._recording.exchanges))

    def fetch_front_end(self, responder: FrontEndResponder) -> None:
        """Serve the front end of a deployment, and everything else from the recording."""
        self._front_end = responder
        self._has_other_scripts = True
        self._live_responders = (*self._live_responders, responder)

    async def start(self, session: Session) -> None:
        """Set up the routes."""
        moments = delivery_moments(self._recording)
        schedule = DeliverySchedule(
            session.stabilizer, session.tracker, moments, self._on_delivery, self._failed_actions
        )
        if self._on_delivery is not None:
            session.stabilizer.settles_after_action = max(self._failed_actions, default=-1) + 1
        rules = SocketRules(self._playback.rule_use, self._learner)
        if self._response_comparison is not None:
            self._response_comparison.start(session, self._playback.rule_use)
        sockets = SocketReplay(session, schedule, self._recording, rules, self._misses, self._response_comparison)
        responder = SealedResponder(session, schedule, self._body, self._notes)
        self._running = _ServedSession(session, schedule, sockets, responder, BackgroundTasks(session.tracker))
        self._uninstrumented_workers.listen(session)
        session.stabilizer.pending_deliveries = schedule.queue
        telemetry = [each for each in self._recording.exchanges if self._is_telemetry_key(each.key)]
        self._telemetry = frozenset(each.ordinal for each in telemetry)
        schedule.queue.stop_expecting(delivery_orders(telemetry))
        session.cookies.keep_until_change()
        session.context.on("console", self._on_console)
        await session.context.route("**/*", self._serve)
        await session.context.route_web_socket(lambda _url: True, sockets.play)
        await session.context.add_init_script(load_script("init_sockets.js"))

    async def stop(self) -> None:
        """Cancel pending deliveries."""
        if self._running is not None:
            await self._running.sockets.stop()
            await self._running.schedule.stop()
            await self._running.background.stop()
            await self._running.responder.stop()

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
        return self._started.responder.is_continuation(request)

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the recorded redirects that our own navigation replaces."""
        return self._started.responder.document_hops(request)

    def is_timer_driven(self, request: Request) -> bool:
        """Whether a timer caused a request, directly or by another request."""
        return request in self._timer_driven

    def is_telemetry(self, request: Request) -> bool:
        """Whether a request is not compared: a rule says that it only reports, or it fetches the front end."""
        front_end = self._front_end
        key = request_key(request.method, self._started.session.redactor.redact_text(request.url), None, None)
        if front_end is not None and (front_end.serves(request) or front_end.is_key(key)):
            return True
        return self._is_telemetry_key(key)

    def recorded_key(self, request: Request) -> str | None:
        """Return the key of the recorded exchange for a request; rules may make the two keys differ."""
        return self._recorded_keys.get(request)

    def _schedule_notes(self) -> Iterator[str]:
        late = self._started.schedule.queue.late
        if not late:
            return
        redact = self._started.session.redactor.redact_text
        names = [f"{each.request.method} {redact(each.request.url)}" if each.request else "a message" for each in late]
        more = f" and {len(late) - SHOWN_LATE} more" if len(late) > SHOWN_LATE else ""
        yield (f"schedule: delivered at a different time than in the recording: {', '.join(names[:SHOWN_LATE])}{more}")

    def later_values(self) -> frozenset[tuple[str, str]]:
        """Return nothing: a later poll gets what the last one got."""
        return frozenset()

    def missing_messages(self) -> tuple[ResponseChange, ...]:
        """Return nothing: the recording is served."""
        return ()

    def outcome(self) -> NetworkOutcome:
        """Summarize hits, misses and recorded requests that no page sent."""
        sockets = self._started.sockets
        notes = [*self._notes, *self._uninstrumented_workers.notes(), *self._schedule_notes()]
        notes += (
            f"{key} was requested {pluralize(count, 'more time')} than recorded, by a timer; "
            "it got the last recorded response"
            for key, count in self._repeats.items()
        )
        notes += (
            f"{key} was requested {pluralize(count, 'more time')} than recorded; the recorded browser may have had the "
            "response in its memory cache"
            for key, count in self._repeated_resources.items()
        )
        notes += (
            f"{address} was sent {pluralize(count, 'time')} by a timer with a body that was not recorded; "
            "it got the last recorded response"
            for address, count in self._repeated_saves.items()
        )
        notes += (
            f"{url}: the page sent {pluralize(count, 'more heartbeat')} than recorded"
            for url, count in sockets.heartbeats.items()
        )
        notes += (
            f"{url}: an interval of the page sent {pluralize(count, 'message')} at a page time after the recording"
            for url, count in sockets.sent_beyond.items()
        )
        notes += (
            f"{url}: the page got {pluralize(count, 'more heartbeat')} of the server than recorded"
            for url, count in sockets.server_heartbeats.items()
        )
        network_outcome = NetworkOutcome(
            served=len(self._playback.hits) + sockets.served,
            misses=tuple(self._misses),
            unused=(
                *(exchange.key for exchange in self._unused() if not exchange.is_pending),
                *sockets.unused(),
            ),
            repeats=sum(
                each.total()
                for each in (
                    self._repeats,
                    self._repeated_saves,
                    self._repeated_resources,
                    sockets.heartbeats,
                    sockets.server_heartbeats,
                    sockets.sent_beyond,
                )
            ),
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
        unused = (each for each in self._unused() if not self._is_telemetry_key(each.key))
        sent = SentRequests(
            end_ms=end_ms,
            recorded_end_ms=self._recording.end_ms,
            sent_ms=self._sent_ms,
            by_timer=frozenset(self._sent_by_timer),
            saves=tuple(self._saves),
            has_other_scripts=self._has_other_scripts,
        )
        return (
            *find_unsent_requests(recording, unused, self._playback, sent),
            *self._started.sockets.unsent(end_ms),
        )

    def _unused(self) -> Iterator[Exchange]:
        """Yield the exchanges that were not served; another build of a front end has other files."""
        front_end = self._front_end
        return (each for each in self._playback.unused() if front_end is None or not front_end.includes(each))

    async def _serve(self, route: Route) -> None:
        """Serve a request; a failure ends the session and aborts the request."""
        serving = self._started.background.start(self._serve_from_match(route))
        await asyncio.wait({serving})
        if serving.cancelled():
            self._started.responder.end_when_context_closes(route)
        elif serving.exception() is not None:
            await self._started.responder.abort(route, "failed")

    async def _serve_from_match(self, route: Route) -> None:
        """Look a request up in the recording, and serve the match."""
        request = route.request
        session = self._started.session
        continued = self._started.responder.take_continued(request)
        if continued is not None:
            await self._started.responder.respond_in_turn(route, continued, self._cause(request, continued))
            return
        match = self._match(session, request)
        if self._live_responder is not None and (
            self._live_responder.sends_every_request or not isinstance(match, Hit)
        ):
            await self._serve_live(route, self._live_responder, match)
            return
        if self._front_end is not None and self._front_end.serves(request):
            await self._serve_front_end(route, self._front_end, match)
            return
        if not isinstance(match, Hit):
            await self._block(route, match.to_network_miss())
            return
        self._note_sent(request, match)
        if self._is_telemetry_key(match.key):
            await self._serve_telemetry(route, match)
            return
        if match.is_repeat:
            await self._serve_repeat(route, match)
            return
        if match.has_predecessor and request in self._timer_driven and self._on_demand is None:
            self._scheduled.add(match.exchange.ordinal)
        if match.skipped:
            self._started.schedule.queue.stop_expecting(delivery_orders(match.skipped))
        await self._serve_recorded(route, match)

    def _match(self, session: Session, request: Request) -> Match:
        """Find the exchange to serve; if it is not of the bundle, compare it with the one that is."""
        timer_ms = self._timer_ms(request)
        is_for_resource = self._live_responder is None and request.resource_type in REUSED_TYPES
        comparison = self._response_comparison
        if comparison is None:
            match = RedactedRequest.of(session, request).match(
                self._playback, timer_ms, is_for_resource=is_for_resource
            )
            if isinstance(match, Hit):
                self._recorded_keys[request] = match.key
            return match
        as_served = RedactedRequest.redacted_by(comparison.served_redactor, request)
        match = as_served.match(self._playback, timer_ms, is_for_resource=is_for_resource)
        recorded = comparison.find(request, timer_ms, is_for_resource=is_for_resource)
        if isinstance(recorded, Hit):
            self._recorded_keys[request] = recorded.key
            counted = match.rules if isinstance(match, Hit) else ()
            self._playback.rule_use.count_use(rule for rule in recorded.rules if rule not in counted)
        if isinstance(match, Hit) and not match.is_repeat:
            comparison.compare(recorded, match.exchange)
        return match

    def _note_sent(self, request: Request, match: Hit) -> None:
        """Note when an exchange was requested, and by what; a save with another body is no request for it."""
        now_ms, ordinal = self._started.session.timeline.recorded_ms, match.exchange.ordinal
        if match.exchange.request.method == SAVE_METHOD:
            self._saves.append(SentSave(ordinal=ordinal, has_other_body=match.has_other_body, sent_ms=now_ms))
        if match.has_other_body:
            return
        self._sent_ms[ordinal] = now_ms
        if request in self._timer_driven:
            self._sent_by_timer.add(ordinal)

    def _on_console(self, message: ConsoleMessage) -> None:
        """Note a request that a document sent while its clock moved."""
        if message.text.startswith(TIMER_MARK):
            move = self._started.session.timeline.clock_moves
            self._sent_by_timers[move, message.text.removeprefix(TIMER_MARK)] += 1

    def _timer_ms(self, request: Request) -> float | None:
        """Return the page time, in the recorded timeline, of a request that a timer caused; None for any other."""
        timeline = self._started.session.timeline
        sent = (timeline.clock_moves, f"{request.method.upper()} {urldefrag(request.url).url}")
        is_reported = self._sent_by_timers[sent] > 0
        if is_reported:
            self._sent_by_timers[sent] -= 1
        if not timeline.is_timer_driven and not is_reported:
            return None
        self._timer_driven.add(request)
        is_departed = self._live_responder is not None or self._on_demand is not None
        return None if is_departed else timeline.recorded_ms

    async def _serve_repeat(self, route: Route, match: Hit) -> None:
        """Serve a resource, or the last response, again; what was deferred, or not sent by now, stays unanswered."""
        request, exchange, timeline = route.request, match.exchange, self._started.session.timeline
        if match.has_other_body:
            self._repeated_saves[match.key.partition(BODY_MARK)[0]] += 1
        else:
            (self._repeated_resources if match.is_resource else self._repeats)[match.key] += 1
        self._repeats_by_time[match.key, round(timeline.now_ms)] += 1
        moment = exchange.moment
        is_arriving = moment is not None and moment.at_ms > timeline.recorded_ms
        if (
            moment is None
            or (is_arriving and not match.is_resource and not match.has_other_body)
            or request.resource_type == "eventsource"
            or (exchange.ordinal in self._deferred and not match.has_other_body)
            or self._repeats_by_time[match.key, round(timeline.now_ms)] > MAX_REPEATS_AT_ONCE
        ):
            self._started.responder.leave_unanswered(route)
            return
        await self._respond(route, exchange if is_arriving and match.is_resource else _without_moment(exchange))

    def _is_telemetry_key(self, key: str) -> bool:
        return find_telemetry_rule(key, self._playback.rule_use.rules) is not None

    async def _serve_telemetry(self, route: Route, match: Hit) -> None:
        """Serve a recorded response at once, since telemetry is sent at any moment."""
        alike = (match.exchange, *self._playback.alike(match.exchange))
        answered = next((each for each in alike if each.response is not None and not each.response.body_missing), None)
        if answered is None:
            await self._serve_recorded(route, match)
            return
        self._note_requested(match.exchange)
        self._started.schedule.queue.stop_expecting(delivery_orders((match.exchange,)))
        await self._respond(route, _without_moment(answered))

    async def _serve_recorded(self, route: Route, match: Hit) -> None:
        """Serve the recorded response, or leave the request pending if it never got one."""
        request = route.request
        self._note_requested(match.exchange)
        is_never_answered = match.exchange.is_cancelled and not is_main_document(request)
        if match.exchange.is_pending or (self._on_delivery is not None and is_never_answered):
            if self._on_demand is not None:
                self._on_demand.unanswered.add(match.exchange.ordinal)
            self._started.responder.leave_unanswered(route)
        else:
            await self._respond(route, match.exchange)

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
            self._note_requested(match.exchange)
        exchange = await live.respond(self._started.session, route.request, match)
        if self._on_demand is not None:
            self._on_demand.add(exchange)
        await self._respond(route, exchange)

    async def _serve_front_end(self, route: Route, front_end: FrontEndResponder, match: Match) -> None:
        """Serve what the deployment responds, at the recorded moment if there is one."""
        exchange = await front_end.respond(self._started.session, route.request, match)
        if isinstance(match, Hit) and not match.is_repeat and match.exchange.completion is not None:
            self._note_requested(match.exchange)
            exchange = front_end.in_place_of(match.exchange, exchange)
        await self._respond(route, exchange)

    async def _block(self, route: Route, miss: NetworkMiss) -> None:
        self._misses.append(miss)
        if self._learner is not None:
            self._learner.note_miss(miss)
        await self._started.responder.abort(route, "blockedbyclient")

    async def _respond(self, route: Route, exchange: Exchange) -> None:
        await self._started.responder.respond(route, exchange, self._cause(route.request, exchange))

    def _cause(self, request: Request, exchange: Exchange) -> DeliveryCause:
        is_timer_driven = exchange.ordinal in self._scheduled or request in self._timer_driven
        return DeliveryCause(
            is_timer_driven=is_timer_driven,
            is_background=is_timer_driven or exchange.ordinal in self._deferred,
            has_cause=lambda: self._has_cause(exchange),
        )

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

    def _body(self, exchange: Exchange, response: RecordedResponse) -> bytes:
        """Return the body of a response, recorded or live, with its secrets."""
        if response.body is None:
            return b""
        for live in self._live_responders:
            if (body := live.pop_body(exchange)) is not None:
                return body if live.sends_every_request else self._started.session.restore_secrets(body)
        return self._started.session.restore_secrets(self._recording.body(response.body))

    @property
    def _started(self) -> _ServedSession:
        if self._running is None:
            message = "sealed traffic was used before start()"
            raise InternalError(message)
        return self._running


def _without_moment(exchange: Exchange) -> Exchange:
    """Return an exchange that is delivered whole, as soon as it is requested."""
    return exchange.model_copy(update={"pieces": (), "completed_ms": None, "completion": None})


@dataclass(frozen=True, slots=True)
class _ServedSession:
    """The parts that serve one session."""

    session: Session
    schedule: DeliverySchedule
    sockets: SocketReplay
    responder: SealedResponder
    background: BackgroundTasks
