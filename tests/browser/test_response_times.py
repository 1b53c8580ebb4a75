"""How long a response took to begin is known where there was one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from eikon_engine.browser.request_tracker import RequestTracker
from tests.browser.fake_context import FakeContext, FakeRequest, FakeResponse

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Request

AGO_S = 30.0
CANCELLED, REFUSED = "net::ERR_ABORTED", "net::ERR_CONNECTION_REFUSED"


def sent_long_ago(request: FakeRequest) -> tuple[FakeContext, RequestTracker]:
    """Track a request that was sent `AGO_S` seconds ago."""
    context = FakeContext(pages=())
    tracker = RequestTracker(cast("BrowserContext", context), asyncio.Event())
    context.emit("request", request)
    tracker.sent_at[cast("Request", request)] -= AGO_S
    return context, tracker


@pytest.mark.parametrize(
    ("failure", "took_long"), [(None, True), (REFUSED, True), (CANCELLED, False)], ids=["ended", "failed", "cancelled"]
)
def test_a_cancelled_request_was_not_late(failure: str | None, *, took_long: bool) -> None:
    """A page cancels a long poll or a search; that says nothing about its server."""
    request = FakeRequest(method="GET", url="http://a/poll", failure=failure)
    context, tracker = sent_long_ago(request)

    context.emit("requestfinished" if failure is None else "requestfailed", request)

    assert (tracker.take_longest_s() >= AGO_S) is took_long


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
def test_only_the_beginning_of_a_response_counts(content_type: str) -> None:
    """An event stream that a script fetches lasts as long as its page."""
    request = FakeRequest(method="GET", url="http://a/events", resource_type="fetch")
    context, tracker = sent_long_ago(request)
    context.emit("response", FakeResponse(request=request, content_type=content_type))
    assert tracker.take_longest_s() >= AGO_S

    context.emit("requestfinished", request)

    assert tracker.take_longest_s() == 0.0


def test_a_request_that_is_no_longer_waited_for_took_until_then() -> None:
    """A page that closes cancels its requests, so it does not count."""
    request = FakeRequest(method="GET", url="http://a/slow")
    _, tracker = sent_long_ago(request)
    tracker.forget(cast("Request", request), is_unanswered=True)
    assert tracker.take_longest_s() >= AGO_S

    _, tracker = sent_long_ago(request)
    tracker.forget(cast("Request", request))

    assert tracker.take_longest_s() == 0.0
