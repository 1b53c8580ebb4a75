"""Record how the bodies of fetches arrive, chunk by chunk, over the DevTools protocol, from the first document on."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.errors import EikonError, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from playwright.async_api import Browser, CDPSession, Page, Request

    from eikon_engine.browser.session import Session
    from eikon_engine.network.exchange import Moment

ATTACH_TIMEOUT_S: Final = 2.0
"""Maximum wall time for which a first document is delayed."""


RETAIN_BODIES: Final[tuple[str, dict[str, Any]]] = (
    "Network.configureDurableMessages",
    {"maxTotalBufferSize": 256_000_000, "maxResourceBufferSize": 64_000_000},
)
"""Command that makes Chromium keep bodies, up to these numbers of bytes, after their documents are gone.

On the session that sends it, `Network.streamResourceContent` returns nothing of what a stream received before, so
another session reads the streams.
"""


class DevToolsSession(Protocol):
    """A DevTools protocol session of a page."""

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a command and wait for its result."""

    def on(self, event: str, f: Callable[..., Any]) -> None:
        """Listen to an event."""


class NewPageSession:
    """A page reached through the browser target; its renderer answers only once its first document has loaded."""

    def __init__(self, browser: CDPSession, session_id: str) -> None:
        """Talk through the `browser` session."""
        self._browser = browser
        self._session_id = session_id
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: defaultdict[str, list[Callable[..., Any]]] = defaultdict(list)

    def on(self, event: str, f: Callable[..., Any]) -> None:
        """Listen to an event."""
        self._listeners[event].append(f)

    async def post(self, method: str, params: dict[str, Any] | None = None) -> asyncio.Future[dict[str, Any]]:
        """Send a command, and wait until the browser has accepted it; return a future of the result."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        message = json.dumps({"id": number, "method": method, "params": params or {}})
        await self._browser.send("Target.sendMessageToTarget", {"sessionId": self._session_id, "message": message})
        return answer

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a command and wait for its result."""
        from playwright.async_api import Error

        reply = await (await self.post(method, params))
        if "error" in reply:
            raise Error(reply["error"]["message"])
        result: dict[str, Any] = reply.get("result", {})
        return result

    def handle_message(self, text: str) -> None:
        """Handle a result or an event."""
        reply = json.loads(text)
        if "id" in reply:
            answer = self._pending.pop(reply["id"], None)
            if answer is not None and not answer.done():
                answer.set_result(reply)
            return
        for listen in self._listeners.get(reply.get("method", ""), ()):
            listen(reply.get("params", {}))

    def fail_pending(self) -> None:
        """Fail the pending commands: the page is gone."""
        for answer in self._pending.values():
            if not answer.done():
                answer.set_result({"error": {"message": "the page is gone"}})
        self._pending.clear()


