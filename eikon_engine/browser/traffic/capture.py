"""Record the network of a live session, exchange by exchange, as each one ends."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.frames import frame_of, frame_path
from eikon_engine.browser.page_reports import listen_to_reports, stop_listening
from eikon_engine.browser.playwright_internals import impl_of
from eikon_engine.browser.redaction import redact_body, redact_headers, redact_response_headers
from eikon_engine.browser.request_keys import counting_key, redacted_key
from eikon_engine.browser.request_tracker import (
    FIRST_ERROR_STATUS,
    NON_NETWORK_SCHEMES,
    NULL_BODY_STATUSES,
    dropped_response,
    first_request,
    last_request,
)
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.traffic.streams import EVENT_STREAM, StreamCapture
from eikon_engine.errors import EikonError
from eikon_engine.network.exchange import (
    ABORTED_ERROR,
    FETCH_TYPES,
    Exchange,
    Hop,
    Piece,
    RecordedRequest,
    RecordedResponse,
)
from eikon_engine.network.long_tasks import LongTask
from eikon_engine.network.unsent import is_unsafe
from eikon_engine.network.websocket import INLINE_LIMIT, SocketAccepted, SocketClosed, SocketMessage, SocketOpened
from eikon_engine.trace.execution import LostData

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping, Sequence

    from playwright.async_api import Page, Request, Response

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.streams import ResponseStream
    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.network.exchange import Moment
    from eikon_engine.network.store import NetworkWriter
    from eikon_engine.network.websocket import SocketSide

SCRIPT_URL_SCHEMES: Final = ("blob:", "data:")
"""Prefixes of URLs that need no network."""
FINISH_TIMEOUT_S: Final = 0.9
"""Wall time for which a page that is about to close stays open until its responses are read."""
FINISH_INTERVAL_S: Final = 0.01
CLOSE_TIMEOUT_S: Final = 1.0
"""Wall time that it then has to close: scripts may not close each window."""
UNREAD_ERROR_TYPES: Final = frozenset({"font", "manifest", "other", "script", "stylesheet"})
"""Resource types whose body is of no use if it is an error, such as a missing script of a worker (type `other`)."""
TRIGGERING_TYPES: Final = frozenset({"document", "stylesheet"})
"""Resource types that trigger further requests while they load."""


class NetworkCapture:
    """Listen to a context and write its exchanges.

    An exchange is identified by its first request; redirects become its hops. Bodies are read as soon as a request
    ends: the browser discards them with the next document.
    """

    def __init__(self, session: Session, writer: NetworkWriter) -> None:
        """Listen from now on; the stabilizer waits for bodies that are being read."""
        self._session = session
        self._writer = writer
        self._streams = StreamCapture(session)
        self._ordinals: dict[Request, int] = {}
        self._started: dict[Request, tuple[float, int]] = {}
        """Page time and phase in which requests were sent."""
        self._occurrence_and_frame: dict[Request, tuple[int, str]] = {}
        self._occurrences: Counter[str] = Counter()
        self._unsafe_of_pages: Counter[str] = Counter()
        """How often pages sent each unsafe request, by method and URL without query."""
        self._unsafe_of_workers: Counter[str] = Counter()
        """The same for service workers, which also pass on those of pages."""
        self._ends: dict[Request, Moment] = {}
        """Issued when the end is reported, since bodies are read in any order."""
        self._response_began: dict[Request, Moment] = {}
        """When responses began that may trigger further requests before they end."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing_pages: set[Page] = set()
        """Pages that close themselves, until they have closed."""
        self._awaiting_download: list[tuple[Request, Request, str]] = []
        """First and last requests of exchanges that may have become downloads, with their redacted URL."""
        self._is_closed = False
        """Whether nothing is written any more: an attached context goes on after its recording."""
        self.warnings: list[str] = []
        self._lost: list[LostData] = []
        self._lost_bodies: list[LostData] = []
        """Those of requests, with the secrets replaced that were known when they were first asked for."""
        session.stabilizer.event_collectors.append(self._streams.collect_events)
        session.context.on("request", self._on_request)
        session.context.on("requestfinished", self._on_end)
        session.context.on("requestfailed", self._on_end)
        session.context.on("response", self._on_response)
        session.stabilizer.pending_work.append(lambda: len(self._tasks) + len(self._closing_pages))
        if isinstance(session.traffic, LiveTraffic) and session.traffic.sockets is not None:
            session.traffic.sockets.listeners.append(self)

    async def start(self) -> None:
        """Record streamed bodies too, and keep windows that close themselves open until their responses are read.

        Call this before the first action; the latter needs init_reports.js in every document.
        """
        await self._streams.start()
        await listen_to_reports(self._session.context, self._on_report)

    def _on_report(
        self, page: Page, _document: tuple[object, ...], report: Mapping[str, Any]
    ) -> Awaitable[None] | None:
        if report["subject"] == "long-tasks" and not self._is_closed:
            self._write_long_tasks(report["tasks"])
        return self.finish_page(page) if report["subject"] == "window" else None

    def _write_long_tasks(self, tasks: Iterable[tuple[float, float]]) -> None:
        """Write long tasks as a document reports them, in Unix time."""
        page_ms = self._session.timeline.page_ms
        try:
            self._writer.append_long_tasks(
                LongTask(begun_ms=round(page_ms(begun_ms)), ended_ms=round(page_ms(ended_ms)))
                for begun_ms, ended_ms in tasks
            )
        except EikonError as error:
            self._session.tracker.fail(error)

    async def finish_page(self, page: Page) -> None:
        """Wait, for a bounded time, until the responses that a page is receiving are written; then it closes.

        Its other requests, and its streams, are cancelled as by any window that closes.
        """
        deadline = time.monotonic() + FINISH_TIMEOUT_S
        arriving = {request for request in self._ordinals if self._is_arriving(request, page)}
        self._closing_pages.add(page)
        page.once("close", self._forget_closing_page)
        try:
            while time.monotonic() < deadline:
                if not arriving & self._ordinals.keys():
                    return
                await asyncio.sleep(FINISH_INTERVAL_S)
        finally:
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT_S, self._forget_closing_page, page)

    def _is_arriving(self, request: Request, page: Page) -> bool:
        """Whether a page has received a part of the response to a request, or all of it, that is not written yet."""
        frame = frame_of(request)
        if frame is None or impl_of(frame.page) is not impl_of(page):
            return False
        last, requests = last_request(request), self._session.tracker.requests
        return (
            last.existing_response is not None and last not in requests.event_streams and not requests.is_stream(last)
        )

    def _forget_closing_page(self, page: Page) -> None:
        self._closing_pages.discard(page)

    async def wait_for_new_pages(self) -> None:
        """Wait until the pages that have just opened are listened to."""
        await self._streams.wait_for_new_pages()

    def on_opened(self, socket: int, url: str) -> None:
        """Record that a page opened a WebSocket."""
        self._session.detect_in_text(url, by_page=True)
        url = self._session.redactor.redact_text(url)
        self._writer.append_socket(SocketOpened(socket=socket, url=url, moment=self._session.timeline.moment()))

    def on_accepted(self, socket: int, protocol: str, extensions: str) -> None:
        """Record that the server accepted a connection."""
        moment = self._session.timeline.moment()
        self._writer.append_socket(
            SocketAccepted(socket=socket, protocol=protocol, extensions=extensions, moment=moment)
        )

    def on_message(self, socket: int, sender: SocketSide, content: str | bytes) -> None:
        """Record a message."""
        binary, moment = isinstance(content, bytes), self._session.timeline.moment()
        if isinstance(content, str):
            self._session.detect_in_text(content, by_page=sender == "page")
        data = self._session.redactor.redact_bytes(content if isinstance(content, bytes) else content.encode())
        inline = not binary and len(data) <= INLINE_LIMIT
        message = SocketMessage(
            socket=socket,
            sender=sender,
            binary=binary,
            text=data.decode() if inline else None,
            body=None if inline else self._writer.write_blob(data),
            moment=moment,
        )
        self._writer.append_socket(message)

    def on_closed(self, socket: int, closer: SocketSide, code: int | None, reason: str) -> None:
        """Record that one side closed a socket."""
        moment = self._session.timeline.moment()
        reason = self._session.redactor.redact_text(reason)
        self._writer.append_socket(SocketClosed(socket=socket, closer=closer, code=code, reason=reason, moment=moment))

    @property
    def lost(self) -> tuple[LostData, ...]:
        """Return what could not be kept."""
        for request, why in self._session.request_bodies.lost[len(self._lost_bodies) :]:
            url = self._session.redactor.redact_text(request.url)
            self._lost_bodies.append(LostData(what=f"the body of the request {request.method} {url}", why=why))
        return tuple(dict.fromkeys((*self._lost, *self._lost_bodies, *self._lost_of_sockets)))

    @property
    def lost_count(self) -> int:
        """Return how much could not be kept, equal losses counted each."""
        return len(self._lost) + len(self._session.request_bodies.lost) + len(self._lost_of_sockets)

    @property
    def _lost_of_sockets(self) -> Sequence[LostData]:
        traffic = self._session.traffic
        sockets = traffic.sockets if isinstance(traffic, LiveTraffic) else None
        return () if sockets is None else sockets.lost

    def _lose(self, what: str, why: str, warning: str) -> None:
        self._lost.append(LostData(what=what, why=why))
        self.warnings.append(warning)

    def take_download(self, url: str, name: str, content: bytes) -> None:
        """Complete the exchange that became a download; a file made by a script has none."""
        if url.startswith(SCRIPT_URL_SCHEMES):
            return
        redact = self._session.redactor.redact_text
        # The latest: an earlier one with the same URL may have been cancelled by the navigation after it.
        candidates = (each for each in reversed(self._awaiting_download) if url in {each[2], redact(each[1].url)})
        found = next(candidates, None)
        if found is None:
            self.warnings.append(f"no recorded request for the download {name}: {url}")
            return
        self._awaiting_download.remove(found)
        response = RecordedResponse(
            url=url,
            status=200,
            headers=(
                ("content-type", "application/octet-stream"),
                ("content-disposition", f'attachment; filename="{_escape_quotes(name)}"'),
            ),
            body=self._writer.write_blob(redact_body(self._session, content, "")),
        )
        self._write(found[0], response=response, hops=(), failure=None, complete=True)

    async def close(self) -> None:
        """Write what is still open: failed requests that became no download, and requests that never ended."""
        if isinstance(self._session.traffic, LiveTraffic) and self._session.traffic.sockets is not None:
            self._session.traffic.sockets.listeners.remove(self)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for line in self._unsafe_of_workers - self._unsafe_of_pages:
            why = "a service worker sent it, and no page; replays have no service worker"
            self._lose(f"the request {line}", why, f"{line} is not recorded: {why}")
        try:
            for root, _, _ in self._awaiting_download:
                self._write(root, response=None, hops=(), failure=ABORTED_ERROR, complete=True)
            self._awaiting_download.clear()
            for request in tuple(self._ordinals):
                await self._write_open(request)
        except EikonError as error:
            self._session.tracker.fail(error)
        finally:
            self._is_closed = True
            stop_listening(self._session.context, self._on_report)
            for task in self._tasks:
                task.cancel()
            await self._streams.stop()
            self.warnings.extend(self._streams.warnings())

    def _on_request(self, request: Request) -> None:
        if self._is_closed:
            return
        self._session.detect_in_request(request)
        if request.redirected_from is not None or request.url.startswith(NON_NETWORK_SCHEMES):
            return
        is_of_worker = request.service_worker is not None
        if is_unsafe(request.method, request.resource_type):
            url, _, _ = request.url.partition("?")  # a worker that passes on a request may change its query
            line = f"{request.method} {self._session.redactor.redact_text(url)}"
            (self._unsafe_of_workers if is_of_worker else self._unsafe_of_pages)[line] += 1
        if is_of_worker:
            return  # replays have no service worker, and the response of the page's own request is recorded
        key = counting_key(self._session, request)
        self._ordinals[request] = sum(self._occurrences.values())
        self._occurrence_and_frame[request] = (self._occurrences[key], frame_path(frame_of(request)))
        self._occurrences[key] += 1
        self._started[request] = (self._session.timeline.now_ms, self._session.timeline.phase)

    def _on_response(self, response: Response) -> None:
        if response.request.resource_type in TRIGGERING_TYPES:
            self._response_began[first_request(response.request)] = self._session.timeline.moment()

    def _on_end(self, request: Request) -> None:
        root = first_request(request)
        if root not in self._ordinals or self._is_closed:
            return
        self._ends[root] = self._session.timeline.moment()
        task = asyncio.ensure_future(self._record(root, request))
        self._tasks.add(task)
        task.add_done_callback(self._on_recorded)

    def _on_recorded(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._session.tracker.changed.set()
        fault = None if task.cancelled() else task.exception()
        if isinstance(fault, EikonError):
            self._session.tracker.fail(fault)
        elif fault is not None:
            self._lose("an exchange", str(fault).splitlines()[0], f"could not record an exchange: {fault}")

    async def _record(self, root: Request, last: Request) -> None:
        await self._complete_body(root)
        if (dropped := dropped_response(last)) is not None:
            response = await self._response(dropped, has_body=False)
            self._write(root, response=response, hops=await self._hops(root, last), failure=None, complete=True)
            await self._streams.forget(last)
            return
        if last.failure is not None:
            await self._record_failed(root, last)
            return
        answer = await _response_of(last)
        if last.redirected_to is not None:
            return  # a redirect: the request that it led to ends the exchange
        hops = await self._hops(root, last)
        if answer is None:
            self._write(root, response=None, hops=hops, failure="net::ERR_EMPTY_RESPONSE", complete=True)
            return
        stream = await self._streams.finished_stream(last)
        response = await self._response(answer)
        pieces = (
            () if is_attachment(answer) else _pieces(stream, response.body) or self._early_piece(root, response.body)
        )
        self._write(root, response=response, hops=hops, failure=None, complete=True, pieces=pieces)
        await self._streams.forget(last)

    async def _record_failed(self, root: Request, last: Request) -> None:
        stream = await self._streams.finished_stream(last)
        if stream is not None and last.existing_response is not None:
            await self._write_stream(root, last, stream, complete=True)
            await self._streams.forget(last)
            return
        response = await self._cut_off_response(last)
        if response is not None:
            pieces = self._early_piece(root, response.body)
            hops = await self._hops(root, last)
            self._write(root, response=response, hops=hops, failure=None, complete=True, pieces=pieces)
            return
        self._warn_uncaptured(last, stream)
        if last.failure == ABORTED_ERROR and last.is_navigation_request():
            self._awaiting_download.append((root, last, self._session.redactor.redact_text(last.url)))
            return
        self._write(root, response=None, hops=await self._hops(root, last), failure=last.failure, complete=True)

    async def _cut_off_response(self, request: Request) -> RecordedResponse | None:
        """Return the whole response to a request that Playwright calls cancelled; None if there is none.

        Playwright cancels what has not been reported as finished when the next document is committed. On a busy machine
        that may be a response to which a script reacted by leaving the page.
        """
        from playwright.async_api import Error

        answer = request.existing_response
        if request.resource_type not in FETCH_TYPES or request.failure != ABORTED_ERROR or answer is None:
            return None
        length = answer.headers.get("content-length")
        try:
            body = b"" if length == "0" else await answer.body()
        except Error:
            body = None
        is_whole = body is not None and (
            length is None or "content-encoding" in answer.headers or length == str(len(body))
        )
        if is_whole:
            return await self._response(answer, has_body=length != "0")
        if is_unsafe(request.method, request.resource_type):
            url = self._session.redactor.redact_text(request.url)
            why = "its page left before its end was known"
            self._lose(f"the response to {request.method} {url}", why, f"{request.method} {url}: {why}")
        return None

    def _early_piece(self, root: Request, body: BlobRef | None) -> tuple[Piece, ...]:
        """Return a piece that delivers a response as early as anything that it may have triggered before it ended."""
        begun, ended = self._response_began.pop(root, None), self._ends.get(root)
        if begun is None or ended is None or ended.order == begun.order + 1:
            return ()
        return (Piece(length=body.size if body is not None else 0, moment=begun),)

    async def _complete_body(self, request: Request) -> None:
        """Wait for the body of a request, and for those of earlier requests that may be the same."""
        bodies = self._session.request_bodies
        if bodies.is_awaited(request):
            await asyncio.gather(*map(bodies.complete, (*bodies.awaited_before(request), request)))

    async def _write_open(self, request: Request) -> None:
        """Write a request that did not end: a fetch with what arrived so far, any other as pending."""
        from playwright.async_api import Error

        await self._complete_body(request)
        last = last_request(request)
        stream = await self._streams.stream(last)
        if stream is not None and last.existing_response is not None:
            try:
                await self._write_stream(request, last, stream, complete=False)
            except Error as error:
                reason = error.message.splitlines()[0]
                url = self._session.redactor.redact_text(last.url)
                self._lose(f"the response of {url}", reason, f"could not record an exchange: {reason}")
            else:
                return
        self._warn_uncaptured(last, stream)
        self._write(request, response=None, hops=(), failure=None, complete=False)

    def _warn_uncaptured(self, request: Request, stream: ResponseStream | None) -> None:
        """Warn about an event stream that was not captured."""
        answer = request.existing_response
        if stream is None and answer is not None and answer.headers.get("content-type", "").startswith(EVENT_STREAM):
            url = self._session.redactor.redact_text(request.url)
            why = "it was requested by a page before we listened, by a worker, or by a cross-site frame"
            self._lose(f"the event stream {url}", why, f"{url}: its events were not captured: {why}; replays omit them")

    async def _write_stream(self, root: Request, last: Request, stream: ResponseStream, *, complete: bool) -> None:
        """Write an incomplete body: that of an event source, or one that was cancelled or broke off."""
        answer = last.existing_response
        if answer is None:
            return
        content = b"".join(stream.content)
        if len(content) < stream.size:
            lost = f"{stream.size - len(content)} of {stream.size} bytes of an incomplete body were lost"
            url = self._session.redactor.redact_text(last.url)
            self._lose(f"the response of {url}", lost, f"{url}: {lost}")
        if len(content) != stream.size:
            stream.moments[1:] = [(len(content), stream.moments[-1][1])] if content else []
        headers = await redact_response_headers(self._session, answer)
        clean = redact_body(self._session, content, answer.headers.get("content-type", ""))
        body = self._writer.write_blob(clean) if content else None
        response = RecordedResponse(
            url=self._session.redactor.redact_text(answer.url),
            status=answer.status,
            status_text=answer.status_text,
            headers=headers,
            body=body,
        )
        pieces = _pieces(stream, body, whole=False) or _as_two_pieces(stream, body)
        hops = await self._hops(root, last)
        failure = last.failure if complete and last.failure != ABORTED_ERROR and not stream.is_event_stream else None
        self._write(root, response=response, hops=hops, failure=failure, complete=complete, pieces=pieces)

    async def _response(self, answer: Response, *, has_body: bool = True) -> RecordedResponse:
        from playwright.async_api import Error

        body: BlobRef | None = None
        missing: str | None = None
        headers = await redact_response_headers(self._session, answer)
        redirect = HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST
        is_readable = answer.request.method != "HEAD" and answer.request.resource_type != "ping"
        if has_body and is_readable and not redirect and answer.status not in NULL_BODY_STATUSES:
            try:
                data = redact_body(self._session, await answer.body(), answer.headers.get("content-type", ""))
                body = self._writer.write_blob(data)
            except Error as error:
                if answer.status < FIRST_ERROR_STATUS or answer.request.resource_type not in UNREAD_ERROR_TYPES:
                    missing = error.message.splitlines()[0]
                    url = self._session.redactor.redact_text(answer.url)
                    self._lose(f"the body of {url}", missing, f"could not read the body of {url}: {missing}")
        return RecordedResponse(
            url=self._session.redactor.redact_text(answer.url),
            status=answer.status,
            status_text=answer.status_text,
            headers=headers,
            body=body,
            body_missing=missing,
        )

    async def _hops(self, root: Request, last: Request) -> tuple[Hop, ...]:
        hops: list[Hop] = []
        step: Request | None = root
        while step is not None and step is not last:
            answer = await step.response()
            if answer is not None:
                headers = await redact_response_headers(self._session, answer)
                hops.append(
                    Hop(url=self._session.redactor.redact_text(step.url), status=answer.status, headers=headers)
                )
            step = step.redirected_to
        return tuple(hops)

    def _write(
        self,
        root: Request,
        *,
        response: RecordedResponse | None,
        hops: tuple[Hop, ...],
        failure: str | None,
        complete: bool,
        pieces: tuple[Piece, ...] = (),
    ) -> None:
        ordinal = self._ordinals.pop(root, None)
        if ordinal is None:
            return
        occurrence, frame = self._occurrence_and_frame.pop(root)
        if self._session.request_bodies.was_awaited(root):
            key = counting_key(self._session, root)
            before = self._session.request_bodies.awaited_before(root)
            occurrence = sum(counting_key(self._session, each) == key for each in before)
        started, started_phase = self._started.pop(root)
        ended = self._ends.pop(root, None) if complete else None
        if ended is not None and pieces:
            pieces, ended = _before_end(pieces, ended)
        self._writer.append(
            Exchange(
                ordinal=ordinal,
                key=redacted_key(self._session, root),
                occurrence=occurrence,
                request=self._request(root, frame),
                hops=hops,
                response=response,
                failure=failure,
                started_ms=started,
                started_phase=started_phase,
                completed_ms=None if ended is None else max(started, ended.at_ms),
                completion=None if ended is None else ended.order,
                phase=0 if ended is None else ended.phase,
                pieces=pieces,
            )
        )

    def _request(self, request: Request, frame: str) -> RecordedRequest:
        redactor = self._session.redactor
        body = self._session.request_bodies.of(request)
        return RecordedRequest(
            method=request.method,
            url=redactor.redact_text(request.url),
            headers=redact_headers(self._session, sorted(request.headers.items())),
            body=None if not body else self._writer.write_blob(redactor.redact_bytes(body)),
            resource_type=request.resource_type,
            is_navigation=request.is_navigation_request(),
            frame=frame,
        )


async def _response_of(request: Request) -> Response | None:
    """Return the response of a request that ended.

    The driver is asked only where that response may be a redirect: it reports the next request meanwhile.
    """
    known = request.existing_response
    is_final = known is not None and not HTTPStatus.MULTIPLE_CHOICES <= known.status < HTTPStatus.BAD_REQUEST
    return known if is_final else await request.response()


def is_attachment(answer: Response) -> bool:
    """Whether a response is an attachment (RFC 6266, section 4.2), which is delivered when complete."""
    return answer.headers.get("content-disposition", "").lower().lstrip().startswith("attachment")


def _pieces(stream: ResponseStream | None, body: BlobRef | None, *, whole: bool = True) -> tuple[Piece, ...]:
    """Return the pieces of a body, if there are several and all were captured; redaction may change its size."""
    if stream is None or (whole and not stream.has_pieces) or stream.size != (body.size if body is not None else 0):
        return ()
    return tuple(Piece(length=length, moment=moment) for length, moment in stream.moments)


def _as_two_pieces(stream: ResponseStream, body: BlobRef | None) -> tuple[Piece, ...]:
    """Return headers and body as two pieces, for a body whose pieces are unknown because it was redacted."""
    (_, begun), (_, last) = stream.moments[0], stream.moments[-1]
    rest = (Piece(length=body.size, moment=last),) if body is not None else ()
    return (Piece(length=0, moment=begun), *rest)


def _before_end(pieces: tuple[Piece, ...], end: Moment) -> tuple[tuple[Piece, ...], Moment]:
    """Move pieces that were reported only after the end before it."""
    late = [piece for piece in pieces if piece.moment.order > end.order]
    if not late:
        return pieces, end
    last = Piece(length=sum(piece.length for piece in late), moment=end)
    on_time = tuple(piece for piece in pieces if piece.moment.order < end.order)
    return (*on_time, last), end.model_copy(update={"order": late[-1].moment.order})


def _escape_quotes(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')
