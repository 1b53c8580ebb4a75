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
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import PageSite
from tests.record.order_shop import Shop, read_divergence
from tests.record.recorded_page import QUICK, TWICE, recorded_actions, warnings
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


LATE_BUTTON = """<p id=status>Pending</p>
<button disabled onclick="document.querySelector('#status').textContent = 'Sent'">Send</button><script>
setTimeout(() => { document.querySelector('button').disabled = false; }, 1000);
</script>"""


@pytest.mark.parametrize("reads_it_before", [False, True], ids=["only then", "also before"])
def test_a_read_during_another_call_is_lost_unless_a_step_has_it(
    site: PageSite, tmp_path: Path, *, reads_it_before: bool
) -> None:
    """A value that no step has could differ in a replay unnoticed; one that a step has is compared there."""
    url = site.put(LATE_BUTTON)

    async def agent() -> str:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Send", directory=tmp_path / "b", options=TWICE) as mission:
                await page.goto(url)
                if reads_it_before:
                    assert await page.inner_text("#status") == "Pending"
                _, shown = await asyncio.gather(page.click("button"), page.inner_text("#status"))
                assert shown == "Pending"
                assert await page.inner_text("#status") == "Sent"
            await browser.close()
            assert mission.report is not None
            return mission.report.status

    status = asyncio.run(agent())

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    if reads_it_before:
        assert (status, network.incomplete, warnings(tmp_path / "b")) == ("certified", (), "")
        return
    (lost,) = network.incomplete
    assert status == "unverifiable"
    assert lost.what.startswith("what Frame.innerText returned during Frame.click (")
    assert lost.why == "it ran during another call, so that it has no position among the steps"
    assert f"{lost.what} was lost: {lost.why}" in warnings(tmp_path / "b")
