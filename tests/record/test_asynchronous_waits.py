"""The same for agents that drive the asynchronous API."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from eikon_engine.browser.executable import find_browser
from eikon_engine.record import record_mission
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import QUICK, kinds, warnings

pytestmark = pytest.mark.browser


def test_waits_of_an_asynchronous_agent_are_steps(site: PageSite, tmp_path: Path) -> None:
    """A wait in a task of its own is recorded after the call that caused what it waited for."""
    site.answers["/status"] = Answer(body="ready")
    url = site.put("<button onclick=\"fetch('/status')\">Start</button>")

    async def drive() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Try it", directory=tmp_path / "b", options=QUICK):
                await page.goto(url)
                waiting = asyncio.ensure_future(page.wait_for_event("response"))
                await asyncio.sleep(0)
                await page.click("button")
                await waiting
            await browser.close()

    asyncio.run(drive())

    assert kinds(tmp_path / "b") == ["click", "wait_for"]
    assert warnings(tmp_path / "b") == ""
