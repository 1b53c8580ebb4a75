"""Track everything that happens in the pages of a session until the next observation, and run background tasks."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from eikon_engine.browser.frames import frame_of, frame_path
from eikon_engine.browser.request_tracker import NON_NETWORK_SCHEMES, RequestTracker
from eikon_engine.errors import BrowserDiedError, EikonError, InternalError, PageCrashedError
from eikon_engine.files.origins import url_origin
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.trace.observation import ObservedDialog, ObservedDownload

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from playwright.async_api import (
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Download,
        Page,
        Request,
        Response,
        WebError,
    )

    from eikon_engine.browser.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogAnswer:
    """How the next dialog is answered."""

    accept: bool
    text: str | None = None
    origins: frozenset[str] | None = None
    """Origins whose dialogs may get the text, because it is a secret; a dialog of another one is dismissed."""


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
    error_times: list[tuple[str, float]] = field(default_factory=list)
    """Each console error and page error with the page time at which it was reported."""
    requests: list[Request] = field(default_factory=list)
    unsafe_requests: list[UnsafeRequest] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    keys: list[str | Callable[[], str | None]] = field(default_factory=list)
    """Keys of WebSocket traffic."""

    def followed_by(self, later: PageEvents) -> PageEvents:
        """Append later events."""
        return PageEvents(**{each.name: getattr(self, each.name) + getattr(later, each.name) for each in fields(self)})


class PageTracker:
    """Number the pages of a context in the order of opening, and track their events."""

    def __init__(
        self, context: BrowserContext, *, handles_dialogs: bool = True, now_ms: Callable[[], float] = lambda: 0.0
    ) -> None:
        """Listen to the context; a page that is already open counts as opened now.

        A dialog listener must answer its dialogs; without `handles_dialogs`, another client does. `now_ms` returns the
        page time.
        """
        self._now_ms = now_ms
        self.pages: list[Page] = []
        self.dialog_answers: list[DialogAnswer] = []
        self.is_dead: bool = False
        self.crashed_pages: list[int] = []
        self.error: EikonError | None = None
        """An error to raise from the next wait."""
        self.data_events = 0
        """Count of events that no request reports."""
        self.changed = asyncio.Event()
        """Set whenever a request begins or ends, and whenever a page received data beside its requests."""
        self._events = PageEvents()
        context.on("page", self._on_page)
        if handles_dialogs:
            context.on("dialog", self._on_dialog)
        self.requests = RequestTracker(context, self.changed)
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        for page in context.pages:
            self._on_page(page)

    def open_pages(self) -> tuple[tuple[int, Page], ...]:
        """Return the open pages with their ordinals."""
        return tuple((ordinal, page) for ordinal, page in enumerate(self.pages) if not page.is_closed())

    @property
    def event_count(self) -> int:
        """Return how many requests began or ended, and pages opened."""
        return self.requests.event_count + len(self.pages)

    @property
    def event_counts(self) -> tuple[int, int]:
        """Return `data_events` and `event_count`: equal ones mean that nothing happened in between."""
        return self.data_events, self.event_count

    def take_events(self) -> PageEvents:
        """Return the events since the last call, and start over."""
        happened, self._events = self._events, PageEvents()
        return happened

    def restore_events(self, happened: PageEvents) -> None:
        """Undo `take_events`: the next observation includes these events again."""
        self._events = happened.followed_by(self._events)

    @property
    def download_count(self) -> int:
        """Return how many downloads began since the last observation."""
        return len(self._events.downloads)

    def note_dialog(self, dialog: ObservedDialog) -> None:
        """Record a dialog that another client answered."""
        self._events.dialogs.append(dialog)

    def note_key(self, key: str | Callable[[], str | None]) -> None:
        """Record WebSocket traffic by its key, or by a function that returns it when the pages are observed.

        What has the key None is not observed.
        """
        self._events.keys.append(key)
        self.note_data()

    def note_data(self) -> None:
        """Record that a page received or sent data beside its requests."""
        self.data_events += 1
        self.changed.set()

    def note_browser_gone(self, _browser: object = None) -> None:
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
        self.pages.append(page)
        page.on("close", self._on_close)
        page.on("crash", self._on_crash)
        page.on("framenavigated", self.requests.note_commit)
        page.on("framedetached", self.requests.note_commit)
        page.on("download", lambda download: self._events.downloads.append((self.ordinal(page), download)))

    def _on_close(self, page: Page) -> None:
        self._events.closed.append(self.ordinal(page))
        self.requests.forget_page(page)

    def death(self, during: str) -> BrowserDiedError:
        """Return the error for a page that crashed, or a browser that is gone; `during` says when."""
        if self.crashed_pages:
            return PageCrashedError(f"page {self.crashed_pages[0]} crashed{during}")
        return BrowserDiedError(f"the browser is gone{during}")

    def _on_crash(self, page: Page) -> None:
        self.is_dead = True
        self.crashed_pages.append(self.ordinal(page))

    async def _on_dialog(self, dialog: Dialog) -> None:
        from playwright.async_api import Error

        armed = self.dialog_answers.pop(0) if self.dialog_answers and dialog.type != "beforeunload" else None
        accept = armed.accept if armed else dialog.type in {"alert", "beforeunload"}
        if armed and armed.origins is not None:
            accept = accept and dialog.page is not None and url_origin(dialog.page.url) in armed.origins
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
            self._events.error_times.append((message.text, self._now_ms()))

    def _on_error(self, error: WebError) -> None:
        text = f"{error.error.name or 'Error'}: {error.error.message}"
        self._events.page_errors.append(text)
        self._events.error_times.append((text, self._now_ms()))

    def _on_request(self, request: Request) -> None:
        if request.url.startswith(NON_NETWORK_SCHEMES):
            return
        self._events.requests.append(request)
        if request.method not in SAFE_METHODS:
            self._note_unsafe_request(request)

    def _note_unsafe_request(self, request: Request) -> None:
        frame = frame_of(request)
        page = frame.page if frame is not None else None
        is_alone = page is not None and not page.workers
        self._events.unsafe_requests.append(
            UnsafeRequest(request=request, page=page, frame=frame_path(frame), is_from_frame=is_alone)
        )

    def _on_response(self, response: Response) -> None:
        if response.request.is_navigation_request():
            self._events.responses.append(response)


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
        """Report failures to `tracker`."""
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
        native = (
            f"worker: {address} ({times} times) could not be attached to the clock of its page, and ran with real time "
            "and randomness; its effects may differ from run to run"
            for address, times in self._native.items()
            if times
        )
        stuck = (
            f"worker: {address} ({times} times) did not respond in time and was not waited for; its effects have no "
            "deterministic moment"
            for address, times in self._stuck.items()
        )
        return (*native, *stuck)

    def _on_console(self, session: Session, message: ConsoleMessage) -> None:
        if not message.text.startswith(WORKER_MARK):
            return
        try:
            report = _WorkerReport.model_validate_json(message.text.removeprefix(WORKER_MARK))
        except ValidationError:
            return  # written by a page that imitates our prefix
        counts = self._stuck if report.kind == "stuck" else self._native
        address = session.redactor.redact_text(report.address)
        counts[address] = counts.get(address, 0) + (-1 if report.kind == "failed" else 1)
