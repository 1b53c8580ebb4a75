"""Endless manual JavaScript: it is terminated, and blocks nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.context_pool import PoolSlot
from tests.until import GENEROUS_S

if TYPE_CHECKING:
    from tests.debug.contexts.pool_driver import PoolDriver

pytestmark = pytest.mark.browser

LOOP = "document.title = 'loops'; while (true) {}"


def test_a_cancelled_evaluation_leaves_no_loop_behind(driver: PoolDriver) -> None:
    """A context cancelled during a loop is closed soon, and other contexts continue at once."""
    context = driver.open()
    driver.step(context, 1)

    async def cut_off() -> None:
        looping = asyncio.ensure_future(context.evaluate(LOOP))
        await asyncio.sleep(1)
        looping.cancel()
        async with asyncio.timeout(GENEROUS_S):
            await asyncio.wait({looping})
            assert looping.cancelled()
            await context.close()

    driver.portal.call(cut_off)
    assert driver.restore(context.history, 1).context.iteration == 1


def test_no_context_is_parked_behind_an_endless_loop(driver: PoolDriver) -> None:
    """A terminated loop is only repeated by a rewind."""
    context = driver.open()
    driver.step(context, 1)
    before = context.history
    looped = driver.evaluate(context, LOOP)
    driver.step(context, 2)

    driver.park(PoolSlot(history=context.history, iteration=2), PoolSlot(history=before, iteration=1))

    assert looped.overdue
    assert looped.error is not None
    assert looped.error.endswith("and was terminated")
    assert [each.iteration for each in driver.pool.parking.contexts] == [1]
    assert driver.restore(context.history, 1).context.evaluations[0].error == looped.error
