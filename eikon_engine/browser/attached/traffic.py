"""Traffic of an attached context: live network, without routes."""

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
"""Bytes of response bodies that Chromium retains after their documents are gone, in total and per body."""


class WatchedTraffic(LiveTraffic):
    """Observe without routing: with routes, an agent that blocks its loop would stall every page.

    The HTTP cache is disabled over the protocol, as a route would do: replays have none.
    """

    def __init__(self) -> None:
        """Start without cancelled requests."""
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
        """Wait until open pages can report their sockets."""
        if isinstance(self.sockets, HeardSockets):
            await self.sockets.ready()

    def outcome(self) -> NetworkOutcome:
        """Add the requests that were cancelled before their response, and unknown socket messages."""
        outcome = super().outcome()
        unheard = self.sockets.unheard if isinstance(self.sockets, HeardSockets) else []
        return outcome.model_copy(update={"notes": (*outcome.notes, *dict.fromkeys((*self._given_up, *unheard)))})

    def _on_failed(self, request: Request) -> None:
        if request.failure == ABORTED and request.resource_type in {"fetch", "xhr"} and self._session is not None:
            request_line = f"{request.method} {self._session.redactor.text(request.url)}"
            self._given_up.append(
                f"{request_line} was cancelled before the response arrived, by the page or by the agent's next action: "
                "the response is unknown and missing in replays"
            )

    def _prepare(self, devtools: DevTools) -> None:
        if self.sockets is not None:
            self.sockets.background.begin(_prepare(devtools))


async def _prepare(devtools: DevTools) -> None:
    """Disable the HTTP cache and retain bodies after navigations: an agent may navigate before they are read."""
    from playwright.async_api import Error

    with suppress(Error):  # the page is gone
        await devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    with suppress(Error):  # as above, or the browser cannot retain bodies
        await devtools.send("Network.configureDurableMessages", KEPT_BODIES)
