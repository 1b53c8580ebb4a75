"""A cookie with an expiry date lasts as long as when it was recorded, whenever it is served."""

from __future__ import annotations

import pytest

from eikon_engine.browser.traffic.recorded_responses import redirect_cookies, with_relative_lifetimes
from eikon_engine.network.exchange import Exchange, Hop, RecordedRequest

NOON = 1_768_478_400.0
"""Thu, 15 Jan 2026 12:00:00 GMT"""
BOTH = "a=1; Max-Age=5; Expires=Thu, 15 Jan 2026 13:00:00 GMT"
FAR = "a=1; Expires=Thu, 99 Jan 99999 12:00:00 GMT"
DATE = ("date", "Thu, 15 Jan 2026 12:00:00 GMT")


@pytest.mark.parametrize(
    ("cookie", "served"),
    [
        ("a=1", "a=1"),
        ("a=1; Expires=Thu, 15 Jan 2026 13:00:00 GMT; Path=/", "a=1; Max-Age=3600; Path=/"),
        ("a=1; Path=/; expires=Thu, 15-Jan-2026 12:00:10 GMT", "a=1; Path=/; Max-Age=10"),
        ("a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=; Max-Age=0"),
        (BOTH, BOTH),
        ("a=1; Expires=soon", "a=1; Expires=soon"),
        (FAR, FAR),
        ("expires=Thu, 15 Jan 2026 13:00:00 GMT", "expires=Thu, 15 Jan 2026 13:00:00 GMT"),
        ("a=1; Expires=Thu, 15 Jan 2026 12:00:01 GMT\nb=2", "a=1; Max-Age=1\nb=2"),
    ],
)
def test_a_date_becomes_a_duration(cookie: str, served: str) -> None:
    """It counts from the date of the response, and without one from page time."""
    assert with_relative_lifetimes((DATE, ("set-cookie", cookie)), 0) == (DATE, ("set-cookie", served))
    assert with_relative_lifetimes((("Set-Cookie", cookie),), NOON) == (("Set-Cookie", served),)


def test_redirects_keep_only_their_cookies() -> None:
    """Two redirects each set a cookie with a date of its own."""
    request = RecordedRequest(method="GET", url="http://a/", resource_type="document", is_navigation=True)
    hops = (
        Hop(url="http://a/", status=302, headers=(DATE, ("set-cookie", "a=1; Expires=Thu, 15 Jan 2026 12:01:00 GMT"))),
        Hop(url="http://a/2", status=302, headers=(("location", "/3"), ("set-cookie", "b=2"))),
    )
    exchange = Exchange(
        ordinal=0, key="GET http://a/", occurrence=0, request=request, hops=hops, failure="lost", started_ms=0
    )

    assert list(redirect_cookies(exchange, NOON)) == [("set-cookie", "a=1; Max-Age=60"), ("set-cookie", "b=2")]
