"""Track everything that happens in the pages of a session until the next observation, and run background tasks."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from eikon_engine.browser.frames import frame_of, frame_path
from eikon_engine.errors import EikonError, InternalError
from eikon_engine.network.exchange import ABORTED_ERROR, FETCH_TYPES, SAFE_METHODS
from eikon_engine.outcome.outcomes import FailedRequest
from eikon_engine.trace.observation import ObservedDialog, ObservedDownload

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from playwright.async_api import (
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Download,
        Frame,
        Page,
        Request,
        Response,
        WebError,
    )

    from eikon_engine.browser.session import Session

BLOCKS_MARK: Final = "\0eikon-stands:"
"""Prefix of the console message that a document writes before such a request, with its method and URL."""
RESUMES_MARK: Final = "\0eikon-goes-on:"
"""Prefix of the console message when the request has ended."""


class BlockingRequests:
    """The requests that block documents of a context."""

    def __init__(self, context: BrowserContext) -> None:
        """Listen to the console from now on."""
        self._open: Counter[str] = Counter()
        self.listeners: list[Callable[[], None]] = []
        """Called when a document blocks or resumes."""
        context.on("console", self._on_console)

    def __contains__(self, request: Request) -> bool:
        """Whether a document is blocked on this request."""
        asked = f"{request.method} {request.url}".partition("#")[0]
        return request.resource_type == "xhr" and self._open[asked] > 0

    async def wait_for_change(self) -> None:
        """Wait until a document blocks or resumes."""
        came = asyncio.Event()
        self.listeners.append(came.set)
        try:
            await came.wait()
        finally:
            self.listeners.remove(came.set)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.text.startswith(BLOCKS_MARK):
            self._note(message, BLOCKS_MARK, 1)
        elif message.text.startswith(RESUMES_MARK):
            self._note(message, RESUMES_MARK, -1)
        else:
            return
        for hear in tuple(self.listeners):
            hear()

    def _note(self, message: ConsoleMessage, mark: str, change: int) -> None:
        asked = message.text.removeprefix(mark).partition("#")[0]
        self._open[asked] += change
        if change > 0 and message.page is not None:  # a closed page never resumes
            message.page.once("close", lambda _: self._forget(asked))

    def _forget(self, asked: str) -> None:
        self._open.pop(asked, None)


LONG_LIVED_TYPES: Final = frozenset({"eventsource", "websocket", "ping"})
"""Resource types that stay open for the life of a page, and never keep it busy."""
STREAM_S: Final = 1.0
"""Wall time after which an unfinished body counts as a stream that lasts for the life of the page."""
NO_DOCUMENT_STATUSES: Final = (204, 205)
"""Statuses after which a page keeps its document."""
FIRST_ERROR_STATUS: Final = 400
NON_NETWORK_SCHEMES: Final = ("data:", "blob:", "about:", "javascript:")


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogAnswer:
    """How the next dialog is answered."""

    accept: bool
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsafeRequest:
    """A request with an unsafe method, and its sender."""

    request: Request
    page: Page | None
    """None if no page sent it."""
    frame: str = ""
    """Path of the frame at that time."""
    is_from_frame: bool = False
    """Whether only the frame's scripts can have sent it: the page had no workers."""


@dataclass(slots=True, kw_only=True)
class PageEvents:
    """What happened since the last observation."""

    opened: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    dialogs: list[ObservedDialog] = field(default_factory=list)
    downloads: list[tuple[int, Download]] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)
    page_errors: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    unsafe_requests: list[UnsafeRequest] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """Keys of WebSocket traffic."""

    def followed_by(self, later: PageEvents) -> PageEvents:
        """Append later events."""
        return PageEvents(**{each.name: getattr(self, each.name) + getattr(later, each.name) for each in fields(self)})


