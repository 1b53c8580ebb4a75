"""Browsers that are launched one after the other may have one driver."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from anyio import to_thread

from eikon_engine.browser.launch import LaunchOptions, launch_browser, shared_driver

if TYPE_CHECKING:
    import pytest
    from playwright.async_api import APIRequest


async def launched() -> APIRequest:
    """Launch a browser, open a page in it and end it; return what belongs to its driver."""
    async with launch_browser(LaunchOptions()) as running:
        page = await running.browser.new_page()
        assert await page.evaluate("1 + 1") == 2
        return running.api_request


def test_browsers_of_a_block_have_one_driver() -> None:
    """Also those of a block inside it, and at the same time; the first one after it has another."""

    async def launch() -> None:
        async with shared_driver():
            first = await launched()
            async with shared_driver():
                assert await launched() is first
            assert {*await asyncio.gather(launched(), launched())} == {first}
        assert await launched() is not first

    asyncio.run(launch())


def test_no_driver_is_started_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block in which no browser is launched starts no process."""
    monkeypatch.delattr(asyncio, "create_subprocess_exec")

    async def launch_none() -> None:
        async with shared_driver():
            pass

    asyncio.run(launch_none())


def test_a_loop_in_another_thread_has_a_driver_of_its_own() -> None:
    """Threads inherit what is known in a block; what belongs to its loop is of no use to them."""

    async def launch() -> None:
        async with shared_driver():
            first = await launched()
            assert await to_thread.run_sync(asyncio.run, launched()) is not first

    asyncio.run(launch())
