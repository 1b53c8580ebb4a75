"""Watch live pages for a while after they became idle.

A browser may report a request or a new page, or run a loaded script, some time after its pages have answered that they
have nothing left to do; the busier the machine, the later. What belongs to an action must not be recorded with the next
one. A sealed replay knows what it waits for instead.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.rest import LOOKS

if TYPE_CHECKING:
    from eikon_engine.browser.ledger import PageLedger
    from eikon_engine.browser.rest import Rest

QUIET_TRIPS: Final = 10
"""Round trips without any page event."""
QUIET_S: Final = (0.05, 0.5)
"""Minimum and maximum wall time of that."""
QUIET_BY_S: Final = 1.0
"""Wall time after which pages that keep sending requests count as idle anyway."""


async def stay_quiet(rest: Rest, ledger: PageLedger) -> None:
    """Return once no request began or ended and no page opened for some wall time; the page clock does not advance."""
    deadline = time.monotonic() + QUIET_BY_S
    heard = -1
    while heard != ledger.heard and time.monotonic() < deadline:
        heard = ledger.heard
        asked_at = time.monotonic()
        await rest.quiesce()
        trips_s = (time.monotonic() - asked_at) / LOOKS * QUIET_TRIPS
        await asyncio.sleep(min(max(QUIET_S[0], trips_s), QUIET_S[1]))
