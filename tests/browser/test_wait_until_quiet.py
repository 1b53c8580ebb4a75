"""A recording waits until live pages send no more requests."""

from __future__ import annotations

import asyncio
import time

from eikon_engine.browser.page_clock import SteppedClock
from eikon_engine.browser.stabilizer import QUIET_S, QUIET_TIMEOUT_S, PageStabilizer, wait_until_quiet
from tests.browser.fake_context import fake_tracker

EVERY_S = 0.02
GENEROUS_S = 15
"""Shorter than a thousand requests take, long beside the deadline, also on a busy machine."""


async def wait_during_requests(count: int) -> float:
    """Wait while this many requests start one after the other; return the elapsed wall time."""
    tracker = fake_tracker()

    async def send_requests() -> None:
        for _ in range(count):
            await asyncio.sleep(EVERY_S)
            tracker.requests.event_count += 1

    begun = time.monotonic()
    requests = asyncio.ensure_future(send_requests())
    async with asyncio.timeout(GENEROUS_S):
        await wait_until_quiet(PageStabilizer(SteppedClock(), tracker, 100.0), tracker)
    requests.cancel()
    return time.monotonic() - begun


def test_a_recording_waits_until_requests_cease() -> None:
    """A request that a browser reports late belongs to the action that caused it."""
    assert asyncio.run(wait_during_requests(10)) >= 10 * EVERY_S + QUIET_S[0]


def test_a_page_that_keeps_sending_requests_is_not_waited_for_forever() -> None:
    """Waiting has a deadline."""
    assert QUIET_TIMEOUT_S <= asyncio.run(wait_during_requests(1000)) < GENEROUS_S