class NewPageAttacher:
    """Attach to the new pages of one context, and delay their first documents until that is done."""

    def __init__(
        self,
        attach_listeners: Callable[[DevToolsSession, str], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]],
    ) -> None:
        """`attach_listeners` receives each page's session and target id before the session is enabled."""
        self._listen = attach_listeners
        self._spawn = spawn
        self.is_started = False
        self._context_id: str | None = None
        self._running_browser: Browser | None = None
        self._browser: CDPSession | None = None
        self._by_session: dict[str, NewPageSession] = {}
        self._attached: set[str] = set()
        self._opening: dict[str, float] = {}
        """Targets that Playwright has not announced as pages yet, with their creation times."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self, browser: Browser, context_id: str, open_now: frozenset[str]) -> None:
        """Attach to every future page target of the context."""
        self._context_id = context_id
        devtools = self._browser = await browser.new_browser_cdp_session()
        self._running_browser = browser
        pages_before = set(open_now)
        devtools.on("Target.targetCreated", lambda event: self._on_created(event["targetInfo"], pages_before))
        devtools.on("Target.targetDestroyed", lambda event: self.note_opened(event["targetId"]))
        devtools.on("Target.receivedMessageFromTarget", self._on_message)
        devtools.on("Target.detachedFromTarget", self._on_detached)
        browser.on("disconnected", self._fail_all)
        await devtools.send("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "page"}]})

    def is_attached(self, target: str) -> bool:
        """Whether a page is, or is being, attached to from here."""
        return target in self._attached

    def opening_count(self) -> int:
        """Count the pages about to open; one that takes too long, such as one without a document, does not count."""
        return sum(time.monotonic() - begun < ATTACH_TIMEOUT_S for begun in self._opening.values())

    def note_opened(self, target: str) -> None:
        """Note that a page opened, or never will."""
        self._opening.pop(target, None)

    async def delay_first_document(self, request: Request) -> None:
        """Delay a document request until pages that have just opened are attached: it may be their first."""
        if self._tasks and request.is_navigation_request():
            await asyncio.wait(tuple(self._tasks), timeout=ATTACH_TIMEOUT_S)

    async def stop(self) -> None:
        """Detach from all pages."""
        from playwright.async_api import Error

        self._fail_all()
        if self._running_browser is not None:
            self._running_browser.remove_listener("disconnected", self._fail_all)
        if self._browser is not None:
            with suppress(Error):  # the browser is gone
                await self._browser.detach()

    def _on_created(self, info: dict[str, Any], open_before: set[str]) -> None:
        target: str = info["targetId"]
        if info["type"] != "page" or info.get("browserContextId") != self._context_id or target in open_before:
            return
        self._attached.add(target)
        self._opening[target] = time.monotonic()
        task = self._spawn(self._attach(target))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attach(self, target: str) -> None:
        """Enable the network domain; the browser queues the command until the first document loads."""
        from playwright.async_api import Error

        if self._browser is None:
            return
        try:
            # First, since the page may be left at once.
            await (await self._open_session(self._browser, target)).post(*RETAIN_BODIES)
            arrival = await self._open_session(self._browser, target)
            self._listen(arrival, target)
            await arrival.post("Network.enable")
        except Error:
            self._attached.discard(target)  # closed already
            self.note_opened(target)

    async def _open_session(self, browser: CDPSession, target: str) -> NewPageSession:
        reply = await browser.send("Target.attachToTarget", {"targetId": target, "flatten": False})
        opened = self._by_session[reply["sessionId"]] = NewPageSession(browser, reply["sessionId"])
        return opened

    def _on_message(self, event: dict[str, Any]) -> None:
        arrival = self._by_session.get(event["sessionId"])
        if arrival is not None:
            arrival.handle_message(event["message"])

    def _on_detached(self, event: dict[str, Any]) -> None:
        arrival = self._by_session.pop(event["sessionId"], None)
        if arrival is not None:
            arrival.fail_pending()

    def _fail_all(self, _browser: object = None) -> None:
        for arrival in self._by_session.values():
            arrival.fail_pending()
        self._by_session.clear()


MERGE_S: Final = 0.005
"""Pieces closer together than this are one: the network splits bodies arbitrarily."""
SPLIT_BYTES: Final = 1024
"""In a body that arrives in parts, shorter ones were sent separately, and stay so: a page on a loaded machine reads
them separately, however close together."""
PROTOCOL_TIMEOUT_S: Final = 2.0
"""Wall time for the protocol to report the end of a body that has ended."""
MAX_STREAM_BYTES: Final = 1_000_000
"""Larger bodies, in bytes, are not recorded in pieces."""
EVENT_STREAM: Final = "text/event-stream"


@dataclass(slots=True)
class ResponseStream:
    """A body as it arrives."""

    is_event_stream: bool
    moments: list[tuple[int, Moment]]
    """Lengths with their moments; the first is that of the headers."""
    content: list[bytes] = field(default_factory=list)
    """The data, for bodies that Playwright cannot return: those of event sources, and incomplete ones."""
    last_s: float = 0.0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    buffer_read: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the protocol has returned what it buffered before we listened."""

    @property
    def size(self) -> int:
        """Return the number of bytes that arrived."""
        return sum(length for length, _ in self.moments)

    def append(self, length: int, at_s: float, issue_moment: Callable[[], Moment]) -> None:
        """Add data that arrived at `at_s`, in seconds of the browser: to the last piece, or as one of its own."""
        last_length, moment = self.moments[-1]
        may_be_split = last_length >= SPLIT_BYTES or (last_length > 0 and not self.is_in_parts)
        if may_be_split and at_s - self.last_s < MERGE_S:
            self.moments[-1] = (last_length + length, moment)
        else:
            self.moments.append((length, issue_moment()))
        self.last_s = at_s

    @property
    def is_in_parts(self) -> bool:
        """Whether it arrived in parts, some time after each other."""
        return sum(length > 0 for length, _ in self.moments) > 1

    @property
    def has_pieces(self) -> bool:
        """Whether a page may have seen one part without the next."""
        return self.is_event_stream or (self.is_in_parts and self.size <= MAX_STREAM_BYTES)


class _PlaywrightKey(NamedTuple):
    """Identifies equal requests, as Playwright reports them."""

    page: Page
    method: str
    url: str


class _ProtocolKey(NamedTuple):
    """The same, as the protocol reports them."""

    target: str
    method: str
    url: str


