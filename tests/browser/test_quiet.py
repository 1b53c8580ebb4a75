"""How long live pages are listened to."""

from __future__ import annotations

import asyncio
import time

from eikon_engine.browser.page_clock import SteppedClock
from eikon_engine.browser.stabilizer import QUIET_S, QUIET_TIMEOUT_S, PageStabilizer, wait_until_quiet
from tests.browser.no_browser import silent_ledger

EVERY_S = 0.02
GENEROUS_S = 5


async def listened(asks: int) -> float:
    """Listen while so many requests begin, one after the other; give the wall time that it took."""
    ledger = silent_ledger()

    async def ask() -> None:
        for _ in range(asks):
            await asyncio.sleep(EVERY_S)
            ledger.request_events += 1

    begun = time.monotonic()
    asking = asyncio.ensure_future(ask())
    async with asyncio.timeout(GENEROUS_S):
        await wait_until_quiet(PageStabilizer(SteppedClock(), ledger, 100.0), ledger)
    asking.cancel()
    return time.monotonic() - begun


def test_a_recording_waits_until_nothing_more_is_heard() -> None:
    """A request that a browser tells of late belongs to the action that made it."""
    assert asyncio.run(listened(10)) >= 10 * EVERY_S + QUIET_S[0]


def test_a_page_that_goes_on_asking_is_not_waited_for_for_ever() -> None:
    """It may ask for as long as it lives."""
    assert QUIET_TIMEOUT_S <= asyncio.run(listened(1000)) < GENEROUS_S