class PageTracker:
    """Number the pages of a context in the order of opening, and track their events."""

    def __init__(self, context: BrowserContext, *, handles_dialogs: bool = True) -> None:
        """Listen to the context; a page that is already open counts as opened now.

        A dialog listener must answer its dialogs; without `answers_dialogs`, another client does.
        """
        self.pages: list[Page] = []
        self.dialog_answers: list[DialogAnswer] = []
        self.in_flight: set[Request] = set()
        self.event_streams: set[Request] = set()
        """Event streams that have not ended; nothing waits for their end."""
        self.response_began: dict[Request, float] = {}
        """When the response to a request in flight began, on the monotonic clock."""
        self.uncommitted_documents: set[Request] = set()
        """Documents whose response has arrived and that no frame shows yet."""
        self.is_dead: bool = False
        self._has_navigated = False
        self.error: EikonError | None = None
        """An error to raise from the next wait."""
        self.data_events = 0
        """Count of events that no request reports."""
        self.request_events = 0
        """How many requests began or ended, and pages opened."""
        self.failed: list[FailedRequest] = []
        """Requests without a response, or with a status from 400 on, since the session began."""
        self._end_events: dict[Request, asyncio.Event] = {}
        self.changed = asyncio.Event()
        """Set whenever a request begins or ends."""
        self._events = PageEvents()
        context.on("page", self._on_page)
        if handles_dialogs:
            context.on("dialog", self._on_dialog)
        self.blocking_requests = BlockingRequests(context)
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfinished", self._on_request_finished)
        context.on("requestfailed", self._on_request_failed)
        for page in context.pages:
            self._on_page(page)

    def open_pages(self) -> tuple[tuple[int, Page], ...]:
        """Return the open pages with their ordinals."""
        return tuple((ordinal, page) for ordinal, page in enumerate(self.pages) if not page.is_closed())

    def is_navigating(self, page: Page) -> bool:
        """Whether a page waits for the document that replaces its own."""
        asked = (
            request
            for request in self.in_flight
            if request.is_navigation_request() and request.existing_response is None
        )
        return any(frame_of(request) is page.main_frame for request in asked)

    def is_stream(self, request: Request) -> bool:
        """Whether a response began so long ago that its end is not waited for."""
        begun = self.response_began.get(request)
        return begun is not None and request.resource_type in FETCH_TYPES and time.monotonic() - begun > STREAM_S

    def take_events(self) -> PageEvents:
        """Return the events since the last call, and start over."""
        happened, self._events = self._events, PageEvents()
        return happened

    def restore_events(self, happened: PageEvents) -> None:
        """Undo `take`: the next observation includes these events again."""
        self._events = happened.followed_by(self._events)

    @property
    def download_count(self) -> int:
        """Return how many downloads began since the last observation."""
        return len(self._events.downloads)

    def take_navigation_end(self) -> bool:
        """Return whether a navigation ended since the last call."""
        arrived, self._has_navigated = self._has_navigated, False
        return arrived

    async def wait_until_ended(self, request: Request) -> None:
        """Wait until a request in flight ends, fails or is forgotten."""
        if request in self.in_flight:
            await self._end_events.setdefault(request, asyncio.Event()).wait()

    def forget(self, request: Request) -> None:
        """Stop waiting for a request that never ends."""
        self._end(request)
        self.uncommitted_documents.discard(request)
        self.changed.set()

    def _end(self, request: Request) -> None:
        self.event_streams.discard(request)
        self.in_flight.discard(request)
        self.response_began.pop(request, None)
        if (awaited := self._end_events.pop(request, None)) is not None:
            awaited.set()

    def note_dialog(self, dialog: ObservedDialog) -> None:
        """Record a dialog that another client answered."""
        self._events.dialogs.append(dialog)

    def note_key(self, key: str) -> None:
        """Record WebSocket traffic by its key."""
        self._events.keys.append(key)
        self.note_data()

    def note_data(self) -> None:
        """Record that a page received or sent data beside its requests."""
        self.data_events += 1
        self.changed.set()

    def note_browser_gone(self) -> None:
        """Record that the browser is gone."""
        self.is_dead = True
        self.changed.set()

    def fail(self, error: EikonError) -> None:
        """Record that the session cannot continue; the first error counts."""
        self.error = self.error or error
        self.changed.set()

    def ordinal(self, page: Page | None) -> int:
        """Return the number of a page; -1 for None, and for a page of another context."""
        return self.pages.index(page) if page in self.pages else -1

    def _on_page(self, page: Page) -> None:
        self._events.opened.append(len(self.pages))
        self.request_events += 1
        self.pages.append(page)
        page.on("close", self._on_close)
        page.on("crash", self._on_crash)
        page.on("framenavigated", self._on_commit)
        page.on("framedetached", self._on_commit)
        page.on("download", lambda download: self._events.downloads.append((self.ordinal(page), download)))

    def _on_close(self, page: Page) -> None:
        self._events.closed.append(self.ordinal(page))
        for request in (*self.in_flight, *self.uncommitted_documents):
            frame = frame_of(request)
            if frame is not None and frame.page is page:
                self.forget(request)

    def _on_commit(self, frame: Frame) -> None:
        for request in tuple(self.uncommitted_documents):
            if frame_of(request) in {frame, None}:
                self.uncommitted_documents.discard(request)
        self.changed.set()

    def _on_crash(self, _page: Page) -> None:
        self.is_dead = True

    async def _on_dialog(self, dialog: Dialog) -> None:
        from playwright.async_api import Error

        armed = self.dialog_answers.pop(0) if self.dialog_answers and dialog.type != "beforeunload" else None
        accept = armed.accept if armed else dialog.type in {"alert", "beforeunload"}
        answer: Literal["accepted", "dismissed"] = "accepted" if accept else "dismissed"
        kind = dialog.type
        if kind in {"alert", "beforeunload", "confirm", "prompt"}:
            self._events.dialogs.append(
                ObservedDialog(page=self.ordinal(dialog.page), kind=kind, message=dialog.message, answer=answer)  # type: ignore[arg-type] # the set above is the literal
            )
        try:
            if not accept:
                await dialog.dismiss()
            elif armed and armed.text is not None:
                await dialog.accept(armed.text)
            else:
                await dialog.accept(dialog.default_value)  # the prompt's default, as pressing Enter gives
        except Error:
            self.changed.set()  # the page closed with its dialog

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._events.console_errors.append(message.text)

    def _on_error(self, error: WebError) -> None:
        self._events.page_errors.append(f"{error.error.name or 'Error'}: {error.error.message}")

    def _on_request(self, request: Request) -> None:
        if request.url.startswith(NON_NETWORK_SCHEMES):
            return
        self._events.requests.append(request)
        if request.method not in SAFE_METHODS:
            self._note_unsafe_request(request)
        self.request_events += 1
        if request.resource_type not in LONG_LIVED_TYPES:
            self.in_flight.add(request)
            self.changed.set()

    def _note_unsafe_request(self, request: Request) -> None:
        frame = frame_of(request)
        page = frame.page if frame is not None else None
        is_alone = page is not None and not page.workers
        self._events.unsafe_requests.append(
            UnsafeRequest(request=request, page=page, frame=frame_path(frame), is_from_frame=is_alone)
        )

    def _on_response(self, response: Response) -> None:
        request = response.request
        if response.status >= FIRST_ERROR_STATUS:
            self._note_failed(request, str(response.status))
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            self.in_flight.discard(request)
            self.event_streams.add(request)
        elif request in self.in_flight:
            self.response_began[request] = time.monotonic()
        if not request.is_navigation_request():
            return
        self._events.responses.append(response)
        frame = frame_of(request)
        brings_document = (
            response.ok or response.status >= FIRST_ERROR_STATUS
        ) and response.status not in NO_DOCUMENT_STATUSES
        if frame is not None and frame.parent_frame is None and brings_document:
            self.uncommitted_documents.add(request)

    def _on_request_finished(self, request: Request) -> None:
        self.request_events += 1
        self._has_navigated = self._has_navigated or request.is_navigation_request()
        self._end(request)
        self.changed.set()

    def _on_request_failed(self, request: Request) -> None:
        self.request_events += 1
        self._has_navigated = self._has_navigated or request.is_navigation_request()
        if request.failure is not None and request.failure != ABORTED_ERROR:
            self._note_failed(request, request.failure)
        self.forget(request)

    def _note_failed(self, request: Request, what: str) -> None:
        if not request.url.startswith(NON_NETWORK_SCHEMES):
            self.failed.append(FailedRequest(method=request.method, url=request.url, what=what))


