"""What answers the requests of a session: the network, or a recording of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.browser.own_script import own_script
from eikon_engine.browser.sockets import LiveSockets
from eikon_engine.browser.untamed import UntamedWorkers
from eikon_engine.outcome.outcomes import NetworkOutcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Request, Route

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.socket_names import SocketNames

STEPPING_STONE: Final = "x-eikon-stepping-stone"
"""Response header of a document of our own that only leads on, and is not observed."""


class Traffic(Protocol):
    """Route every request of a session."""

    async def start(self, session: Session) -> None:
        """Set the routes of the session's context, before its first page opens."""

    async def stop(self) -> None:
        """End what runs in the background."""

    def is_continuation(self, request: Request) -> bool:
        """Say whether a request only goes on with one that was counted already."""

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return URL and status of the redirects before a continued document."""

    def recorded_key(self, request: Request) -> str | None:
        """Return the key of the recorded exchange that answers a request; None if none does."""

    def outcome(self) -> NetworkOutcome:
        """Sum up how the requests were met."""


class LiveTraffic:
    """Let every request through to the network.

    Requests are routed all the same: a route switches the HTTP cache off and holds requests back while the clock
    moves, in a live run as in a sealed one.
    """

    def __init__(self) -> None:
        """Begin with nothing served."""
        self._served = 0
        self.sockets: LiveSockets | None = None
        self._strays: list[str] = []
        self._session: Session | None = None
        self._untamed = UntamedWorkers()
        self.holds: list[Callable[[Request], Awaitable[None]]] = []
        """What a request waits for before it may pass."""

    async def start(self, session: Session) -> None:
        """Route everything."""
        self._session = session
        self._untamed.listen(session)
        self.sockets = LiveSockets(session, self.socket_names())
        session.context.on("request", lambda request: self._note_stray(session, request))
        await session.context.route("**/*", self._pass_on)
        await session.context.route_web_socket(lambda _url: True, self.sockets.connect)
        await session.context.add_init_script(own_script("init_sockets.js"))

    async def stop(self) -> None:
        """End what waits to be passed on."""
        if self.sockets is not None:
            await self.sockets.stop()

    def socket_names(self) -> SocketNames | None:
        """Return how a recording names sockets; None as there is none."""
        return None

    def is_continuation(self, request: Request) -> bool:  # noqa: ARG002 - asked of every kind of traffic
        """Say no: the network redirects by itself."""
        return False

    def document_hops(self, request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG002 - as above
        """Return nothing: the browser knows the redirects."""
        return ()

    def recorded_key(self, request: Request) -> str | None:  # noqa: ARG002 - as above
        """Return nothing: the network answers."""
        return None

    def outcome(self) -> NetworkOutcome:
        """Count the requests."""
        return NetworkOutcome(served=self._served, strays=tuple(self._strays), notes=self._untamed.notes())

    def _note_stray(self, session: Session, request: Request) -> None:
        if session.urls.is_stray(request.url):
            self._strays.append(f"{request.method} {session.redactor.text(request.url)}")

    async def _pass_on(self, route: Route) -> None:
        from playwright.async_api import Error

        for hold in self.holds:
            await hold(route.request)
        if self._session is not None:
            await self._session.rest.may_pass(route.request)
        self._served += 1
        try:
            await route.continue_()
        except Error:
            self._served -= 1  # the page or the request went away while it was held back
