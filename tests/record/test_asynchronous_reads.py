"""The same for agents that drive the asynchronous API."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from playwright.async_api import async_playwright, expect

from eikon_engine.browser.executable import find_browser
from eikon_engine.record import record_mission
from eikon_engine.trace.actions import Read, ReadValue
from tests.browser.pages import PageSite
from tests.record.order_shop import Shop, read_divergence
from tests.record.recorded_page import QUICK, TWICE, recorded_actions
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser


def test_reads_of_an_asynchronous_agent_are_compared(site: PageSite, tmp_path: Path) -> None:
    """The asynchronous API sends the same calls, some of them at once."""
    shop = Shop(site)

    async def agent() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Order", directory=tmp_path / "b", options=TWICE) as mission:
                await page.goto(shop.url)
                await page.click("#order")
                while await page.inner_text("#status") in {"None", "Pending"}:
                    await page.wait_for_timeout(200)
                await expect(page.locator("#status")).to_contain_text("prov", timeout=20_000)
                texts = await asyncio.gather(page.inner_text("#status"), page.input_value("#code"), page.title())
                assert tuple(texts) == ("Approved", "A7", "page")
            await browser.close()
            assert mission.report is not None
            assert mission.report.status == "certified", mission.report.findings

    asyncio.run(agent())

    polled = recorded_actions(tmp_path / "b")[1]
    assert [action.type for action in recorded_actions(tmp_path / "b")] == [
        *("click", "read", "expect"),
        *("read", "read", "read"),
    ]
    assert isinstance(polled, Read)
    assert polled.times > 1
    assert polled.value == ReadValue(value="Approved")
    shop.verdict = "Rejected"
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live")
    assert read_divergence(changed) == ("read", "read-changed", '"Approved"', '"Rejected"')


def test_a_cancelled_read_is_not_compared(site: PageSite, tmp_path: Path) -> None:
    """The agent learned nothing that a replay could compare."""
    url = site.put("<p id=late>Late</p>")

    async def agent() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Wait", directory=tmp_path / "b", options=QUICK):
                await page.goto(url)
                reading = asyncio.ensure_future(page.inner_text("#none"))
                await asyncio.sleep(0.3)
                reading.cancel()
                assert await page.inner_text("#late") == "Late"
            await browser.close()

    asyncio.run(agent())

    assert [action.type for action in recorded_actions(tmp_path / "b")] == ["note", "read"]
