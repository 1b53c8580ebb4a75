"""Track the requests of a context: in flight, streaming, blocking a document, failed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.frames import frame_of
from eikon_engine.network.exchange import ABORTED_ERROR, FETCH_TYPES, SAFE_METHODS
from eikon_engine.outcome.outcomes import FailedRequest, RequestTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.async_api import BrowserContext, ConsoleMessage, Frame, Page, Request, Response

    from eikon_engine.browser.page_timeline import PageTimeline

BLOCKS_MARK: Final = "\0eikon-blocks:"
"""Prefix of the console message that a document writes before it sends a synchronous request, with method and URL."""
RESUMES_MARK: Final = "\0eikon-resumes:"
"""Prefix of the console message when the request has ended."""


class BlockingRequests:
    """The requests that block documents of a context."""

    def __init__(self, context: BrowserContext) -> None:
        """Listen to the console from now on."""
        self._open: Counter[str] = Counter()
        """Number of requests that block, by method and URL; none with zero."""
        self.listeners: list[Callable[[], None]] = []
        """Called when a document blocks or resumes."""
        context.on("console", self._on_console)

    def __contains__(self, request: Request) -> bool:
        """Whether a document is blocked on this request."""
        if not self._open:
            return False
        name = f"{request.method} {request.url}".partition("#")[0]
        return request.resource_type == "xhr" and self._open[name] > 0

    async def wait_for_change(self) -> None:
        """Wait until a document blocks or resumes."""
        changed = asyncio.Event()
        self.listeners.append(changed.set)
        try:
            await changed.wait()
        finally:
            self.listeners.remove(changed.set)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.text.startswith(BLOCKS_MARK):
            self._note(message, BLOCKS_MARK, 1)
        elif message.text.startswith(RESUMES_MARK):
            self._note(message, RESUMES_MARK, -1)
        else:
            return
        for notify in tuple(self.listeners):
            notify()

    def _note(self, message: ConsoleMessage, mark: str, change: int) -> None:
        name = message.text.removeprefix(mark).partition("#")[0]
        still_open = self._open[name] + change
        if still_open > 0:
            self._open[name] = still_open
        else:
            self._forget(name)
        if change > 0 and message.page is not None:  # a closed page never resumes
            message.page.once("close", lambda _: self._forget(name))

    def _forget(self, name: str) -> None:
        self._open.pop(name, None)


LONG_LIVED_TYPES: Final = frozenset({"eventsource", "websocket", "ping"})
"""Resource types that stay open for the life of a page, and never keep it busy."""
STREAM_S: Final = 1.0
"""Wall time after which an unfinished body counts as a stream that lasts for the life of the page."""
ARRIVAL_S: Final = 0.25
"""Wall time for which a message waits for a response that may reach its page first."""
NO_DOCUMENT_STATUSES: Final = (204, 205)
"""Statuses after which a page keeps its document."""
FIRST_ERROR_STATUS: Final = 400
NULL_BODY_STATUSES: Final = frozenset({101, 103, 204, 205, 304})
"""Statuses of responses without a body (https://fetch.spec.whatwg.org/#null-body-status)."""
LOGGED_TRAFFIC: Final = 10_000
"""How many of the last requests and responses a session remembers."""
NON_NETWORK_SCHEMES: Final = ("data:", "blob:", "about:", "javascript:")


@dataclass(slots=True)
class _TimedRequest:
    """When a request was sent and answered, on the clock of `time.perf_counter`."""

    request: Request
    sent_s: float
    ended_s: float | None = None


class RequestTimes:
    """When the last requests of a context were sent and answered, in wall time."""

    def __init__(self, context: BrowserContext) -> None:
        """Listen to the context from now on."""
        self._latest: deque[_TimedRequest] = deque(maxlen=LOGGED_TRAFFIC)
        self._open: dict[Request, _TimedRequest] = {}
        context.on("request", self._on_request)
        context.on("requestfinished", self._on_end)
        context.on("requestfailed", self._on_end)

    def take(self, begin_s: float, redact: Callable[[str], str]) -> tuple[RequestTime, ...]:
        """Return the requests that were sent since the last call, as far as they got.

        `begin_s` is the time of the same clock as of which they are given.
        """
        taken = tuple(_describe_timed(each, begin_s, redact) for each in self._latest)
        self._latest.clear()
        self._open.clear()
        return taken

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(NON_NETWORK_SCHEMES):
            self._open[request] = timed = _TimedRequest(request, time.perf_counter())
            self._latest.append(timed)

    def _on_end(self, request: Request) -> None:
        if (timed := self._open.pop(request, None)) is not None:
            timed.ended_s = time.perf_counter()


def _describe_timed(timed: _TimedRequest, begin_s: float, redact: Callable[[str], str]) -> RequestTime:
    request, response = timed.request, timed.request.existing_response
    return RequestTime(
        method=request.method,
        url=redact(request.url),
        begin_ms=(timed.sent_s - begin_s) * 1000,
        duration_ms=None if timed.ended_s is None else (timed.ended_s - timed.sent_s) * 1000,
        what=str(response.status) if response is not None else request.failure or "",
    )


class RequestTracker:
    """Follow each request from its beginning to its end."""

    def __init__(self, context: BrowserContext, changed: asyncio.Event) -> None:
        """Listen to the context; `changed` is set whenever a request begins or ends."""
        self.in_flight: set[Request] = set()
        self.event_streams: set[Request] = set()
        """Event streams that have not ended; nothing waits for their end."""
        self.response_began: dict[Request, float] = {}
        """When the response to a request in flight began, on the monotonic clock."""
        self.sent_at: dict[Request, float] = {}
        """When the requests in flight were sent, on the same clock."""
        self._overdue: set[Request] = set()
        """Requests in flight whose wait timed out."""
        self.unanswered: set[Request] = set()
        """Requests that were not waited for any longer, and have neither ended nor failed."""
        self.uncommitted_documents: set[Request] = set()
        """Documents whose response has arrived and that no frame shows yet."""
        self.event_count = 0
        """How many requests began or ended."""
        self.failed: list[FailedRequest] = []
        """Requests without a response, or with a status from 400 on, since the session began."""
        self.times = RequestTimes(context)
        self._longest_s = 0.0
        self.blocking = BlockingRequests(context)
        self._changed = changed
        self._end_events: dict[Request, asyncio.Event] = {}
        self._has_navigated = False
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfinished", self._on_request_finished)
        context.on("requestfailed", self._on_request_failed)

    def is_navigating(self, page: Page) -> bool:
        """Whether a page waits for the document that replaces its own."""
        navigations = (
            request
            for request in self.in_flight
            if request.is_navigation_request() and request.existing_response is None
        )
        return any(frame_of(request) is page.main_frame for request in navigations)

    def is_stream(self, request: Request) -> bool:
        """Whether a response began so long ago that its end is not waited for."""
        begun = self.response_began.get(request)
        return begun is not None and request.resource_type in FETCH_TYPES and time.monotonic() - begun > STREAM_S

    def take_navigation_end(self) -> bool:
        """Return whether a navigation ended since the last call."""
        arrived, self._has_navigated = self._has_navigated, False
        return arrived

    def take_longest_s(self) -> float:
        """Return the longest wall time, in seconds, that a response took to begin since the last call.

        A cancelled request has none; one that failed, or that was not waited for any longer, took until then.
        """
        longest, self._longest_s = self._longest_s, 0.0
        return longest

    async def wait_until_ended(self, request: Request) -> None:
        """Wait until a request in flight ends, fails or is forgotten."""
        if request in self.in_flight:
            await self._end_events.setdefault(request, asyncio.Event()).wait()

    async def wait_for_arriving_responses(self) -> None:
        """Wait at most `ARRIVAL_S` for responses that have begun, or whose requests were sent within `STREAM_S`.

        Each request is waited for once: one that has not ended by then may be a long poll or a stream.
        """
        now = time.monotonic()
        arriving = [
            request
            for request in self.in_flight - self._overdue
            if (request in self.response_began and not self.is_stream(request))
            or now - self.sent_at.get(request, now) < STREAM_S
        ]
        with suppress(TimeoutError):
            async with asyncio.timeout(ARRIVAL_S):
                for request in arriving:
                    await self.wait_until_ended(request)
        self._overdue |= self.in_flight.intersection(arriving)

    def note_sent(self, request: Request) -> None:
        """Note that a request in flight is sent only now."""
        if request in self.sent_at:
            self.sent_at[request] = time.monotonic()

    def forget(self, request: Request, *, is_unanswered: bool = False) -> None:
        """Stop waiting for a request; one that `is_unanswered` may still end."""
        if is_unanswered:
            self._note_response_time(request)
        self._end(request)
        if is_unanswered:
            self.unanswered.add(request)
        self.uncommitted_documents.discard(request)
        self._changed.set()

    def forget_page(self, page: Page) -> None:
        """Stop waiting for the requests of a page that closed."""
        for request in (*self.in_flight, *self.uncommitted_documents, *self.unanswered):
            frame = frame_of(request)
            if frame is not None and frame.page is page:
                self.forget(request)

    def note_commit(self, frame: Frame) -> None:
        """Note that a frame shows its next document, or is gone."""
        for request in tuple(self.uncommitted_documents):
            if frame_of(request) in {frame, None}:
                self.uncommitted_documents.discard(request)
        self._changed.set()

    def _end(self, request: Request) -> None:
        self.event_streams.discard(request)
        self.in_flight.discard(request)
        self.unanswered.discard(request)
        self.response_began.pop(request, None)
        self.sent_at.pop(request, None)
        self._overdue.discard(request)
        if (awaited := self._end_events.pop(request, None)) is not None:
            awaited.set()

    def _on_request(self, request: Request) -> None:
        if request.url.startswith(NON_NETWORK_SCHEMES):
            return
        self.event_count += 1
        if request.resource_type not in LONG_LIVED_TYPES:
            self.in_flight.add(request)
            self.sent_at[request] = time.monotonic()
            self._changed.set()

    def _on_response(self, response: Response) -> None:
        request = response.request
        if response.status >= FIRST_ERROR_STATUS:
            self._note_failed(request, str(response.status))
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            self._note_response_time(request)
            self.sent_at.pop(request, None)
            self.in_flight.discard(request)
            self.event_streams.add(request)
        elif request in self.in_flight:
            self._note_response_time(request)
            self.response_began[request] = time.monotonic()
        if not request.is_navigation_request():
            return
        frame = frame_of(request)
        brings_document = (
            response.ok or response.status >= FIRST_ERROR_STATUS
        ) and response.status not in NO_DOCUMENT_STATUSES
        if frame is not None and frame.parent_frame is None and brings_document:
            self.uncommitted_documents.add(request)

    def _note_response_time(self, request: Request) -> None:
        if request in self.sent_at and request not in self.response_began:
            self._longest_s = max(self._longest_s, time.monotonic() - self.sent_at[request])

    def _on_request_finished(self, request: Request) -> None:
        self.event_count += 1
        self._has_navigated = self._has_navigated or request.is_navigation_request()
        self._note_response_time(request)
        self._end(request)
        self._changed.set()

    def _on_request_failed(self, request: Request) -> None:
        self.event_count += 1
        self._has_navigated = self._has_navigated or request.is_navigation_request()
        if request.failure is not None and request.failure != ABORTED_ERROR:
            self._note_failed(request, request.failure)
            self._note_response_time(request)
        self.forget(request)

    def _note_failed(self, request: Request, what: str) -> None:
        if not request.url.startswith(NON_NETWORK_SCHEMES):
            self.failed.append(FailedRequest(method=request.method, url=request.url, what=what))


@dataclass(frozen=True, slots=True)
class LoggedTraffic:
    """A request that was sent, or a response that began to arrive."""

    step: int
    """Number of steps that had begun by then."""
    at_ms: float
    """Page time."""
    request: Request
    status: int | None = None
    """Status of the response; None for a request."""

    @property
    def page(self) -> Page | None:
        """Return the page that sent the request; None for a service worker."""
        frame = frame_of(self.request)
        return None if frame is None else frame.page


class TrafficLog:
    """The last requests and responses of a context, with the steps that they belong to."""

    def __init__(self, context: BrowserContext, timeline: PageTimeline) -> None:
        """Listen to the context from now on."""
        self._timeline = timeline
        self._entries: deque[LoggedTraffic] = deque(maxlen=LOGGED_TRAFFIC)
        context.on("request", self._on_request)
        context.on("response", self._on_response)

    def since(self, step: int) -> Iterator[LoggedTraffic]:
        """Yield what was sent and received since a step began, in order."""
        return (each for each in self._entries if each.step >= step)

    def since_wait(self, step: int, begun_ms: float) -> Iterator[LoggedTraffic]:
        """Yield what was sent and received since a wait began, at a page time, during or after a step.

        What belongs to later steps came during the wait, even if these took another time in the recording.
        """
        return (each for each in self.since(step) if each.step > step or each.at_ms >= begun_ms)

    def has_unsafe_request_since(self, step: int) -> bool:
        """Return whether something was sent that may change the site, since a step began."""
        return any(each.request.method not in SAFE_METHODS for each in self.since(step))

    def _on_request(self, request: Request) -> None:
        self._entries.append(LoggedTraffic(self._timeline.steps_begun, self._timeline.now_ms, request))

    def _on_response(self, response: Response) -> None:
        timeline = self._timeline
        self._entries.append(LoggedTraffic(timeline.steps_begun, timeline.now_ms, response.request, response.status))


def first_request(request: Request) -> Request:
    """Return the request from which redirects led to this one."""
    while request.redirected_from is not None:
        request = request.redirected_from
    return request


def last_request(request: Request) -> Request:
    """Return the request to which redirects have led from this one so far."""
    while request.redirected_to is not None:
        request = request.redirected_to
    return request


_WORKER_ERROR: Final = "net::ERR_FAILED"
"""Chromium's error of a worker whose script has an error status."""


def dropped_response(request: Request) -> Response | None:
    """Return the response that a failed request got; None for any other request.

    Chromium cancels scripts, style sheets, fonts and objects whose response has a status of 400 or more, and drops the
    body: their requests fail, though the server responded. So do fetches whose response has no body, such as a 304 to a
    script's `If-None-Match`. Other fetches and documents fail for other reasons.
    """
    response, frame = request.existing_response, frame_of(request)
    if request.resource_type in FETCH_TYPES:
        has_no_body = response is not None and response.status in NULL_BODY_STATUSES
        return response if has_no_body and request.failure == ABORTED_ERROR else None
    is_document = request.is_navigation_request() and frame is not None and frame.parent_frame is None
    is_cancelled = request.failure == ABORTED_ERROR or (
        request.failure == _WORKER_ERROR and request.resource_type == "script"
    )
    if response is None or not is_cancelled or is_document:
        return None
    return response if response.status >= FIRST_ERROR_STATUS else None