class StreamCapture:
    """Listen to the pages of a session over the DevTools protocol (domain Network)."""

    def __init__(self, session: Session) -> None:
        """Prepare; `start` attaches the listeners."""
        self._session = session
        self._request_ids: defaultdict[_ProtocolKey, list[str]] = defaultdict(list)
        self._targets: dict[Page, str] = {}
        self._attacher = NewPageAttacher(self._attach_listeners, self._spawn)
        self._streams: dict[str, ResponseStream] = {}
        self._counts: defaultdict[_PlaywrightKey, int] = defaultdict(int)
        self._numbers: dict[Request, tuple[_PlaywrightKey, int]] = {}
        self._unnumbered: list[Request] = []
        """Requests of pages that Playwright has not announced yet."""
        self._ambiguous: dict[_PlaywrightKey, tuple[int, int]] = {}
        """Requests that the protocol reported, and all requests, where other clients than the page sent some."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sessions: list[DevToolsSession] = []

    async def start(self) -> None:
        """Listen to the open pages, and to future ones from their first request on."""
        context = self._session.context
        context.on("page", self._on_page)
        context.on("request", self._on_request)
        pages = [page for _, page in self._session.tracker.open_pages()]
        for page in pages:
            await self._listen(page)
        if isinstance(self._session.traffic, LiveTraffic):
            self._session.traffic.request_holds.append(self._attacher.delay_first_document)
        self._session.stabilizer.pending_work.append(self._attacher.opening_count)

    async def wait_for_new_pages(self) -> None:
        """Wait until the pages that have just opened are listened to."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=ATTACH_TIMEOUT_S)

    async def _attach_future_pages(self, context_id: str | None) -> None:
        """Attach to every future page of the context, whose id only a page knows."""
        browser = self._session.context.browser
        if context_id is not None and browser is not None and not self._attacher.is_started:
            self._attacher.is_started = True
            await self._attacher.start(browser, context_id, frozenset(self._targets.values()))

    async def collect_events(self) -> None:
        """Collect every event of a page so far; the protocol reports them in order, but late."""
        is_any_open = any(not stream.ended.is_set() for stream in self._streams.values())
        if not is_any_open and not self._session.tracker.requests.in_flight:
            return
        await asyncio.gather(*(self._round_trip(devtools) for devtools in self._sessions))

    async def _round_trip(self, devtools: DevToolsSession) -> None:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(PROTOCOL_TIMEOUT_S):
                await devtools.send("Network.enable")
        except (Error, TimeoutError):
            return  # the page is gone, or waits for its next document

    async def finished_stream(self, request: Request) -> ResponseStream | None:
        """Return the stream of a finished request; the protocol may report its end later than Playwright."""
        stream = await self.stream(request)
        if stream is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(PROTOCOL_TIMEOUT_S):
                    await stream.ended.wait()
                    await stream.buffer_read.wait()
        return stream

    async def stream(self, request: Request) -> ResponseStream | None:
        """Return the stream of a request; None if the protocol did not report it, or is ambiguous.

        The protocol of a page does not report its workers, nor cross-site frames; Playwright does.
        """
        name = await self._request_id(request)
        return None if name is None else self._streams.get(name)

    async def forget(self, request: Request) -> None:
        """Forget a stream that has been written."""
        name = await self._request_id(request)
        if name is not None:
            self._streams.pop(name, None)

    async def _request_id(self, request: Request) -> str | None:
        """Return the protocol's id of a request."""
        place = self._numbers.get(request)
        if place is None:
            return None
        key, number = place
        if key.page not in self._targets and self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=PROTOCOL_TIMEOUT_S)
        if key.page not in self._targets:
            return None
        ids = self._request_ids[_ProtocolKey(self._targets[key.page], key.method, key.url)]
        if len(ids) < self._counts[key]:
            await asyncio.gather(*(self._round_trip(devtools) for devtools in self._sessions))
        if len(ids) < self._counts[key]:
            if ids:
                self._ambiguous[key] = (len(ids), self._counts[key])
            return None
        return ids[number]

    def warnings(self) -> tuple[str, ...]:
        """List the URLs whose requests could not be distinguished."""
        redact = self._session.redactor.redact_text
        return tuple(
            f"{redact(key.url)}: {observed} of {requested} requests came from the page itself, others from a worker or "
            "a cross-site frame; they cannot be distinguished, so their bodies are not recorded in pieces"
            for key, (observed, requested) in self._ambiguous.items()
        )

    async def stop(self) -> None:
        """End pending work; what a page no longer answers is cancelled."""
        if self._tasks:
            _, late = await asyncio.wait(tuple(self._tasks), timeout=PROTOCOL_TIMEOUT_S)
            for task in late:
                task.cancel()
        await self._attacher.stop()

    def _on_page(self, page: Page) -> None:
        self._number_requests()
        self._spawn(self._listen(page))

    def _on_request(self, request: Request) -> None:
        if request.resource_type == "fetch" and request.service_worker is None:
            self._unnumbered.append(request)
            self._number_requests()

    def _number_requests(self) -> None:
        """Count the requests whose pages are known."""
        waiting, self._unnumbered = self._unnumbered, []
        for request in waiting:
            page = _page_of(request)
            if page is None:
                self._unnumbered.append(request)
                continue
            key = _PlaywrightKey(page, request.method, request.url.partition("#")[0])
            self._numbers[request] = (key, self._counts[key])
            self._counts[key] += 1

    async def _listen(self, page: Page) -> None:
        """Read a page's target id, and listen to it unless `NewPageAttacher` already does."""
        from playwright.async_api import Error

        try:
            devtools = await self._session.context.new_cdp_session(page)
            target_info = (await devtools.send("Target.getTargetInfo"))["targetInfo"]
            target: str = target_info["targetId"]
            self._targets[page] = target
            self._attacher.note_opened(target)
            self._session.tracker.changed.set()
            if self._attacher.is_attached(target):
                await devtools.detach()
            else:
                self._attach_listeners(devtools, target)
                await devtools.send("Network.enable")
                await self._retain_bodies(page)
            await self._attach_future_pages(target_info.get("browserContextId"))
        except Error:
            return  # the page is gone

    async def _retain_bodies(self, page: Page) -> None:
        from playwright.async_api import Error

        settings = await self._session.context.new_cdp_session(page)
        with suppress(Error):  # the browser cannot retain bodies
            await settings.send(*RETAIN_BODIES)

    def _attach_listeners(self, devtools: DevToolsSession, target: str) -> None:
        devtools.on("Network.requestWillBeSent", lambda event: self._on_sent(target, event))
        devtools.on("Network.responseReceived", lambda event: self._on_response(devtools, event))
        devtools.on("Network.dataReceived", self._on_data)
        devtools.on("Network.loadingFinished", self._on_end)
        devtools.on("Network.loadingFailed", self._on_end)
        for listen in self._session.devtools_listeners:
            listen(devtools)
        self._sessions.append(devtools)

    def _on_sent(self, target: str, event: dict[str, Any]) -> None:
        if event.get("type") == "Fetch":
            request = event["request"]
            self._request_ids[_ProtocolKey(target, request["method"], request["url"])].append(event["requestId"])

    def _on_response(self, devtools: DevToolsSession, event: dict[str, Any]) -> None:
        is_events = event["response"].get("mimeType") == EVENT_STREAM
        if event.get("type") != "Fetch":
            return
        moments = [(0, self._session.timeline.moment())]
        stream = self._streams[event["requestId"]] = ResponseStream(is_event_stream=is_events, moments=moments)
        self._spawn(self._read_buffer(devtools, event["requestId"], stream))

    async def _read_buffer(self, devtools: DevToolsSession, name: str, stream: ResponseStream) -> None:
        from playwright.async_api import Error

        try:
            answer = await devtools.send("Network.streamResourceContent", {"requestId": name})
            stream.content.insert(0, base64.b64decode(answer.get("bufferedData", "")))
        except Error:
            with suppress(Error):  # the page is gone
                stream.content[:] = [await _read_body(devtools, name)]  # it ended before we listened
        finally:
            stream.buffer_read.set()

    def _on_data(self, event: dict[str, Any]) -> None:
        stream = self._streams.get(event["requestId"])
        if stream is None or not event["dataLength"]:
            return
        if event.get("data"):
            stream.content.append(base64.b64decode(event["data"]))
        stream.append(event["dataLength"], event["timestamp"], self._session.timeline.moment)
        self._session.tracker.note_data()

    def _on_end(self, event: dict[str, Any]) -> None:
        stream = self._streams.get(event["requestId"])
        if stream is not None:
            stream.ended.set()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        """End the session with failures that no page can cause."""
        self._tasks.discard(task)
        fault = None if task.cancelled() else task.exception()
        if isinstance(fault, EikonError):
            self._session.tracker.fail(fault)
        elif fault is not None:
            message = f"listening to the network of a page failed: {type(fault).__name__}: {fault}"
            self._session.tracker.fail(InternalError(message))


def _page_of(request: Request) -> Page | None:
    from playwright.async_api import Error

    try:
        return request.frame.page
    except Error:
        return None  # its frame is not known yet, or belongs to no page


async def _read_body(devtools: DevToolsSession, name: str) -> bytes:
    answer = await devtools.send("Network.getResponseBody", {"requestId": name})
    body: str = answer["body"]
    return base64.b64decode(body) if answer["base64Encoded"] else body.encode()
