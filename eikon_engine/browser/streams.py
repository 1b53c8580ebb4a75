"""Record how the bodies of a page's fetches arrive, piece by piece; Playwright reports only complete ones."""

from __future__ import annotations

import asyncio
import base64
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eikon_engine.browser.arrivals import Arrivals
from eikon_engine.browser.traffic import LiveTraffic
from eikon_engine.errors import EikonError, InternalError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from playwright.async_api import Page, Request

    from eikon_engine.browser.arrivals import DevTools
    from eikon_engine.browser.session import Session
    from eikon_engine.network.moment import Moment

SPLIT_S: Final = 0.005
"""Pieces closer together than this are one: the network splits bodies arbitrarily."""
END_S: Final = 2.0
"""Wall time for the protocol to report the end of a body that has ended."""
LARGEST: Final = 1_000_000
"""Larger bodies, in bytes, are not recorded in pieces."""
EVENTS: Final = "text/event-stream"


@dataclass(slots=True)
class Stream:
    """A body as it arrives."""

    is_events: bool
    moments: list[tuple[int, Moment]]
    """Lengths with their moments; the first is that of the headers."""
    content: list[bytes] = field(default_factory=list)
    """The data, for bodies that Playwright cannot return: those of event sources, and incomplete ones."""
    last_s: float = 0.0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the protocol has returned what it buffered before we listened."""

    @property
    def size(self) -> int:
        """Return the number of bytes that arrived."""
        return sum(length for length, _ in self.moments)

    @property
    def comes_in_pieces(self) -> bool:
        """Whether a page may have seen one part without the next."""
        pieces = sum(length > 0 for length, _ in self.moments)
        return self.is_events or (pieces > 1 and self.size <= LARGEST)


class _Key(NamedTuple):
    """What requests are counted by, as Playwright reports them."""

    page: Page
    method: str
    url: str


class _Asked(NamedTuple):
    """The same, as the protocol reports them."""

    target: str
    method: str
    url: str


class StreamCapture:
    """Listen to the pages of a session over the DevTools protocol (domain Network)."""

    def __init__(self, session: Session) -> None:
        """Prepare; `start` attaches the listeners."""
        self._session = session
        self._asked: defaultdict[_Asked, list[str]] = defaultdict(list)
        self._targets: dict[Page, str] = {}
        self._arrivals = Arrivals(self._hear, self._spawn)
        self._streams: dict[str, Stream] = {}
        self._counts: defaultdict[_Key, int] = defaultdict(int)
        self._places: dict[Request, tuple[_Key, int]] = {}
        self._unplaced: list[Request] = []
        """Requests of pages that Playwright has not announced yet."""
        self._doubted: dict[_Key, tuple[int, int]] = {}
        """Requests that the protocol reported, and all requests, where other clients than the page sent some."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sessions: list[DevTools] = []

    async def start(self) -> None:
        """Listen to the open pages, and to future ones from their first request on."""
        context = self._session.context
        context.on("page", self._on_page)
        context.on("request", self._on_request)
        pages = [page for _, page in self._session.ledger.open_pages()]
        context_ids = [await self._listen(page) for page in pages]
        context_id = next(filter(None, context_ids), None)
        if context_id is None or context.browser is None:
            return
        await self._arrivals.start(context.browser, context_id, frozenset(self._targets.values()))
        if isinstance(self._session.traffic, LiveTraffic):
            self._session.traffic.holds.append(self._arrivals.hold)
        self._session.rest.pending.append(self._arrivals.coming)

    async def catch_up(self) -> None:
        """Collect every event of a page so far; the protocol reports them in order, but late."""
        if all(stream.ended.is_set() for stream in self._streams.values()):
            return
        await asyncio.gather(*(self._answer(devtools) for devtools in self._sessions))

    async def _answer(self, devtools: DevTools) -> None:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(END_S):
                await devtools.send("Network.enable")
        except (Error, TimeoutError):
            return  # the page is gone, or waits for its next document

    async def ended(self, request: Request) -> Stream | None:
        """Return the stream of a finished request; the protocol may report its end later than Playwright."""
        stream = await self.stream(request)
        if stream is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await stream.ended.wait()
                    await stream.read.wait()
        return stream

    async def stream(self, request: Request) -> Stream | None:
        """Return the stream of a request; None if the protocol did not report it, or is ambiguous.

        The protocol of a page does not report its workers, nor cross-site frames; Playwright does.
        """
        name = await self._name(request)
        return None if name is None else self._streams.get(name)

    async def forget(self, request: Request) -> None:
        """Forget a stream that has been written."""
        name = await self._name(request)
        if name is not None:
            self._streams.pop(name, None)

    async def _name(self, request: Request) -> str | None:
        """Return the protocol's id of a request."""
        place = self._places.get(request)
        if place is None:
            return None
        key, number = place
        if key.page not in self._targets and self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=END_S)
        if key.page not in self._targets:
            return None
        ids = self._asked[_Asked(self._targets[key.page], key.method, key.url)]
        if len(ids) < self._counts[key]:
            await asyncio.gather(*(self._answer(devtools) for devtools in self._sessions))
        if len(ids) < self._counts[key]:
            if ids:
                self._doubted[key] = (len(ids), self._counts[key])
            return None
        return ids[number]

    def warnings(self) -> tuple[str, ...]:
        """List the URLs whose requests could not be target_info apart."""
        redact = self._session.redactor.text
        return tuple(
            f"{redact(key.url)}: {heard} of {asked} requests came from the page itself, others from a worker or a "
            "cross-site frame; they cannot be target_info apart, so their bodies are not recorded in pieces"
            for key, (heard, asked) in self._doubted.items()
        )

    async def stop(self) -> None:
        """End pending work; what a page no longer answers is cancelled."""
        if self._tasks:
            _, late = await asyncio.wait(tuple(self._tasks), timeout=END_S)
            for task in late:
                task.cancel()
        await self._arrivals.stop()

    def _on_page(self, page: Page) -> None:
        self._place()
        self._spawn(self._listen(page))

    def _on_request(self, request: Request) -> None:
        if request.resource_type == "fetch" and request.service_worker is None:
            self._unplaced.append(request)
            self._place()

    def _place(self) -> None:
        """Count the requests whose pages are known."""
        waiting, self._unplaced = self._unplaced, []
        for request in waiting:
            page = _page_of(request)
            if page is None:
                self._unplaced.append(request)
                continue
            key = _Key(page, request.method, request.url.partition("#")[0])
            self._places[request] = (key, self._counts[key])
            self._counts[key] += 1

    async def _listen(self, page: Page) -> str | None:
        """Read a page's target id, listen to it unless its arrival was attached, and return its browser context id."""
        from playwright.async_api import Error

        try:
            devtools = await self._session.context.new_cdp_session(page)
            target_info = (await devtools.send("Target.getTargetInfo"))["targetInfo"]
            target: str = target_info["targetId"]
            self._targets[page] = target
            self._arrivals.note_come(target)
            self._session.ledger.changed.set()
            if self._arrivals.knows(target):
                await devtools.detach()
            else:
                self._hear(devtools, target)
                await devtools.send("Network.enable")
        except Error:
            return None  # the page is gone
        name: str | None = target_info.get("browserContextId")
        return name

    def _hear(self, devtools: DevTools, target: str) -> None:
        devtools.on("Network.requestWillBeSent", lambda event: self._on_sent(target, event))
        devtools.on("Network.responseReceived", lambda event: self._on_response(devtools, event))
        devtools.on("Network.dataReceived", self._on_data)
        devtools.on("Network.loadingFinished", self._on_end)
        devtools.on("Network.loadingFailed", self._on_end)
        for hear in self._session.hearers:
            hear(devtools)
        self._sessions.append(devtools)

    def _on_sent(self, target: str, event: dict[str, Any]) -> None:
        if event.get("type") == "Fetch":
            request = event["request"]
            self._asked[_Asked(target, request["method"], request["url"])].append(event["requestId"])

    def _on_response(self, devtools: DevTools, event: dict[str, Any]) -> None:
        is_events = event["response"].get("mimeType") == EVENTS
        if event.get("type") != "Fetch":
            return
        moments = [(0, self._session.rest.moment())]
        stream = self._streams[event["requestId"]] = Stream(is_events=is_events, moments=moments)
        self._spawn(self._read(devtools, event["requestId"], stream))

    async def _read(self, devtools: DevTools, name: str, stream: Stream) -> None:
        from playwright.async_api import Error

        try:
            answer = await devtools.send("Network.streamResourceContent", {"requestId": name})
            stream.content.insert(0, base64.b64decode(answer.get("bufferedData", "")))
        except Error:
            with suppress(Error):  # the page is gone
                stream.content[:] = [await _whole(devtools, name)]  # it ended before we listened
        finally:
            stream.read.set()

    def _on_data(self, event: dict[str, Any]) -> None:
        stream = self._streams.get(event["requestId"])
        if stream is None or not event["dataLength"]:
            return
        if event.get("data"):
            stream.content.append(base64.b64decode(event["data"]))
        length, moment = stream.moments[-1]
        if length and event["timestamp"] - stream.last_s < SPLIT_S:
            stream.moments[-1] = (length + event["dataLength"], moment)
        else:
            stream.moments.append((event["dataLength"], self._session.rest.moment()))
        stream.last_s = event["timestamp"]
        self._session.ledger.note_news()

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
            self._session.ledger.fail(fault)
        elif fault is not None:
            message = f"listening to the network of a page failed: {type(fault).__name__}: {fault}"
            self._session.ledger.fail(InternalError(message))


def _page_of(request: Request) -> Page | None:
    from playwright.async_api import Error

    try:
        return request.frame.page
    except Error:
        return None  # its frame is not known yet, or belongs to no page


async def _whole(devtools: DevTools, name: str) -> bytes:
    answer = await devtools.send("Network.getResponseBody", {"requestId": name})
    body: str = answer["body"]
    return base64.b64decode(body) if answer["base64Encoded"] else body.encode()
