"""What is recorded comes in its order, one after the other, whatever its cause."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

import pytest

from eikon_engine.browser.page_clock import SteppedClock
from eikon_engine.browser.page_tracker import BLOCKS_MARK
from eikon_engine.browser.stabilizer import PageStabilizer
from eikon_engine.browser.traffic.schedule import DeliverySchedule
from eikon_engine.errors import BrowserDiedError, InternalError
from eikon_engine.network.exchange import Moment
from tests.browser.no_browser import Asking, Written, silent_ledger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import ConsoleMessage, Request

    from eikon_engine.browser.page_tracker import PageTracker

NOW, LATER = 0, 9
"""Phases."""
GENEROUS_S = 5
LATE_S = 0.2


def moments(phase: int, count: int = 3) -> tuple[Moment, ...]:
    """Make the moments of one phase, one after the other."""
    return tuple(Moment(order=order, at_ms=0, phase=phase) for order in range(count))


@asynccontextmanager
async def scheduled(
    expected: tuple[Moment, ...], ledger: PageTracker | None = None, *, phase: int = NOW
) -> AsyncIterator[DeliverySchedule]:
    """Run a schedule at page time 0."""
    ledger = ledger or silent_ledger()
    rest = PageStabilizer(SteppedClock(), ledger, 100.0)
    rest.phase = phase
    schedule = DeliverySchedule(rest, ledger, expected)
    try:
        async with asyncio.timeout(GENEROUS_S):
            yield schedule
    finally:
        await schedule.stop()


class Giving:
    """Something that is being given, for as long as a test wants."""

    def __init__(
        self,
        schedule: DeliverySchedule,
        moment: Moment,
        log: list[str],
        *,
        at_once: bool = False,
        request: Request | None = None,
    ) -> None:
        """Wait for the turn of a moment, and write down when it begins and ends."""
        self.begun, self.ending = asyncio.Event(), asyncio.Event()
        self._name = f"{moment.order}"
        self._log = log
        self._task = asyncio.ensure_future(self._give(schedule, moment, request, at_once=at_once))

    async def end(self) -> None:
        """End it when it has begun."""
        await self.begun.wait()
        self.ending.set()
        await self._task

    async def _give(
        self, schedule: DeliverySchedule, moment: Moment, request: Request | None, *, at_once: bool
    ) -> None:
        async with schedule.in_turn(moment, request, is_immediate=at_once):
            self._log.append(f"begin {self._name}")
            self.begun.set()
            await self.ending.wait()
            self._log.append(f"end {self._name}")


ONE_BY_ONE = ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]


@pytest.mark.parametrize("phase", [NOW, LATER])
def test_what_is_due_or_hurried_comes_one_after_the_other(phase: int) -> None:
    """None begins before the one before it has ended, though all may go."""
    log: list[str] = []

    async def run() -> int:
        async with scheduled(moments(phase)) as schedule:
            given = [Giving(schedule, moment, log) for moment in moments(phase)]
            await asyncio.sleep(0)
            schedule.deliver_early(fetches=True)
            given[2].ending.set()
            given[1].ending.set()
            for each in given:
                await each.end()
            return schedule.late_count

    late = asyncio.run(run())

    assert log == ONE_BY_ONE
    assert late == (3 if phase == LATER else 0)


def test_document_does_not_wait_for_what_a_page_cannot_take_before_it() -> None:
    """It begins while another answer is under way, whose end then ends nobody's turn but its own."""
    log: list[str] = []

    async def run() -> None:
        async with scheduled(moments(NOW)) as schedule:
            stuck = Giving(schedule, moments(NOW)[0], log)
            await stuck.begun.wait()
            document = Giving(schedule, moments(NOW)[1], log, at_once=True)
            await document.begun.wait()
            last = Giving(schedule, moments(NOW)[2], log)
            await stuck.end()
            for _ in range(10):
                await asyncio.sleep(0)
            await document.end()
            await last.end()

    asyncio.run(run())

    assert log == ["begin 0", "begin 1", "end 0", "end 1", "begin 2", "end 2"]


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        (BrowserDiedError("the page loops"), BrowserDiedError.code, "the page loops"),
        (ValueError("not enough values"), InternalError.code, "ValueError: not enough values"),
    ],
)
def test_end_of_delivery_is_told(fault: Exception, code: str, message: str) -> None:
    """Where pages cannot be asked, nothing is delivered any more, and the session says why."""
    ledger = silent_ledger(fault)

    async def run() -> None:
        async with scheduled(moments(NOW), ledger) as schedule:
            second = asyncio.ensure_future(Giving(schedule, moments(NOW)[1], []).end())
            while ledger.error is None:
                ledger.changed.clear()
                await ledger.changed.wait()
            second.cancel()

    asyncio.run(run())

    assert ledger.error is not None
    assert ledger.error.code == code
    assert message in ledger.error.message


def test_page_that_stands_still_is_answered_in_the_midst_of_another_turn() -> None:
    """It can take nothing else before, so that the other turn might never end."""
    log: list[str] = []
    ledger = silent_ledger()
    asking = Asking("POST", "http://a.test/now")

    async def run() -> None:
        first, second = moments(NOW, 2)
        async with scheduled((first, second), ledger) as schedule:
            before = Giving(schedule, first, log)
            await before.begun.wait()
            blocking = Giving(schedule, second, log, request=cast("Request", asking))
            await stand_still(ledger, f"{asking.method} {asking.url}#part")
            await blocking.end()
            await before.end()

    asyncio.run(run())

    assert log == ["begin 0", "begin 1", "end 1", "end 0"]


async def stand_still(ledger: PageTracker, asked: str) -> None:
    """Let a page say that it stands still, a little after it has asked."""
    await asyncio.sleep(0)
    ledger.blocking_requests._on_console(cast("ConsoleMessage", Written(BLOCKS_MARK + asked)))  # noqa: SLF001 - as the browser does


def test_stopping_is_no_fault() -> None:
    """A schedule that is stopped leaves nothing to tell."""
    ledger = silent_ledger()

    async def run() -> None:
        async with scheduled(moments(LATER), ledger):
            await asyncio.sleep(0)

    asyncio.run(run())

    assert ledger.error is None


def test_what_is_heard_of_late_still_comes_first() -> None:
    """A busy browser tells of a request some time after the page that made it has answered that it asks for no more."""
    log: list[str] = []

    async def run() -> int:
        first, second = moments(LATER, 2)
        async with scheduled((first, second), phase=LATER) as schedule:
            later = asyncio.ensure_future(Giving(schedule, second, log).end())
            await asyncio.sleep(LATE_S)
            await Giving(schedule, first, log).end()
            await later
            return schedule.late_count

    late = asyncio.run(run())

    assert (log, late) == (["begin 0", "end 0", "begin 1", "end 1"], 0)
