"""Recorded events are delivered in order, one after the other, whatever their cause."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from eikon_engine.browser.page_activity import PageActivity, query_activity
from eikon_engine.browser.page_clock import SteppedClock
from eikon_engine.browser.request_tracker import BLOCKS_MARK
from eikon_engine.browser.stabilizer import PageStabilizer
from eikon_engine.browser.traffic.schedule import DeliverySchedule
from eikon_engine.errors import BrowserDiedError, InternalError
from eikon_engine.network.exchange import Moment
from tests.browser.fake_context import FakeConsoleMessage, FakeRequest, fake_tracker
from tests.until import GENEROUS_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import ConsoleMessage, Request

    from eikon_engine.browser.page_tracker import PageTracker

NOW, LATER = 0, 9
"""Phases."""
LATE_S = 0.2
VERY_LATE_S = 1.0


def moments(phase: int, count: int = 3) -> tuple[Moment, ...]:
    """Return consecutive moments of one phase."""
    return tuple(Moment(order=order, at_ms=0, phase=phase) for order in range(count))


@asynccontextmanager
async def scheduled(
    expected: tuple[Moment, ...], tracker: PageTracker | None = None, *, phase: int = NOW
) -> AsyncIterator[DeliverySchedule]:
    """Run a schedule at page time 0."""
    tracker = tracker or fake_tracker()
    stabilizer = PageStabilizer(SteppedClock(), tracker, 100.0)
    stabilizer.timeline.phase = phase
    schedule = DeliverySchedule(stabilizer, tracker, expected)
    try:
        async with asyncio.timeout(GENEROUS_S):
            yield schedule
    finally:
        await schedule.stop()


class SlowDelivery:
    """A delivery that lasts until the test ends it."""

    def __init__(
        self,
        schedule: DeliverySchedule,
        moment: Moment,
        log: list[str],
        *,
        is_immediate: bool = False,
        request: Request | None = None,
    ) -> None:
        """Wait for the turn of a moment, and log its begin and end."""
        self.begun, self.ending = asyncio.Event(), asyncio.Event()
        self._name = f"{moment.order}"
        self._log = log
        self._task = asyncio.ensure_future(self._deliver(schedule, moment, request, is_immediate=is_immediate))

    async def end(self) -> None:
        """Complete it once it has begun."""
        await self.begun.wait()
        self.ending.set()
        await self._task

    async def _deliver(
        self, schedule: DeliverySchedule, moment: Moment, request: Request | None, *, is_immediate: bool
    ) -> None:
        async with schedule.in_turn(moment, request, is_immediate=is_immediate):
            self._log.append(f"begin {self._name}")
            self.begun.set()
            await self.ending.wait()
            self._log.append(f"end {self._name}")


ONE_BY_ONE = ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]


@pytest.mark.parametrize("phase", [NOW, LATER])
def test_due_and_early_deliveries_do_not_overlap(phase: int) -> None:
    """None begins before the previous one has ended, though all are due."""
    log: list[str] = []

    async def run() -> int:
        async with scheduled(moments(phase)) as schedule:
            given = [SlowDelivery(schedule, moment, log) for moment in moments(phase)]
            await asyncio.sleep(0)
            schedule.queue.deliver_early(fetches=True)
            given[2].ending.set()
            given[1].ending.set()
            for each in given:
                await each.end()
            return len(schedule.queue.late)

    late = asyncio.run(run())

    assert log == ONE_BY_ONE
    assert late == (3 if phase == LATER else 0)


def test_a_document_does_not_wait_for_a_delivery_its_page_cannot_accept() -> None:
    """It begins during another delivery, whose end then completes only itself."""
    log: list[str] = []

    async def run() -> None:
        async with scheduled(moments(NOW)) as schedule:
            stuck = SlowDelivery(schedule, moments(NOW)[0], log)
            await stuck.begun.wait()
            document = SlowDelivery(schedule, moments(NOW)[1], log, is_immediate=True)
            await document.begun.wait()
            last = SlowDelivery(schedule, moments(NOW)[2], log)
            await stuck.end()
            for _ in range(10):
                await asyncio.sleep(0)
            await document.end()
            await last.end()

    asyncio.run(run())

    assert log == ["begin 0", "begin 1", "end 0", "end 1", "begin 2", "end 2"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (BrowserDiedError("the page loops"), BrowserDiedError.code, "the page loops"),
        (ValueError("not enough values"), InternalError.code, "ValueError: not enough values"),
    ],
)
def test_an_error_that_ends_delivery_is_reported(error: Exception, code: str, message: str) -> None:
    """If pages cannot be queried, nothing more is delivered, and the session has the error."""
    tracker = fake_tracker(error)

    async def run() -> None:
        async with scheduled(moments(NOW), tracker) as schedule:
            second = asyncio.ensure_future(SlowDelivery(schedule, moments(NOW)[1], []).end())
            while tracker.error is None:
                tracker.changed.clear()
                await tracker.changed.wait()
            second.cancel()

    asyncio.run(run())

    assert tracker.error is not None
    assert tracker.error.code == code
    assert message in tracker.error.message


def test_a_blocked_page_is_answered_during_another_delivery() -> None:
    """It accepts nothing before, so the other delivery might never end."""
    log: list[str] = []
    tracker = fake_tracker()
    asking = FakeRequest("POST", "http://a.test/now")

    async def run() -> None:
        first, second = moments(NOW, 2)
        async with scheduled((first, second), tracker) as schedule:
            before = SlowDelivery(schedule, first, log)
            await before.begun.wait()
            blocking = SlowDelivery(schedule, second, log, request=cast("Request", asking))
            await block_page(tracker, f"{asking.method} {asking.url}#part")
            await blocking.end()
            await before.end()

    asyncio.run(run())

    assert log == ["begin 0", "begin 1", "end 1", "end 0"]


async def block_page(tracker: PageTracker, asked: str) -> None:
    """Let a page report that it is blocked, shortly after its request."""
    await asyncio.sleep(0)
    tracker.requests.blocking._on_console(cast("ConsoleMessage", FakeConsoleMessage(BLOCKS_MARK + asked)))  # noqa: SLF001 - as the browser does


def test_stopping_is_no_error() -> None:
    """A stopped schedule leaves no error."""
    tracker = fake_tracker()

    async def run() -> None:
        async with scheduled(moments(LATER), tracker):
            await asyncio.sleep(0)

    asyncio.run(run())

    assert tracker.error is None


@pytest.mark.parametrize(("late_s", "round_trip_s"), [(LATE_S, 0.0), (VERY_LATE_S, 0.1)])
def test_a_request_that_is_reported_late_is_still_answered_first(
    monkeypatch: pytest.MonkeyPatch, late_s: float, round_trip_s: float
) -> None:
    """A busy browser reports a request some time after its page reported that it waits for nothing more.

    On a busy machine, everything takes longer, and is waited for longer.
    """
    log: list[str] = []

    async def query(tracker: PageTracker, script: str, *, skip_leaving: bool) -> PageActivity:
        await asyncio.sleep(round_trip_s)
        return await query_activity(tracker, script, skip_leaving=skip_leaving)

    monkeypatch.setattr("eikon_engine.browser.traffic.schedule.query_activity", query)

    async def run() -> int:
        first, second = moments(LATER, 2)
        async with scheduled((first, second), phase=LATER) as schedule:
            later = asyncio.ensure_future(SlowDelivery(schedule, second, log).end())
            await asyncio.sleep(late_s)
            await SlowDelivery(schedule, first, log).end()
            await later
            return len(schedule.queue.late)

    late = asyncio.run(run())

    assert (log, late) == (["begin 0", "end 0", "begin 1", "end 1"], 0)


@dataclass(eq=False, slots=True)
class ScriptRequest:
    """A request for a script, by a frame of a page."""

    frame: SimpleNamespace
    method: str = "GET"
    url: str = "http://a.test/script.js"
    resource_type: str = "script"


def test_a_page_that_answers_no_query_gets_its_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that waits for a response, or is about to be replaced after one, may answer only then."""
    log: list[str] = []
    answered = asyncio.Event()

    async def count(_tracker: PageTracker, _frame: object) -> int:
        await answered.wait()
        return 0

    monkeypatch.setattr("eikon_engine.browser.traffic.schedule.count_starting_frames", count)
    monkeypatch.setattr("eikon_engine.browser.traffic.schedule.BLOCKED_S", LATE_S)

    async def run() -> None:
        first, second = moments(NOW, 2)
        async with scheduled((first, second)) as schedule:
            asked = cast("Request", ScriptRequest(SimpleNamespace(page=SimpleNamespace(), url="", parent_frame=None)))
            delivery = SlowDelivery(schedule, first, log, request=asked)
            await delivery.end()
            answered.set()
            await SlowDelivery(schedule, second, log).end()

    asyncio.run(run())

    assert log == ["begin 0", "end 0", "begin 1", "end 1"]


def test_a_response_is_delivered_though_its_request_was_let_through_out_of_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The request was about to get its turn when something else let it through; the response has the same order."""
    log: list[str] = []
    is_asked, answered = asyncio.Event(), asyncio.Event()

    async def count(_tracker: PageTracker, _frame: object) -> int:
        is_asked.set()
        await answered.wait()
        return 0

    monkeypatch.setattr("eikon_engine.browser.traffic.schedule.count_starting_frames", count)

    async def run() -> None:
        (moment,) = moments(NOW, 1)
        async with scheduled((moment,)) as schedule:
            sent = cast("Request", ScriptRequest(SimpleNamespace(page=SimpleNamespace(), url="", parent_frame=None)))
            request = SlowDelivery(schedule, moment, log, request=sent)
            await is_asked.wait()
            (pending,) = schedule.queue.pending()
            schedule.queue.discard(pending)
            pending.allowed.set()
            await request.end()
            response = SlowDelivery(schedule, moment, log, request=sent)
            await asyncio.sleep(0)
            answered.set()
            await response.end()

    asyncio.run(run())

    assert log == ["begin 0", "end 0"] * 2
