"""Lines that wait at places of the mission."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.context_pool import PoolSlot
from eikon_engine.errors import RewindDivergedError

if TYPE_CHECKING:
    from eikon_engine.debug.history import History
    from tests.debug.lines.desk import Desk


def berths(way: History, *iterations: int) -> list[PoolSlot]:
    """Ask for lines at places of a way."""
    return [PoolSlot(history=way.until(iteration), iteration=iteration) for iteration in iterations]


def way_of(desk: Desk, until: int) -> History:
    """Do a part of the mission."""
    line = desk.open()
    desk.step(line, until)
    return line.history


def places(desk: Desk) -> list[int]:
    """Say where lines wait, the least recently used first."""
    return [line.iteration for line in desk.lines.parking.contexts]


def test_there_is_room_for_two_and_the_least_used_goes(desk: Desk) -> None:
    """What is asked for first is made first; what is asked for again stays."""
    way = way_of(desk, 4)

    desk.park(*berths(way, 1, 2, 3))
    assert places(desk) == [1, 2]
    desk.park(*berths(way, 1, 3))
    assert places(desk) == [1, 3]
    assert desk.lines.parking.has_context_at(way, 3)
    assert not desk.lines.parking.has_context_at(way, 2)


def test_nothing_is_made_while_the_browser_is_needed(desk: Desk) -> None:
    """A line that was being made is given up, and leaves nothing behind."""
    way = way_of(desk, 4)
    open_before = len(desk.lines.launched.browser.contexts)

    async def context_opened() -> None:
        opened = asyncio.Event()
        desk.lines.launched.browser.on("context", lambda _context: opened.set())
        async with asyncio.timeout(20):
            await opened.wait()

    async def interrupt() -> None:
        desk.lines.start_parking(berths(way, 4))
        await context_opened()
        await desk.lines.stop_parking()

    desk.portal.call(interrupt)

    assert places(desk) == []
    desk.portal.call(desk.lines.parking.close)
    assert len(desk.lines.launched.browser.contexts) == open_before


def test_a_place_that_cannot_be_reached_is_told_and_not_tried_again(desk: Desk) -> None:
    """The session goes on, and the other place is made."""
    way = way_of(desk, 3)
    other = {**way.digests, 2: way.digests[2].model_copy(update={"dom": "0" * 64})}
    wrong = PoolSlot(history=type(way)(bundle=way.bundle, digests=other), iteration=2)

    for _ in range(2):
        desk.park(wrong, *berths(way, 1))

    assert places(desk) == [1]
    faults = desk.lines.parking.take_errors()
    assert [type(each) for each in faults] == [RewindDivergedError]
    assert desk.lines.parking.take_errors() == ()


def test_a_parked_page_that_did_not_stay_as_it_was_is_given_up(desk: Desk) -> None:
    """The way there is gone again, in a fresh context."""
    way = way_of(desk, 2)
    desk.park(*berths(way, 2))
    page = desk.lines.parking.contexts[0].session.page(0)
    assert page is not None
    desk.portal.call(page.evaluate, "document.title = 'moved'")

    arrived = desk.at(way, 2)

    assert (arrived.method, arrived.reexecuted) == ("reexecuted", 2)


@pytest.mark.skipif(sys.platform != "linux", reason="the processor time of processes is read from /proc")
def test_parked_pages_take_no_time_of_the_machine(desk: Desk) -> None:
    """The page has an interval of 40 ms, whose clock stands."""
    desk.park(*berths(way_of(desk, 4), 3, 4))
    desk.portal.call(desk.lines.parking.stop)

    begin, since = _browser_ticks(), time.monotonic()
    while time.monotonic() < since + 1.0:
        desk.portal.call(_idle)
    used_s = (_browser_ticks() - begin) / os.sysconf("SC_CLK_TCK")

    assert used_s < 0.15


async def _idle() -> None:
    await asyncio.sleep(0.25)


def _browser_ticks() -> int:
    """Sum up the processor time of all processes below this one."""
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
