"""JavaScript that loops, run by hand: it ends, and keeps nobody from going on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eikon_engine.debug.context_pool import PoolSlot

if TYPE_CHECKING:
    from tests.debug.lines.desk import Desk

LOOP = "document.title = 'loops'; while (true) {}"


def test_who_gives_up_waiting_leaves_no_loop_behind(desk: Desk) -> None:
    """A line that is cut off in the midst of a loop is closed soon, and other lines go on at once."""
    line = desk.open()
    desk.step(line, 1)

    async def cut_off() -> None:
        looping = asyncio.ensure_future(line.evaluate(LOOP))
        await asyncio.sleep(1)
        looping.cancel()
        async with asyncio.timeout(10):
            await asyncio.wait({looping})
            assert looping.cancelled()
            await line.close()

    desk.portal.call(cut_off)
    assert desk.at(line.history, 1).context.iteration == 1


def test_nothing_is_parked_behind_a_loop(desk: Desk) -> None:
    """A loop that was stopped is repeated on the way back, and nowhere else."""
    line = desk.open()
    desk.step(line, 1)
    before = line.history
    looped = desk.evaluate(line, LOOP)
    desk.step(line, 2)

    desk.park(PoolSlot(history=line.history, iteration=2), PoolSlot(history=before, iteration=1))

    assert looped.overdue
    assert looped.error is not None
    assert looped.error.endswith("and was terminated")
    assert [each.iteration for each in desk.lines.parking.contexts] == [1]
    assert desk.at(line.history, 1).context.evaluations[0].error == looped.error
