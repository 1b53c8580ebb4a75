"""Fulfill requests with recorded responses, each in its turn; redirects of documents are navigated again."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag

from eikon_engine.browser.frames import frame_of, is_main_document
from eikon_engine.browser.page_tracker import BackgroundTasks
from eikon_engine.browser.playwright_errors import ABORT_CODES
from eikon_engine.browser.traffic.live import REDIRECT_DOCUMENT_HEADER
from eikon_engine.browser.traffic.recorded_responses import (
    COOKIE_HEADERS,
    REDIRECTED_HEADER,
    STREAM_HEADER,
    cors_denial,
    cors_denial_headers,
    detour_of,
    redirect_cookies,
    redirect_document,
    served_headers,
    stream_body,
    was_blocked_by_cors,
    with_engine_header,
    with_relative_lifetimes,
)
from eikon_engine.network.exchange import FETCH_TYPES
from eikon_engine.network.keys import canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import Frame, Request, Route

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.schedule import DeliverySchedule
    from eikon_engine.network.exchange import Exchange, HeaderPairs, RecordedResponse

RECEIVED_S: Final = 1.0
"""Wall time after which a fulfilled response counts as received by the page once it began: a page may leave its body
unread. Also for a document to tell where it navigates."""
BEGUN_S: Final = 10.0
"""Wall time after which it counts as received in any case; only a browser that stalls reaches it."""
NO_CONTENT: Final = 204
OK: Final = 200


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryCause:
    """What caused a request, and whether its response may be delivered."""

    is_timer_driven: bool
    """Whether a timer, and not an action, causes what the page does with the response."""
    is_background: bool
    """See `Delivery.is_background`."""
    has_cause: Callable[[], bool]
    """See `Delivery.has_cause`."""


class SealedResponder:
    """Fulfill the requests of one session with recorded responses."""

    def __init__(
        self,
        session: Session,
        schedule: DeliverySchedule,
        read_body: Callable[[Exchange, RecordedResponse], bytes],
        notes: list[str],
    ) -> None:
        """Respond at the moments of `schedule`; `read_body` returns the body of an exchange, with its secrets.

        Notes are appended to `notes`, which is shared.
        """
        self._session = session
        self._schedule = schedule
        self._read_body = read_body
        self._notes = notes
        self._background = BackgroundTasks(session.tracker)
        self._continuations = RedirectContinuations()
        self._continued: dict[Request, Exchange] = {}
        self._unanswered: list[Route] = []
        """Routes of requests that get no response, as in the recording or because the replay has ended."""
        self._ended_routes: list[asyncio.Future[None]] = []
        session.stabilizer.pending_work.append(self._continuations.pending_count)
        session.context.on("close", lambda _context: self._on_context_closed())

    async def stop(self) -> None:
        """Stop responding."""
        await self._background.stop()

    def take_continued(self, request: Request) -> Exchange | None:
        """Return the exchange whose recorded redirect a request of ours continues, once; None for requests of pages.

        The request counts as a continuation from now on.
        """
        exchange = self._continuations.take(request) if request.is_navigation_request() else None
        if exchange is not None:
            self._continued[request] = exchange
        return exchange

    def is_continuation(self, request: Request) -> bool:
        """Whether a request is our own navigation to the target of a recorded redirect."""
        return request in self._continued

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the recorded redirects that our own navigation replaces."""
        exchange = self._continued.get(request)
        return tuple((hop.url, hop.status) for hop in exchange.hops) if exchange is not None else ()

    async def respond(self, route: Route, exchange: Exchange, cause: DeliveryCause) -> None:
        """Respond with an exchange when its turn comes; a redirected document is navigated to its target at once."""
        is_document = route.request.is_navigation_request()
        if exchange.hops and is_document and exchange.response is not None:
            await self._redirect(route, exchange)
        else:
            await self.respond_in_turn(route, exchange, cause)

    async def respond_in_turn(self, route: Route, exchange: Exchange, cause: DeliveryCause) -> None:
        """Respond with the last response of an exchange when its turn comes."""
        moment = exchange.pieces[0].moment if exchange.pieces else exchange.moment
        async with self._schedule.in_turn(
            moment,
            route.request,
            is_immediate=is_main_document(route.request),
            is_background=cause.is_background,
            has_cause=cause.has_cause,
        ):
            self._session.timeline.is_timer_driven = cause.is_timer_driven
            response = exchange.response
            if response is None and was_blocked_by_cors(exchange):
                await self._fulfill(route, OK, cors_denial(exchange), b"")
            elif response is None:
                await self.abort(route, ABORT_CODES.get(exchange.failure or "", "failed"))
            elif response.body_missing is not None:
                self._notes.append(f"{exchange.key}: the recording has no body ({response.body_missing})")
                await self.abort(route, "failed")
            else:
                await self._fulfill_response(route, exchange, response)
                await self._wait_until_received(route.request)

    async def abort(self, route: Route, code: str) -> None:
        """Let a request fail, with one of Playwright's error codes."""
        from playwright.async_api import Error

        try:
            await route.abort(code)
        except Error:
            self._session.tracker.changed.set()  # the page or the request is gone

    def leave_unanswered(self, route: Route) -> None:
        """Send no response; the route ends when its context is closed."""
        self.end_when_context_closes(route)
        self._schedule.queue.mark_never_answered(route.request)
        self._session.tracker.changed.set()

    def end_when_context_closes(self, route: Route) -> None:
        """Remember to end a route when its context is closed."""
        self._unanswered.append(route)

    async def _fulfill_response(self, route: Route, exchange: Exchange, response: RecordedResponse) -> None:
        hops = () if exchange.request.is_navigation else exchange.hops
        cookies = redirect_cookies(exchange, self._now_s) if hops else ()
        headers: HeaderPairs = (
            *cookies,
            *with_relative_lifetimes(response.headers, self._now_s),
            *cors_denial_headers(exchange, response),
        )
        if hops and route.request.resource_type in FETCH_TYPES:
            target = self._session.restore_secrets(response.url.encode()).decode()
            headers = with_engine_header(headers, REDIRECTED_HEADER, target)
        if not exchange.pieces or route.request.resource_type != "fetch":
            await self._fulfill(route, response.status, headers, self._read_body(exchange, response))
            return
        headers = with_engine_header(headers, STREAM_HEADER, str(exchange.ordinal))
        await self._fulfill(route, response.status, headers, b"")
        body = self._read_body(exchange, response)
        self._background.start(stream_body(self._schedule, route.request, exchange, body))

    async def _wait_until_received(self, request: Request) -> None:
        """Wait until a page has its response: two in transit at once could overtake each other."""
        if is_main_document(request):
            return
        requests, give_up_at = self._session.tracker.requests, time.monotonic() + BEGUN_S
        is_received = False
        while not is_received and time.monotonic() < give_up_at:
            with suppress(TimeoutError):
                async with asyncio.timeout(RECEIVED_S):
                    await requests.wait_until_ended(request)
            is_received = request not in requests.in_flight or request in requests.response_began

    async def _redirect(self, route: Route, exchange: Exchange) -> None:
        """Serve a redirected document: set the cookies, then navigate to the redirect's target.

        A fulfilled redirect would send the browser past our routes, to the network.
        """
        session = self._session
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
        self._background.start(self._navigate(request, frame, continuation))

    async def _navigate(self, request: Request, frame: Frame, continuation: RedirectContinuation) -> None:
        from playwright.async_api import Error

        target = continuation.target
        if "#" not in target and not self._session.requested_url:
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
            self._session.tracker.changed.set()

    def _on_context_closed(self) -> None:
        """End Playwright's tasks for unanswered requests, of which asyncio would warn when its loop is gone."""
        self._ended_routes.extend(asyncio.ensure_future(_end(route)) for route in self._unanswered)

    async def _fulfill(self, route: Route, status: int, headers: HeaderPairs, body: bytes) -> None:
        from playwright.async_api import Error

        try:
            await route.fulfill(status=status, headers=served_headers(headers, route.request.method), body=body)
        except Error:
            self._session.tracker.changed.set()  # as above
        finally:
            if any(name.lower() in COOKIE_HEADERS for name, _ in headers):
                self._session.cookies.note_change()

    @property
    def _now_s(self) -> float:
        """Return page time as a Unix timestamp, in seconds."""
        session = self._session
        return (session.environment.clock_start_ms + session.timeline.now_ms) / 1000


async def _end(route: Route) -> None:
    """End a route of a context that is closed."""
    from playwright.async_api import Error

    with suppress(Error):  # it was handled after all
        await route.fallback()
