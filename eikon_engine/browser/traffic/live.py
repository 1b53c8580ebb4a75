"""What serves the requests of a session: the network, or a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.page_tracker import UninstrumentedWorkers
from eikon_engine.browser.traffic.sockets import LiveSockets
from eikon_engine.outcome.outcomes import NetworkOutcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Request, Route

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames
    from eikon_engine.outcome.outcomes import ResponseChange

REDIRECT_DOCUMENT_HEADER: Final = "x-eikon-redirect-document"
"""Response header of a redirect document of our own, which is not observed."""


class Traffic(Protocol):
    """Routes every request of a session."""

    async def start(self, session: Session) -> None:
        """Set up the routes of the session's context, before its first page opens."""

    async def stop(self) -> None:
        """Stop background tasks."""

    def is_continuation(self, request: Request) -> bool:
        """Whether a request only continues one that was counted already."""

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return URL and status of the redirects before a continued document."""

    def recorded_key(self, request: Request) -> str | None:
        """Return the key of the recorded exchange that answers a request; None if none does."""

    def is_timer_driven(self, request: Request) -> bool:
        """Whether a timer of the page caused a request, and not an action."""

    def is_telemetry(self, request: Request) -> bool:
        """Whether a rule says that a request only reports, so that it is not compared."""

    def later_values(self) -> frozenset[tuple[str, str]]:
        """Return recorded texts, with those in their places in the responses to later polls than the recording has."""

    def missing_messages(self) -> tuple[ResponseChange, ...]:
        """Return the WebSocket messages that a live server had sent by now in the recording, and has not sent yet."""

    def outcome(self) -> NetworkOutcome:
        """Summarize how requests were answered."""


class LiveTraffic:
    """Let every request through to the network.

    Requests are routed even so: routes disable the HTTP cache and hold requests back while the clock moves, in live and
    sealed runs alike.
    """

    def __init__(self) -> None:
        """Start without requests."""
        self._served = 0
        self.sockets: LiveSockets | None = None
        self._unmapped: list[str] = []
        self._session: Session | None = None
        self._uninstrumented_workers = UninstrumentedWorkers()
        self._timer_driven: set[Request] = set()
        self.request_holds: list[Callable[[Request], Awaitable[None]]] = []
        """Awaited before a request is sent."""

    async def start(self, session: Session) -> None:
        """Set up the routes."""
        self._session = session
        self._uninstrumented_workers.listen(session)
        self.sockets = LiveSockets(session, self.socket_names())
        session.context.on("request", lambda request: self._note_request(session, request))
        await session.context.route("**/*", self._forward)
        await session.context.route_web_socket(lambda _url: True, self.sockets.connect)
        await session.context.add_init_script(load_script("init_sockets.js"))

    async def stop(self) -> None:
        """Stop forwarding."""
        if self.sockets is not None:
            await self.sockets.stop()

    def socket_names(self) -> RecordedSocketNames | None:
        """Return the recording's names of sockets; None without a recording."""
        return None

    def is_continuation(self, request: Request) -> bool:  # noqa: ARG002 - part of the protocol
        """Return False: the browser follows redirects itself."""
        return False

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG002 - as above
        """Return nothing: the browser knows the redirects."""
        return ()

    def recorded_key(self, request: Request) -> str | None:  # noqa: ARG002 - as above
        """Return None: the network answers."""
        return None

    def is_timer_driven(self, request: Request) -> bool:
        """Whether the page clock moved since the last action when the request was sent."""
        return request in self._timer_driven

    def is_telemetry(self, request: Request) -> bool:  # noqa: ARG002 - as above
        """Return False: there are no rules."""
        return False

    def later_values(self) -> frozenset[tuple[str, str]]:
        """Return nothing: there is no recording."""
        return frozenset()

    def missing_messages(self) -> tuple[ResponseChange, ...]:
        """Return nothing: there is no recording."""
        return ()

    def outcome(self) -> NetworkOutcome:
        """Count the requests."""
        return NetworkOutcome(
            served=self._served, unmapped_requests=tuple(self._unmapped), notes=self._uninstrumented_workers.notes()
        )

    def _note_request(self, session: Session, request: Request) -> None:
        if session.timeline.is_timer_driven:
            self._timer_driven.add(request)
        if session.urls.is_recorded_url(request.url):
            self._unmapped.append(f"{request.method} {session.redactor.redact_text(request.url)}")

    async def _forward(self, route: Route) -> None:
        from playwright.async_api import Error

        await self._wait_for_holds(route.request)
        if self._session is not None:
            await self._session.stabilizer.barrier.wait_until_deliverable(route.request)
        self._served += 1
        try:
            await route.continue_()
        except Error:
            self._served -= 1  # the page or the request is gone

    async def _wait_for_holds(self, request: Request) -> None:
        for hold in self.request_holds:
            await hold(request)
