"""Hear how the bodies of a page's fetches come, piece by piece; Playwright tells only of whole ones."""

from __future__ import annotations

import asyncio
import base64
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page, Request

    from eikon_engine.browser.session import Session
    from eikon_engine.network.moment import Moment

SPLIT_S: Final = 0.005
"""Pieces that come closer to each other are one: the network cuts bodies where it likes."""
END_S: Final = 2.0
"""Wall time that the protocol has for telling the end of a body that has ended."""
LARGEST: Final = 1_000_000
"""Bodies of more bytes are no streams that a page shows piece by piece."""
EVENTS: Final = "text/event-stream"


@dataclass(slots=True)
class Stream:
    """A body as it comes."""

    is_events: bool
    moments: list[tuple[int, Moment]]
    """Lengths with their moments; the first is that of the headers."""
    content: list[bytes] = field(default_factory=list)
    """What came, for bodies that nobody else can tell: those of event sources, and those that did not come whole."""
    last_s: float = 0.0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the protocol has answered what it held before anybody listened."""

    @property
    def size(self) -> int:
        """Return the number of bytes that came."""
        return sum(length for length, _ in self.moments)

    @property
    def comes_in_pieces(self) -> bool:
        """Say whether a page may have seen one part without the next."""
        pieces = sum(length > 0 for length, _ in self.moments)
        return self.is_events or (pieces > 1 and self.size <= LARGEST)


class _Key(NamedTuple):
    """What requests are counted by, on both sides."""

    page: Page
    method: str
    url: str


class StreamCapture:
    """Listen to the pages of a session over the DevTools protocol (domain Network)."""

    def __init__(self, session: Session) -> None:
        """Listen to every page that opens."""
        self._session = session
        self._asked: defaultdict[_Key, list[str]] = defaultdict(list)
        self._streams: dict[str, Stream] = {}
        self._counts: defaultdict[_Key, int] = defaultdict(int)
        self._places: dict[Request, tuple[_Key, int]] = {}
        self._doubted: dict[_Key, tuple[int, int]] = {}
        """Requests that the protocol has told of and those there were, of what somebody else than a page asked for."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: list[CDPSession] = []

    async def start(self) -> None:
        """Listen to the pages that are open, and to those that will be."""
        context = self._session.context
        context.on("page", lambda page: self._spawn(self._listen(page)))
        context.on("request", self._on_request)
        for _, page in self._session.ledger.open_pages():
            await self._listen(page)

    async def catch_up(self) -> None:
        """Hear of everything that has come to a page so far; the protocol tells in order, though late."""
        if all(stream.ended.is_set() for stream in self._streams.values()):
            return
        await asyncio.gather(*(self._answer(devtools) for devtools in self._sessions))

    async def _answer(self, devtools: CDPSession) -> None:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(END_S):
                await devtools.send("Network.enable")
        except (Error, TimeoutError):
            return  # the page is gone, or waits for its next document

    async def ended(self, request: Request) -> Stream | None:
        """Return how the body of a request came that is over; the protocol may tell so later than Playwright."""
        stream = await self.stream(request)
        if stream is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await stream.ended.wait()
                    await stream.read.wait()
        return stream

    async def stream(self, request: Request) -> Stream | None:
        """Return how the body of a request comes; None if nothing was heard of it, or of another one it may be.

        The protocol of a page does not tell of its workers, nor of frames of other sites, and Playwright does.
        """
        place = self._places.get(request)
        if place is None:
            return None
        key, number = place
        ids = self._asked[key]
        if len(ids) < self._counts[key]:
            await asyncio.gather(*(self._answer(devtools) for devtools in self._sessions))
        if len(ids) < self._counts[key]:
            if ids:
                self._doubted[key] = (len(ids), self._counts[key])
            return None
        return self._streams.get(ids[number])

    def warnings(self) -> tuple[str, ...]:
        """Name the addresses whose bodies could not be told apart."""
        redact = self._session.redactor.text
        return tuple(
            f"{redact(key.url)}: {heard} of {asked} requests came from the page itself, others from a worker or a "
            "frame of another site; which is which is not known, so that their bodies have no pieces"
            for key, (heard, asked) in self._doubted.items()
        )

    async def stop(self) -> None:
        """End what is on its way."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_request(self, request: Request) -> None:
        page = _page_of(request) if request.resource_type == "fetch" else None
        if page is None:
            return
        key = _Key(page, request.method, request.url.partition("#")[0])
        self._places[request] = (key, self._counts[key])
        self._counts[key] += 1

    async def _listen(self, page: Page) -> None:
        from playwright.async_api import Error

        try:
            devtools = await self._session.context.new_cdp_session(page)
            devtools.on("Network.requestWillBeSent", lambda event: self._on_sent(page, event))
            devtools.on("Network.responseReceived", lambda event: self._on_response(devtools, event))
            devtools.on("Network.dataReceived", self._on_data)
            devtools.on("Network.loadingFinished", self._on_end)
            devtools.on("Network.loadingFailed", self._on_end)
            await devtools.send("Network.enable")
            self._sessions.append(devtools)
        except Error:
            return  # the page is gone: it has no streams

    def _on_sent(self, page: Page, event: dict[str, Any]) -> None:
        if event.get("type") == "Fetch":
            request = event["request"]
            self._asked[_Key(page, request["method"], request["url"])].append(event["requestId"])

    def _on_response(self, devtools: CDPSession, event: dict[str, Any]) -> None:
        is_events = event["response"].get("mimeType") == EVENTS
        if event.get("type") != "Fetch":
            return
        moments = [(0, self._session.rest.moment())]
        self._streams[event["requestId"]] = Stream(is_events=is_events, moments=moments)
        self._spawn(self._read(devtools, event["requestId"]))

    async def _read(self, devtools: CDPSession, name: str) -> None:
        from playwright.async_api import Error

        stream = self._streams[name]
        try:
            answer = await devtools.send("Network.streamResourceContent", {"requestId": name})
            stream.content.insert(0, base64.b64decode(answer.get("bufferedData", "")))
        except Error:
            with suppress(Error):  # its page is gone
                stream.content[:] = [await _whole(devtools, name)]  # it ended before it was listened to
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

    def _spawn(self, work: Any) -> None:  # noqa: ANN401 - a coroutine
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _page_of(request: Request) -> Page | None:
    from playwright.async_api import Error

    try:
        return request.frame.page
    except Error:
        return None  # its frame is not known yet, or no page's


async def _whole(devtools: CDPSession, name: str) -> bytes:
    answer = await devtools.send("Network.getResponseBody", {"requestId": name})
    body: str = answer["body"]
    return base64.b64decode(body) if answer["base64Encoded"] else body.encode()
