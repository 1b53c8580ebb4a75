"""A page that does not answer ends the wait for it, and all waits of an action share what a busy page may use."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, cast

import pytest

from eikon_engine.browser import page_calls
from eikon_engine.browser.page_calls import answer_timeout, page_deadline
from eikon_engine.errors import PageUnresponsiveError

if TYPE_CHECKING:
    from playwright.async_api import Page

PAGE = cast("Page", object())


def test_waits_of_an_action_share_what_a_busy_page_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that answers each question late, but before its time is over, would else hold an action for minutes."""
    used = iter([0.0, 0.0, 6.0, 6.0, 6.0, 6.0])

    async def processor_times(_page: object) -> dict[int, float]:
        return {1: next(used, 6.0)}

    monkeypatch.setattr(page_calls, "_processor_times", processor_times)
    for name, seconds in (("MIN_RESPONSE_S", 0.1), ("PAGE_RESPONSE_S", 20.0), ("BUSY_S", 1.0)):
        monkeypatch.setattr(page_calls, name, seconds)

    async def ask() -> float:
        started = time.monotonic()
        with pytest.raises(PageUnresponsiveError):
            async with answer_timeout(PAGE, "http://shop.example/"):
                await asyncio.Event().wait()
        return time.monotonic() - started

    async def act() -> tuple[float, float]:
        with page_deadline(0):
            return await ask(), await ask()

    first, second = asyncio.run(act())

    assert first < 10  # after the processor time
    assert second < 10  # although the page uses no more
