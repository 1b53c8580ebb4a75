"""The clock that is stepped."""

from __future__ import annotations

import asyncio

from eikon_engine.browser.page_clock import SteppedClock


def test_time_is_what_the_pages_were_given() -> None:
    """Parts of milliseconds are not passed to pages, and do not count; a step is never nothing."""
    clock = SteppedClock()

    for duration in (10.4, 2.6, 0.3):
        asyncio.run(clock.run(duration))

    assert clock.now_ms == 10 + 3 + 1
