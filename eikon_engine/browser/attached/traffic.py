"""What answers the requests of a watched context: its own network, untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eikon_engine.browser.attached.sockets import HeardSockets
from eikon_engine.browser.traffic import LiveTraffic

if TYPE_CHECKING:
    from eikon_engine.browser.arrivals import DevTools
    from eikon_engine.browser.session import Session


class WatchedTraffic(LiveTraffic):
    """Route nothing: a user who sleeps between two calls would let every page wait.

    The HTTP cache is switched off over the protocol, as a route would: a replay has none.
    """

    async def start(self, session: Session) -> None:
        """Listen to the sockets of every page."""
        self._session = session
        self._untamed.listen(session)
        self.sockets = sockets = HeardSockets(session)
        session.hearers.append(sockets.hear)
        session.hearers.append(self._without_cache)

    def _without_cache(self, devtools: DevTools) -> None:
        if self.sockets is not None:
            self.sockets.background.begin(_switch_cache_off(devtools))


async def _switch_cache_off(devtools: DevTools) -> Any:  # noqa: ANN401 - nothing of use
    from playwright.async_api import Error

    try:
        return await devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    except Error:
        return None  # the page is gone
