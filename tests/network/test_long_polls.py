"""Responses that a server held back until an event."""

from __future__ import annotations

import pytest

from eikon_engine.network.exchange import Exchange
from eikon_engine.network.long_polls import find_long_polls
from tests.network.factories import make_exchange


def made(ordinal: int, began: float, ended: int, *, method: str = "GET", kind: str = "fetch") -> Exchange:
    """Make an exchange of the given duration."""
    exchange = make_exchange(url=f"http://shop.test/{ordinal}", ordinal=ordinal)
    request = exchange.request.model_copy(update={"method": method, "resource_type": kind})
    end = {"started_ms": began, "completed_ms": float(ended), "completion": ended, "request": request}
    return exchange.model_copy(update=end)


@pytest.mark.parametrize(
    ("poll", "change", "is_one"),
    [
        (made(0, 0, 5000), made(1, 3000, 3100, method="POST"), True),
        (made(0, 0, 5000, kind="xhr"), made(1, 3000, 3100, method="DELETE"), True),
        (made(0, 0, 5000, kind="image"), made(1, 3000, 3100, method="POST"), False),
        (made(0, 0, 5000), made(1, 3000, 3100), False),
        (made(0, 0, 900), made(1, 300, 400, method="POST"), False),
        (made(0, 0, 5000), made(1, 3000, 5100, method="POST"), True),
        (made(0, 0, 5000), made(1, 5050, 5100, method="POST"), False),
        (made(0, 100, 5000), made(1, 50, 60, method="POST"), False),
    ],
    ids=[
        "fetch",
        "xhr",
        "a picture",
        "no change",
        "quick",
        "told first",
        "the change came later",
        "the change came before",
    ],
)
def test_a_poll_is_a_fetch_that_outlasts_a_change(poll: Exchange, change: Exchange, is_one: bool) -> None:  # noqa: FBT001 - a case
    """Only a slow request that was answered after a later change counts as a long poll."""
    assert find_long_polls([poll, change]) == ({0: frozenset({1})} if is_one else {})
