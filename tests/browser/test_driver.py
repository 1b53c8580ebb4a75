"""Browsers that are launched one after the other may share one driver."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from anyio import to_thread

from eikon_engine.browser.launch import LaunchOptions, launch_browser, shared_driver

if TYPE_CHECKING:
    from playwright.async_api import APIRequest

pytestmark = pytest.mark.browser


async def launched() -> APIRequest:
    """Launch a browser, open a page and close it; return the identity of its driver."""
    async with launch_browser(LaunchOptions()) as running:
        page = await running.browser.new_page()
        assert await page.evaluate("1 + 1") == 2
        return running.api_request


def test_browsers_of_a_block_share_one_driver() -> None:
    """Nested and concurrent launches share it, too; the first launch after the block gets another."""

    async def launch() -> None:
        async with shared_driver():
            first = await launched()
            async with shared_driver():
                assert await launched() is first
            assert {*await asyncio.gather(launched(), launched())} == {first}
        assert await launched() is not first

    asyncio.run(launch())


def test_no_driver_is_started_without_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block in which no browser is launched starts no process."""
    monkeypatch.delattr(asyncio, "create_subprocess_exec")

    async def launch_none() -> None:
        async with shared_driver():
            pass

    asyncio.run(launch_none())


def test_a_loop_in_another_thread_has_a_driver_of_its_own() -> None:
    """Threads inherit context variables, but a driver belongs to one event loop."""

    async def launch() -> None:
        async with shared_driver():
            first = await launched()
            assert await to_thread.run_sync(asyncio.run, launched()) is not first

    asyncio.run(launch())
