"""Answer every request of a session from a recording, and nothing from anywhere else."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.delivery import FETCHES, Delivery
from eikon_engine.browser.net_errors import ABORT_CODES
from eikon_engine.browser.traffic import STEPPING_STONE
from eikon_engine.errors import EikonError
from eikon_engine.network.matching import Hit, Playback
from eikon_engine.outcome.outcomes import NetworkMiss, NetworkOutcome

if TYPE_CHECKING:
    from playwright.async_api import Request, Route, WebSocketRoute

    from eikon_engine.browser.session import Session
    from eikon_engine.network.exchange import Exchange, HeaderPairs, RecordedResponse
    from eikon_engine.network.matching import Miss
    from eikon_engine.network.store import NetworkRecording

DROPPED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})
"""Response headers that speak of the transport, which a served answer does not have."""
READ_BY_SCRIPTS: Final = frozenset({"fetch", "xhr"})
ARRIVAL_S: Final = 1.0
"""Wall time after which an answer that was handed over counts as arrived."""
NO_CONTENT: Final = 204
OK: Final = 200


class SealedTraffic:
    """Serve recorded exchanges by key and occurrence, in recorded order of completion; block the rest."""

    def __init__(self, recording: NetworkRecording) -> None:
        """Serve from `recording`."""
        self._recording = recording
        self._playback = Playback(recording.exchanges, read_body=recording.body)
        self._continuations: dict[str, Exchange] = {}
        self._continued: dict[Request, Exchange] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._redoing = 0
        self._sockets: list[NetworkMiss] = []
        self._notes: list[str] = [recording.torn] if recording.torn else []
        self._session: Session | None = None
        self._delivery: Delivery | None = None

    async def start(self, session: Session) -> None:
        """Route everything."""
        self._session = session
        completions = (each.completion for each in self._recording.exchanges if each.completion is not None)
        self._delivery = Delivery(session, completions)
        session.rest.pending.append(lambda: self._redoing)
        await session.context.route("**/*", self._serve)
        await session.context.route_web_socket(lambda _url: True, self._refuse_socket)

    async def stop(self) -> None:
        """End what is still being delivered."""
        if self._delivery is not None:
            await self._delivery.stop()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def is_continuation(self, request: Request) -> bool:
        """Say whether a request is our own navigation to where a recorded redirect led."""
        return request in self._continued

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the recorded redirects that our own navigation stands for."""
        exchange = self._continued.get(request)
        return tuple((hop.url, hop.status) for hop in exchange.hops) if exchange is not None else ()

    def outcome(self) -> NetworkOutcome:
        """Sum up hits, misses and what nobody asked for."""
        return NetworkOutcome(
            served=len(self._playback.hits),
            misses=(*(_network_miss(miss) for miss in self._playback.misses), *self._sockets),
            unused=tuple(exchange.key for exchange in self._playback.unused() if not exchange.pending),
            notes=tuple(self._notes),
        )

    async def _serve(self, route: Route) -> None:
        try:
            await self._meet(route)
        except EikonError as error:
            self._running().ledger.fail(error)
            await self._abort(route, "failed")

    async def _meet(self, route: Route) -> None:
        """Find the answer to a request in the recording, and give it."""
        request = route.request
        session = self._running()
        exchange = self._continuations.pop(request.url, None) if request.is_navigation_request() else None
        if exchange is not None:
            self._continued[request] = exchange
            await self._answer(route, exchange)
            return
        redactor = session.redactor
        body = request.post_data_buffer
        match = self._playback.match(
            request.method,
            redactor.text(request.url),
            None if body is None else redactor.key_data(body),
            request.headers.get("content-type"),
            request.headers.items(),
        )
        if not isinstance(match, Hit):
            await self._abort(route, "blockedbyclient")
        elif match.exchange.pending:
            session.ledger.forget(request)
            self._turns().never += int(request.resource_type in FETCHES)
        elif match.exchange.hops and request.is_navigation_request() and match.exchange.response is not None:
            await self._redirect(route, match.exchange)
        else:
            await self._answer(route, match.exchange)

    async def _answer(self, route: Route, exchange: Exchange) -> None:
        """Deliver an exchange when its turn comes."""
        async with self._turns().turn(exchange.completion, exchange.request.resource_type):
            response = exchange.response
            if response is None:
                await self._abort(route, ABORT_CODES.get(exchange.failure or "", "failed"))
            elif response.body_missing is not None:
                self._notes.append(f"{exchange.key}: its body was lost in the recording ({response.body_missing})")
                await self._abort(route, "failed")
            else:
                hops = () if exchange.request.is_navigation else exchange.hops
                cookies = tuple(pair for hop in hops for pair in hop.headers if pair[0].lower() == "set-cookie")
                await self._fulfill(route, response.status, (*cookies, *response.headers), self._body(response))
                await self._arrived(route.request)

    async def _arrived(self, request: Request) -> None:
        """Wait until a script has its answer: two that are on their way together may overtake each other."""
        if request.resource_type not in READ_BY_SCRIPTS:
            return
        deadline = time.monotonic() + ARRIVAL_S
        while request in self._running().ledger.in_flight and time.monotonic() < deadline:  # noqa: ASYNC110 - as below
            await asyncio.sleep(0.002)  # the event that tells of an end tells of every request, and others clear it

    async def _redirect(self, route: Route, exchange: Exchange) -> None:
        """Answer a document that was redirected: keep the cookies, then navigate to where it led.

        A fulfilled redirect would send the browser past our routes, to the network.
        """
        session = self._running()
        request = route.request
        target = session.restorer.restore((exchange.response.url if exchange.response else "").encode()).decode()
        session.redirects_served += 1
        self._continuations[target] = exchange
        cookies = tuple(pair for hop in exchange.hops for pair in hop.headers if pair[0].lower() == "set-cookie")
        if not _has_frame(request):
            # A popup is no page before its first document: that one leads on, and is left out of what is observed.
            headers = (*cookies, ("content-type", "text/html"), (STEPPING_STONE, "1"))
            await self._fulfill(route, OK, headers, _leading_to(target))
            return
        await self._fulfill(route, NO_CONTENT, cookies, b"")
        self._redoing += 1
        task = asyncio.ensure_future(self._navigate(request, target))
        self._tasks.add(task)
        task.add_done_callback(self._on_navigated)

    async def _navigate(self, request: Request, target: str) -> None:
        from playwright.async_api import Error

        try:
            await request.frame.goto(target, wait_until="commit", referer=request.headers.get("referer"))
        except Error as error:
            if "ERR_ABORTED" not in error.message and "Download is starting" not in error.message:
                self._notes.append(f"the redirect to {target} could not be followed: {error.message.splitlines()[0]}")

    def _on_navigated(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._redoing -= 1
        self._running().ledger.changed.set()
        if not task.cancelled() and task.exception() is not None:
            self._notes.append(f"a recorded redirect could not be followed: {task.exception()}")

    async def _fulfill(self, route: Route, status: int, headers: HeaderPairs, body: bytes) -> None:
        from playwright.async_api import Error

        try:
            await route.fulfill(status=status, headers=_served_headers(headers), body=body)
        except Error:
            self._running().ledger.changed.set()  # the page or the request went away before its answer

    async def _abort(self, route: Route, code: str) -> None:
        from playwright.async_api import Error

        try:
            await route.abort(code)
        except Error:
            self._running().ledger.changed.set()  # as above

    def _body(self, response: RecordedResponse) -> bytes:
        if response.body is None:
            return b""
        return self._running().restorer.restore(self._recording.body(response.body))

    async def _refuse_socket(self, socket: WebSocketRoute) -> None:
        reason = "WebSocket traffic is not recorded, and nothing may leave a sealed replay"
        self._sockets.append(NetworkMiss(key=f"WEBSOCKET {socket.url}", reason=reason))
        await socket.close()

    def _running(self) -> Session:
        if self._session is None:
            message = "sealed traffic is used before it was started"
            raise RuntimeError(message)
        return self._session

    def _turns(self) -> Delivery:
        if self._delivery is None:
            message = "sealed traffic is used before it was started"
            raise RuntimeError(message)
        return self._delivery


def _has_frame(request: Request) -> bool:
    """Say whether the frame of a navigation is known; that of a popup's first document is not."""
    from playwright.async_api import Error

    try:
        return request.frame is not None
    except Error:
        return False


def _leading_to(target: str) -> bytes:
    """Build a document that goes on to another address, and is not at rest until it has."""
    address = json.dumps(target).replace("<", "\\u003c")
    script = f"(window.__eikon__ ??= {{}}).leaving = true; location.replace({address})"
    return f"<!doctype html><script>{script}</script>".encode()


def _served_headers(headers: HeaderPairs) -> dict[str, str]:
    """Join headers of one name: cookies by a line break, as Playwright wants them, others by a comma."""
    served: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in DROPPED:
            continue
        separator = "\n" if lower == "set-cookie" else ", "
        served[lower] = f"{served[lower]}{separator}{value}" if lower in served else value
    return served


def _network_miss(miss: Miss) -> NetworkMiss:
    nearest = miss.nearest
    if nearest is None:
        return NetworkMiss(key=miss.key, reason=miss.reason)
    return NetworkMiss(key=miss.key, reason=miss.reason, nearest=nearest.exchange.key, differences=nearest.differences)
