"""Serve every request of a session from a recording, and nothing from anywhere else."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.background import Background
from eikon_engine.browser.changed_answers import Asked, OtherAnswers
from eikon_engine.browser.continuations import Continuation, Continuations, redirected_to, stays_in_document
from eikon_engine.browser.cookies import cookies_on_the_way, lasting
from eikon_engine.browser.feed import REDIRECTED_HEADER, STREAM_HEADER, feed, with_own_header
from eikon_engine.browser.frames import frame_of, is_main_document
from eikon_engine.browser.given import GivenAsAsked
from eikon_engine.browser.net_errors import ABORT_CODES
from eikon_engine.browser.own_script import own_script
from eikon_engine.browser.schedule import Schedule
from eikon_engine.browser.served import (
    allowing_nobody,
    denied,
    leading_to,
    moments_of,
    orders_of,
    served_headers,
    was_refused_by_policy,
)
from eikon_engine.browser.socket_player import SocketPlayer, SocketRules
from eikon_engine.browser.traffic import STEPPING_STONE
from eikon_engine.browser.untamed import UntamedWorkers
from eikon_engine.network.kinds import FETCHES
from eikon_engine.network.long_polls import long_polls
from eikon_engine.network.matching import Hit, Playback
from eikon_engine.outcome.outcomes import NetworkMiss, NetworkOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from playwright.async_api import Frame, Request, Route

    from eikon_engine.browser.live_answers import LiveAnswers
    from eikon_engine.browser.session import Session
    from eikon_engine.network.exchange import Exchange, HeaderPairs, RecordedResponse
    from eikon_engine.network.matching import Match
    from eikon_engine.network.moment import Moment
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.volatile import VolatileRule

ARRIVAL_S: Final = 1.0
"""Wall time after which a fulfilled response counts as received by the page."""
NO_CONTENT: Final = 204
OK: Final = 200


class SealedTraffic:
    """Serve recorded exchanges by key and occurrence, at their recorded moments; block everything else."""

    def __init__(
        self,
        recording: NetworkRecording,
        rules: tuple[VolatileRule, ...] = (),
        own: NetworkRecording | None = None,
        given: Callable[[int, Moment], None] | None = None,
        failures: Sequence[int] = (),
    ) -> None:
        """Serve from `recording`; `rules` name the parts of requests that change from run to run.

        If `recording` replaces that of the bundle, its responses are compared with `own`. If `given` is set, it is
        called with each delivery, and responses are served on request instead of at their recorded moments, except
        those recorded after `failures`: see `Schedule`.
        """
        self._given_to = given
        self._failures = failures
        self._recording = recording
        self._rules = rules
        self._long_polls = long_polls(recording.exchanges)
        self._asked: set[int] = set()
        """Ordinals of the exchanges that pages requested."""
        self._playback = Playback(recording.exchanges, read_body=recording.body, rules=rules)
        self._other = OtherAnswers(own, recording, rules) if own is not None else None
        self._keys: dict[Request, str] = {}
        self._continuations = Continuations()
        self._continued: dict[Request, Exchange] = {}
        self._misses: list[NetworkMiss] = []
        """Misses of requests and sockets, in order."""
        self._notes: list[str] = [recording.torn] if recording.torn else []
        self._untamed = UntamedWorkers()
        self._running: _Running | None = None
        self._given: GivenAsAsked | None = None
        self._live: LiveAnswers | None = None
        self._made: tuple[LiveAnswers, ...] = ()
        """Every live responder of this session; the last one may be active."""

    @property
    def recording(self) -> NetworkRecording:
        """The recording that is served."""
        return self._recording

    def let_through(self, live: LiveAnswers | None) -> None:
        """Send requests to the live site from now on; None blocks again whatever is not recorded."""
        self._live = live
        if live is None:
            return
        self._made = (*(each for each in self._made if each is not live), live)
        if live.every:
            self._now.session.visits_site = True
            self._now.schedule.forget(orders_of(self._recording.exchanges))

    async def start(self, session: Session) -> None:
        """Set up the routes."""
        moments = moments_of(self._recording)
        schedule = Schedule(session.rest, session.ledger, moments, self._given_to, self._failures)
        if self._given_to is not None:
            session.rest.settles_after = max(self._failures, default=-1) + 1
        rules = SocketRules(self._rules, self._playback.rule_use)
        on_opened = self._other.compare_socket if self._other is not None else None
        sockets = SocketPlayer(session, schedule, self._recording, rules, self._misses, on_opened)
        self._running = _Running(session, schedule, sockets, Background(session.ledger))
        self._untamed.listen(session)
        session.rest.agenda = schedule
        session.rest.pending.append(self._continuations.under_way)
        await session.context.route("**/*", self._serve)
        await session.context.route_web_socket(lambda _url: True, sockets.play)
        await session.context.add_init_script(own_script("init_sockets.js"))

    async def stop(self) -> None:
        """Cancel pending deliveries."""
        if self._running is not None:
            await self._running.sockets.stop()
            await self._running.schedule.stop()
            await self._running.background.stop()

    async def give_as_asked(self) -> GivenAsAsked:
        """Serve responses on request from now on, because the mission departs from its recording.

        Returns once the pages have what they had requested. Idempotent: later calls return the same object.
        """
        if self._given is None:
            rest, schedule = self._now.session.rest, self._now.schedule
            self._given = GivenAsAsked(
                recording=self._recording,
                turns=frozenset(moment.order for moment in moments_of(self._recording)),
                before=frozenset(schedule.granted),
            )
            self._given_to = self._given.moments.__setitem__
            schedule.give_as_asked(self._given_to)
            rest.settles_after = rest.phase // rest.phases(1)
            await rest.quiesce()
        return self._given

    def is_continuation(self, request: Request) -> bool:
        """Whether a request is our own navigation to the target of a recorded redirect."""
        return request in self._continued

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the recorded redirects that our own navigation stands for."""
        exchange = self._continued.get(request)
        return tuple((hop.url, hop.status) for hop in exchange.hops) if exchange is not None else ()

    def recorded_key(self, request: Request) -> str | None:
        """Return the key of the recorded exchange that answers a request; rules may make the two keys differ."""
        return self._keys.get(request)

    def outcome(self) -> NetworkOutcome:
        """Summarize hits, misses and recorded requests that no page sent."""
        sockets = self._now.sockets
        late = self._now.schedule.late
        notes = [*self._notes, *self._untamed.notes()]
        if late:
            what = f"{late} recorded responses and messages"
            notes.append(f"schedule: {what} were delivered at a different time than in the recording")
        met = NetworkOutcome(
            served=len(self._playback.hits) + sockets.served,
            misses=tuple(self._misses),
            unused=(
                *(exchange.key for exchange in self._playback.unused() if not exchange.pending),
                *sockets.unused(),
            ),
            rules_applied=self._playback.rule_use.for_outcome(),
            response_changes=self._other.changed.kept if self._other is not None else (),
            notes=(*notes, *self._playback.rule_use.notes()),
        )
        for live in self._made:
            met = live.added_to(met)
        return met

    async def _serve(self, route: Route) -> None:
        """Serve a request; a failure ends the session and aborts the request."""
        met = self._now.background.begin(self._meet(route))
        await asyncio.wait({met})
        if not met.cancelled() and met.exception() is not None:
            await self._abort(route, "failed")

    async def _meet(self, route: Route) -> None:
        """Look a request up in the recording, and serve the match."""
        request = route.request
        session = self._now.session
        exchange = self._continuations.take(request) if request.is_navigation_request() else None
        if exchange is not None:
            self._continued[request] = exchange
            await self._answer(route, exchange)
            return
        redactor = session.redactor
        body = request.post_data_buffer
        asked = Asked(
            method=request.method,
            url=redactor.text(request.url),
            body=None if body is None else redactor.key_data(body),
            content_type=request.headers.get("content-type"),
            headers=tuple(request.headers.items()),
        )
        match = asked.match(self._playback)
        if self._live is not None and (self._live.every or not isinstance(match, Hit)):
            await self._let_through(route, self._live, match)
            return
        if isinstance(match, Hit) and self._other is not None:
            self._other.compare(asked, match.exchange)
        if not isinstance(match, Hit):
            await self._block(route, match.told())
            return
        await self._from_recording(route, match)

    async def _from_recording(self, route: Route, match: Hit) -> None:
        """Serve the recorded response, or leave the request pending if it never got one."""
        request = route.request
        self._keys[request] = match.key
        self._asked_for(match.exchange)
        waits_in_vain = match.exchange.given_up and not is_main_document(request)
        if match.exchange.pending or (self._given_to is not None and waits_in_vain):
            if self._given is not None:
                self._given.in_vain.add(match.exchange.ordinal)
            self._now.schedule.never(request)
            self._now.session.ledger.changed.set()
        else:
            await self._deliver(route, match.exchange)

    async def _let_through(self, route: Route, live: LiveAnswers, match: Match) -> None:
        """Serve the live site's response as if it had been recorded."""
        refusal = live.refusal(route.request)
        if refusal is not None and isinstance(match, Hit):
            await self._from_recording(route, match)
            return
        if refusal is not None:
            await self._block(route, NetworkMiss(key=match.key, reason=refusal))
            return
        if isinstance(match, Hit):
            self._keys[route.request] = match.key
            self._asked_for(match.exchange)
        exchange = await live.answer(self._now.session, route.request, match)
        if self._given is not None:
            self._given.add(exchange)
        await self._deliver(route, exchange)

    async def _block(self, route: Route, miss: NetworkMiss) -> None:
        self._misses.append(miss)
        await self._abort(route, "blockedbyclient")

    async def _deliver(self, route: Route, exchange: Exchange) -> None:
        is_document = route.request.is_navigation_request()
        if exchange.hops and is_document and exchange.response is not None:
            await self._redirect(route, exchange)
        else:
            await self._answer(route, exchange)

    def _asked_for(self, exchange: Exchange) -> None:
        """Note a request that a long poll may have waited for."""
        self._asked.add(exchange.ordinal)
        self._now.schedule.wake()

    def _has_cause(self, exchange: Exchange) -> bool:
        """Whether everything was requested that the server waited for before it sent this response."""
        return self._long_polls.get(exchange.ordinal, frozenset()) <= self._asked

    async def _answer(self, route: Route, exchange: Exchange) -> None:
        """Deliver an exchange when its turn comes."""
        moment = exchange.pieces[0].moment if exchange.pieces else exchange.moment
        at_once = is_main_document(route.request)
        async with self._now.schedule.turn(
            moment, route.request, at_once=at_once, has_cause=lambda: self._has_cause(exchange)
        ):
            response = exchange.response
            if response is None and was_refused_by_policy(exchange):
                await self._fulfill(route, OK, allowing_nobody(exchange), b"")
            elif response is None:
                await self._abort(route, ABORT_CODES.get(exchange.failure or "", "failed"))
            elif response.body_missing is not None:
                self._notes.append(f"{exchange.key}: the recording has no body ({response.body_missing})")
                await self._abort(route, "failed")
            else:
                await self._give(route, exchange, response)
                await self._arrived(route.request)

    async def _give(self, route: Route, exchange: Exchange, response: RecordedResponse) -> None:
        hops = () if exchange.request.is_navigation else exchange.hops
        cookies = cookies_on_the_way(exchange, self._now_s) if hops else ()
        headers: HeaderPairs = (*cookies, *lasting(response.headers, self._now_s), *denied(exchange, response))
        if hops and route.request.resource_type in FETCHES:
            target = self._now.session.put_back(response.url.encode()).decode()
            headers = with_own_header(headers, REDIRECTED_HEADER, target)
        if not exchange.pieces or route.request.resource_type != "fetch":
            await self._fulfill(route, response.status, headers, self._body(exchange, response))
            return
        headers = with_own_header(headers, STREAM_HEADER, str(exchange.ordinal))
        await self._fulfill(route, response.status, headers, b"")
        body = self._body(exchange, response) if response.body is not None else b""
        self._now.background.begin(feed(self._now.schedule, route.request, exchange, body))

    async def _arrived(self, request: Request) -> None:
        """Wait until a page has its response: two in transit at once could overtake each other."""
        if is_main_document(request):
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(ARRIVAL_S):
                await self._now.session.ledger.ended(request)

    async def _redirect(self, route: Route, exchange: Exchange) -> None:
        """Serve a redirected document: set the cookies, then navigate to the redirect's target.

        A fulfilled redirect would send the browser past our routes, to the network.
        """
        session = self._now.session
        request = route.request
        target = session.put_back(redirected_to(exchange).encode()).decode()
        frame = frame_of(request)
        if frame is not None and stays_in_document(frame, target):
            frame = None
        session.redirects_served += 1
        continuation = Continuation(exchange=exchange, frame=frame, source=request.url, target=target)
        self._continuations.add(continuation)
        cookies = tuple(cookies_on_the_way(exchange, self._now_s))
        if frame is None:
            # A popup is no page before its first document, and a URL that differs only in its fragment does not load a
            # document again: a document of ours redirects instead, and is not observed.
            headers = (*cookies, ("content-type", "text/html"), (STEPPING_STONE, "1"))
            await self._fulfill(route, OK, headers, leading_to(target))
            return
        await self._fulfill(route, NO_CONTENT, cookies, b"")
        self._now.background.begin(self._navigate(request, frame, continuation))

    async def _navigate(self, request: Request, frame: Frame, continuation: Continuation) -> None:
        from playwright.async_api import Error

        target = continuation.target
        try:
            await frame.goto(target, wait_until="commit", referer=request.headers.get("referer"))
        except Error as error:
            if "ERR_ABORTED" not in error.message and "Download is starting" not in error.message:
                self._notes.append(f"could not follow the redirect to {target}: {error.message.splitlines()[0]}")
        finally:
            self._continuations.drop(continuation)
            self._now.session.ledger.changed.set()

    async def _fulfill(self, route: Route, status: int, headers: HeaderPairs, body: bytes) -> None:
        from playwright.async_api import Error

        try:
            await route.fulfill(status=status, headers=served_headers(headers, route.request.method), body=body)
        except Error:
            self._now.session.ledger.changed.set()  # the page or the request is gone

    async def _abort(self, route: Route, code: str) -> None:
        from playwright.async_api import Error

        try:
            await route.abort(code)
        except Error:
            self._now.session.ledger.changed.set()  # as above

    def _body(self, exchange: Exchange, response: RecordedResponse) -> bytes:
        if response.body is None:
            return b""
        came = (live.take_body(exchange) for live in self._made)
        body = next((each for each in came if each is not None), None)
        return self._now.session.put_back(self._recording.body(response.body) if body is None else body)

    @property
    def _now_s(self) -> float:
        """Return page time as a Unix timestamp, in seconds."""
        session = self._now.session
        return (session.environment.clock_start_ms + session.rest.now_ms) / 1000

    @property
    def _now(self) -> _Running:
        if self._running is None:
            message = "sealed traffic was used before start()"
            raise RuntimeError(message)
        return self._running


@dataclass(frozen=True, slots=True)
class _Running:
    """The parts that serve one session."""

    session: Session
    schedule: Schedule
    sockets: SocketPlayer
    background: Background
