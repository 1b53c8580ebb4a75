"""What answers the requests of a watched context: its own network, untouched."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.attached.sockets import HeardSockets
from eikon_engine.browser.traffic import LiveTraffic
from eikon_engine.network.exchange import ABORTED

if TYPE_CHECKING:
    from playwright.async_api import Request

    from eikon_engine.browser.arrivals import DevTools
    from eikon_engine.browser.session import Session
    from eikon_engine.outcome.outcomes import NetworkOutcome

KEPT_BODIES: Final = {"maxTotalBufferSize": 256_000_000, "maxResourceBufferSize": 64_000_000}
"""Bytes of bodies that the browser keeps beyond their documents, in total and of each."""


class WatchedTraffic(LiveTraffic):
    """Route nothing: a user who sleeps between two calls would let every page wait.

    The HTTP cache is switched off over the protocol, as a route would: a replay has none.
    """

    def __init__(self) -> None:
        """Begin with nothing given up."""
        super().__init__()
        self._given_up: list[str] = []

    async def start(self, session: Session) -> None:
        """Listen to the sockets of every page."""
        self._session = session
        self._untamed.listen(session)
        self.sockets = sockets = HeardSockets(session)
        session.hearers.append(sockets.hear)
        session.hearers.append(self._prepare)
        session.context.on("requestfailed", self._on_failed)

    async def ready(self) -> None:
        """Wait until the pages that are open can tell of their sockets."""
        if isinstance(self.sockets, HeardSockets):
            await self.sockets.ready()

    def outcome(self) -> NetworkOutcome:
        """Say what has no answer because a page did not wait for it."""
        told = super().outcome()
        unheard = self.sockets.unheard if isinstance(self.sockets, HeardSockets) else []
        return told.model_copy(update={"notes": (*told.notes, *dict.fromkeys((*self._given_up, *unheard)))})

    def _on_failed(self, request: Request) -> None:
        if request.failure == ABORTED and request.resource_type in {"fetch", "xhr"} and self._session is not None:
            asked = f"{request.method} {self._session.redactor.text(request.url)}"
            self._given_up.append(
                f"{asked} was given up before its answer came, by its page or because the agent went on: what it would "
                "have brought is not known, and replays do not show it"
            )

    def _prepare(self, devtools: DevTools) -> None:
        if self.sockets is not None:
            self.sockets.background.begin(_prepare(devtools))


async def _prepare(devtools: DevTools) -> None:
    """Switch the HTTP cache off, and let bodies outlive their documents: an agent may go on before they are read."""
    from playwright.async_api import Error

    with suppress(Error):  # the page is gone
        await devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    with suppress(Error):  # as above, or a browser that keeps no bodies
        await devtools.send("Network.configureDurableMessages", KEPT_BODIES)
