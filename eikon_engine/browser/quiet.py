"""Watch live pages for a while after they became idle.

A browser may report a request or a new page, or run a loaded script, some time after its pages have answered that they
have nothing left to do; the busier the machine, the later. What belongs to an action must not be recorded with the next
one. A sealed replay knows what it waits for instead.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.rest import IDLE_CHECKS

if TYPE_CHECKING:
    from eikon_engine.browser.ledger import PageTracker
    from eikon_engine.browser.rest import PageStabilizer

QUIET_ROUND_TRIPS: Final = 10
"""Round trips without any page event."""
QUIET_S: Final = (0.05, 0.5)
"""Minimum and maximum wall time of that."""
QUIET_TIMEOUT_S: Final = 1.0
"""Wall time after which pages that keep sending requests count as idle anyway."""


async def wait_until_quiet(stabilizer: PageStabilizer, tracker: PageTracker) -> None:
    """Return once no request began or ended and no page opened for some wall time; the page clock does not advance."""
    deadline = time.monotonic() + QUIET_TIMEOUT_S
    heard = -1
    while heard != tracker.request_events and time.monotonic() < deadline:
        heard = tracker.request_events
        asked_at = time.monotonic()
        await stabilizer.wait_until_idle()
        trips_s = (time.monotonic() - asked_at) / IDLE_CHECKS * QUIET_ROUND_TRIPS
        await asyncio.sleep(min(max(QUIET_S[0], trips_s), QUIET_S[1]))
