"""A message waits for responses that reach its page first, but for none that takes long."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, cast

from tests.browser.fake_context import FakeRequest, fake_tracker
from tests.until import GENEROUS_S

if TYPE_CHECKING:
    from playwright.async_api import Request

    from eikon_engine.browser.request_tracker import RequestTracker


def sent(tracker: RequestTracker, *, ago_s: float = 0.0, begun_ago_s: float | None = None) -> Request:
    """Have a request in flight that was sent so long ago, and whose response may have begun."""
    request = cast("Request", FakeRequest(method="POST", url=f"http://a/{len(tracker.in_flight)}"))
    tracker.in_flight.add(request)
    tracker.sent_at[request] = time.monotonic() - ago_s
    if begun_ago_s is not None:
        tracker.response_began[request] = time.monotonic() - begun_ago_s
    return request


def test_a_response_that_arrives_is_waited_for() -> None:
    """The wait ends with it."""

    async def run() -> bool:
        tracker = fake_tracker().requests
        request = sent(tracker, ago_s=3, begun_ago_s=0.1)
        waiting = asyncio.ensure_future(tracker.wait_for_arriving_responses())
        await asyncio.sleep(0)
        was_waiting = not waiting.done()
        tracker.forget(request)
        async with asyncio.timeout(GENEROUS_S):
            await waiting
        return was_waiting

    assert asyncio.run(run())


def test_a_stream_and_a_long_poll_are_not_waited_for() -> None:
    """Nor is anything where no request is in flight."""

    async def run() -> None:
        tracker = fake_tracker().requests
        sent(tracker, ago_s=3, begun_ago_s=2)
        sent(tracker, ago_s=3)
        waiting = asyncio.ensure_future(tracker.wait_for_arriving_responses())
        await asyncio.sleep(0)
        assert waiting.done()

    asyncio.run(run())


def test_a_request_is_waited_for_once() -> None:
    """A feed of messages is not slowed down by a response that does not come."""

    async def run() -> None:
        tracker = fake_tracker().requests
        sent(tracker)
        async with asyncio.timeout(GENEROUS_S):
            await tracker.wait_for_arriving_responses()
        again = asyncio.ensure_future(tracker.wait_for_arriving_responses())
        await asyncio.sleep(0)
        assert again.done()

    asyncio.run(run())
