"""Traffic of an attached context: live network, without routes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.attached.sockets import AttachedSockets
from eikon_engine.browser.traffic import LiveTraffic
from eikon_engine.network.exchange import ABORTED_ERROR

if TYPE_CHECKING:
    from playwright.async_api import Request

    from eikon_engine.browser.arrivals import DevToolsSession
    from eikon_engine.browser.session import Session
    from eikon_engine.outcome.outcomes import NetworkOutcome

BODY_BUFFER_SIZES: Final = {"maxTotalBufferSize": 256_000_000, "maxResourceBufferSize": 64_000_000}
"""Bytes of response bodies that Chromium retains after their documents are gone, in total and per body."""


class AttachedTraffic(LiveTraffic):
    """Observe without routing: with routes, an agent that blocks its loop would stall every page.

    The HTTP cache is disabled over the protocol, as a route would do: replays have none.
    """

    def __init__(self) -> None:
        """Start without cancelled requests."""
        super().__init__()
        self._cancelled: list[str] = []

    async def start(self, session: Session) -> None:
        """Listen to the sockets of every page."""
        self._session = session
        self._uninstrumented_workers.listen(session)
        self.sockets = sockets = AttachedSockets(session)
        session.devtools_listeners.append(sockets.observe)
        session.devtools_listeners.append(self._prepare_page)
        session.context.on("requestfailed", self._on_failed)

    async def wait_until_ready(self) -> None:
        """Wait until open pages can report their sockets."""
        if isinstance(self.sockets, AttachedSockets):
            await self.sockets.wait_until_ready()

    def outcome(self) -> NetworkOutcome:
        """Add the requests that were cancelled before their response, and unknown socket messages."""
        outcome = super().outcome()
        unheard = self.sockets.unknown_messages if isinstance(self.sockets, AttachedSockets) else []
        return outcome.model_copy(update={"notes": (*outcome.notes, *dict.fromkeys((*self._cancelled, *unheard)))})

    def _on_failed(self, request: Request) -> None:
        if request.failure == ABORTED_ERROR and request.resource_type in {"fetch", "xhr"} and self._session is not None:
            request_line = f"{request.method} {self._session.redactor.redact_text(request.url)}"
            self._cancelled.append(
                f"{request_line} was cancelled before the response arrived, by the page or by the agent's next action: "
                "the response is unknown and missing in replays"
            )

    def _prepare_page(self, devtools: DevToolsSession) -> None:
        if self.sockets is not None:
            self.sockets.background.start(_configure_network(devtools))


async def _configure_network(devtools: DevToolsSession) -> None:
    """Disable the HTTP cache and retain bodies after navigations: an agent may navigate before they are read."""
    from playwright.async_api import Error

    with suppress(Error):  # the page is gone
        await devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    with suppress(Error):  # as above, or the browser cannot retain bodies
        await devtools.send("Network.configureDurableMessages", BODY_BUFFER_SIZES)
