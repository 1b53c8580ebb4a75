"""Contexts parked at positions of a mission."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug import context_pool
from eikon_engine.debug.context_pool import PoolSlot, is_on_history
from tests.until import GENEROUS_S

if TYPE_CHECKING:
    from eikon_engine.debug.history import History
    from tests.debug.contexts.pool_driver import PoolDriver

pytestmark = pytest.mark.browser


def slots(history: History, *iterations: int) -> list[PoolSlot]:
    """Return slots at positions of a history."""
    return [PoolSlot(history=history.until(iteration), iteration=iteration) for iteration in iterations]


def history_after(driver: PoolDriver, until: int) -> History:
    """Run a part of the mission."""
    context = driver.open()
    driver.step(context, until)
    return context.history


def parked_iterations(driver: PoolDriver) -> list[int]:
    """Return the iterations of the parked contexts, least recently used first."""
    return [context.iteration for context in driver.pool.parking.contexts]


def test_the_least_recently_used_context_is_closed(driver: PoolDriver) -> None:
    """Slots are filled in the requested order; contexts at requested slots are kept."""
    history = history_after(driver, 4)

    driver.park(*slots(history, 1, 2, 3))
    assert parked_iterations(driver) == [1, 2]
    driver.park(*slots(history, 1, 3))
    assert parked_iterations(driver) == [1, 3]
    assert all(is_on_history(each, history, each.iteration) for each in driver.pool.parking.contexts)


def test_parking_stops_while_the_browser_is_needed(driver: PoolDriver) -> None:
    """A half-created context is cancelled and closed."""
    history = history_after(driver, 4)
    open_before = len(driver.pool.launched.browser.contexts)

    async def context_opened() -> None:
        opened = asyncio.Event()
        driver.pool.launched.browser.on("context", lambda _context: opened.set())
        async with asyncio.timeout(GENEROUS_S):
            await opened.wait()

    async def interrupt() -> None:
        driver.pool.parking.start(slots(history, 4))
        await context_opened()
        await driver.pool.parking.stop()

    driver.portal.call(interrupt)

    assert parked_iterations(driver) == []
    driver.portal.call(driver.pool.parking.close)
    assert len(driver.pool.launched.browser.contexts) == open_before


def test_an_unreachable_slot_is_logged_and_not_tried_again(
    driver: PoolDriver, caplog: pytest.LogCaptureFixture
) -> None:
    """The session continues, and the other slot is filled."""
    history = history_after(driver, 3)
    other = {**history.digests, 2: history.digests[2].model_copy(update={"dom": "0" * 64})}
    wrong = PoolSlot(history=type(history)(bundle=history.bundle, digests=other), iteration=2)

    caplog.set_level(logging.INFO, context_pool.__name__)
    for _ in range(2):
        driver.park(wrong, *slots(history, 1))

    assert parked_iterations(driver) == [1]
    (report,) = [each.getMessage() for each in caplog.records if each.name == context_pool.__name__]
    assert report.startswith("no context is parked at iteration 2: step 2")
    assert "differences in dom" in report


def test_a_parked_context_whose_page_changed_is_discarded(driver: PoolDriver) -> None:
    """The steps are run again in a new context."""
    history = history_after(driver, 2)
    driver.park(*slots(history, 2))
    page = driver.pool.parking.contexts[0].session.page(0)
    assert page is not None
    driver.portal.call(page.evaluate, "document.title = 'moved'")

    restored = driver.restore(history, 2)

    assert (restored.method, restored.reexecuted) == ("reexecuted", 2)


@pytest.mark.skipif(sys.platform != "linux", reason="the processor time of processes is read from /proc")
def test_parked_contexts_use_no_processor_time(driver: PoolDriver) -> None:
    """The page has an interval of 40 ms, whose clock is paused."""
    driver.park(*slots(history_after(driver, 4), 3, 4))
    driver.portal.call(driver.pool.parking.stop)

    begin, since = _browser_ticks(), time.monotonic()
    while time.monotonic() < since + 1.0:
        driver.portal.call(_idle)
    used_s = (_browser_ticks() - begin) / os.sysconf("SC_CLK_TCK")

    assert used_s < 0.15


async def _idle() -> None:
    await asyncio.sleep(0.25)


def _browser_ticks() -> int:
    """Return the processor time of all child processes, in clock ticks."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        stats[int(path.parent.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    below = {os.getpid()}
    while more := {number for number, (parent, _) in stats.items() if parent in below} - below:
        below |= more
    return sum(ticks for number, (_, ticks) in stats.items() if number in below and number != os.getpid())