async def read_download(page: int, download: Download) -> tuple[ObservedDownload, bytes | None]:
    """Wait for a download to end; return its observation, and its content."""
    from playwright.async_api import Error

    try:
        failure = await download.failure()
        content = Path(await download.path()).read_bytes() if failure is None else None  # noqa: ASYNC240 - a local file
    except Error as error:
        failure, content = error.message.splitlines()[0], None
    if content is None:
        return ObservedDownload(
            page=page, name=download.suggested_filename, sha256=None, size=None, failure=failure
        ), None
    seen = ObservedDownload(
        page=page,
        name=download.suggested_filename,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
    )
    return seen, content


class BackgroundTasks:
    """Tasks whose failures reach the page tracker, and with it the running action."""

    def __init__(self, tracker: PageTracker) -> None:
        """Report failures to `ledger`."""
        self._tracker = tracker
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start a task that runs until it ends or `stop` is called."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    async def stop(self) -> None:
        """Cancel all tasks, and wait for their end."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._tracker.changed.set()
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            self._tracker.fail(_as_eikon_error(fault))


def _as_eikon_error(error: BaseException) -> EikonError:
    if isinstance(error, EikonError):
        return error
    wrapped = InternalError(f"internal error in a background task: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


WORKER_MARK: Final = "\0eikon-worker:"
"""Prefix of the console messages that documents and workers write for us; pages cannot read them."""


class _WorkerReport(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    kind: Literal["native", "failed", "stuck"]
    """Started natively as the page requested; failed to start even so; did not answer in time."""
    address: str


@dataclass(slots=True)
class UninstrumentedWorkers:
    """Workers with real time and randomness, and workers that did not answer in time."""

    _native: dict[str, int] = field(default_factory=dict)
    _stuck: dict[str, int] = field(default_factory=dict)

    def listen(self, session: Session) -> None:
        """Listen to the console messages of a session from now on."""
        session.context.on("console", lambda message: self._on_console(session, message))

    def notes(self) -> tuple[str, ...]:
        """Return what such workers mean for a replay, one line per URL."""
        wild = (
            f"worker: {address} ({times} times) could not be put under the clock of its page, and ran with real time "
            "and randomness; its effects may differ from run to run"
            for address, times in self._native.items()
            if times
        )
        stuck = (
            f"worker: {address} ({times} times) did not respond in time and was not waited for; its effects have no "
            "deterministic moment"
            for address, times in self._stuck.items()
        )
        return (*wild, *stuck)

    def _on_console(self, session: Session, message: ConsoleMessage) -> None:
        if not message.text.startswith(WORKER_MARK):
            return
        try:
            word = _WorkerReport.model_validate_json(message.text.removeprefix(WORKER_MARK))
        except ValidationError:
            return  # written by a page that imitates our prefix
        counts = self._stuck if word.kind == "stuck" else self._native
        address = session.redactor.redact_text(word.address)
        counts[address] = counts.get(address, 0) + (-1 if word.kind == "failed" else 1)
