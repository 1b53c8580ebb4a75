"""The same for agents that drive the asynchronous API."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Error, Page, async_playwright, expect

from eikon_engine.browser.executable import find_browser
from eikon_engine.record import record_mission
from eikon_engine.trace.actions import Note, Read, ReadValue
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, PageSite
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


SLOW_TEXTS = """<p id=first></p><p id=second></p><script>
const show = (id) => { document.getElementById(id).textContent = id; };
setTimeout(() => show("second"), 700);
setTimeout(() => {
  document.getElementById("first").innerHTML = "<b id=slow>first</b>";
}, 1500);
</script>"""


async def expect_both(page: Page) -> None:
    """Assert two texts at once; the second one is shown first."""
    await asyncio.gather(
        expect(page.locator("#first")).to_have_text("first", timeout=9_000),
        expect(page.locator("#second")).to_have_text("second", timeout=8_000),
    )


async def read_beside_slow_read(page: Page) -> None:
    """Count elements while an element is waited for."""
    text, count = await asyncio.gather(page.inner_text("#slow"), page.locator("b").count())
    assert (text, count) == ("first", 0)


async def read_beside_wait(page: Page) -> None:
    """Count elements while a selector is waited for."""
    _, count = await asyncio.gather(page.wait_for_selector("#slow"), page.locator("b").count())
    assert count == 0


async def get_state(page: Page) -> None:
    """Get what agents ask for before each of their decisions."""
    await page.wait_for_selector("#slow")
    script = "() => Array.from(document.querySelectorAll('p'), (each) => each.id)"
    _, title, ids = await asyncio.gather(page.screenshot(), page.title(), page.evaluate(script))
    assert (title, ids) == ("page", ["first", "second"])


async def read_beside_script(page: Page) -> None:
    """Read from the page while a script waits for something."""
    script = "() => new Promise((resolve) => setTimeout(() => resolve(document.body.innerText), 900))"
    shown, title = await asyncio.gather(page.evaluate(script), page.title())
    assert (shown.strip(), title) == ("second", "page")


GATHERS: dict[str, tuple[Callable[[Page], Awaitable[None]], list[str]]] = {
    "two assertions": (expect_both, ["expect", "expect"]),
    "a count during a slow read": (read_beside_slow_read, ["read", "read"]),
    "a count during a wait": (read_beside_wait, ["read", "wait_for"]),
    "a state of the page": (get_state, ["wait_for", "evaluate", "read", "screenshot"]),
    "a title during a script": (read_beside_script, ["read", "evaluate"]),
}
"""What asynchronous agents do at once, and the types of its steps; those of a state end in any order."""


@pytest.mark.parametrize("kind", list(GATHERS))
def test_reads_during_calls_that_change_no_page_are_steps(site: PageSite, tmp_path: Path, kind: str) -> None:
    """They are recorded in the order in which they end, and nothing is lost."""
    gather, types = GATHERS[kind]
    url = site.put(SLOW_TEXTS)

    async def agent() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Read", directory=tmp_path / "b", options=TWICE) as mission:
                await page.goto(url)
                await gather(page)
            await browser.close()
            assert mission.report is not None
            assert mission.report.status == "certified", mission.report.findings

    asyncio.run(agent())

    found = [action.type for action in recorded_actions(tmp_path / "b")]
    assert (sorted(found) if kind == "a state of the page" else found) == (
        sorted(types) if kind == "a state of the page" else types
    )
    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    assert (network.incomplete, warnings(tmp_path / "b")) == ((), "")


def test_reads_during_another_read_of_a_new_page_have_its_page_switch_before_them(
    site: PageSite, tmp_path: Path
) -> None:
    """An agent that gets the titles of all tabs at once may read from a popup for the first time."""
    site.answers["/popup"] = Answer(body="<title>popup</title>")
    url = site.put("<button onclick=\"window.open('/popup')\">Open</button>" + SLOW_TEXTS)

    async def agent() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Read", directory=tmp_path / "b", options=TWICE) as mission:
                await page.goto(url)
                async with page.expect_popup() as opened:
                    await page.click("button")
                popup = await opened.value
                await asyncio.sleep(0.3)  # a wait would be a step on the popup
                text, title = await asyncio.gather(page.inner_text("#slow"), popup.title())
                assert (text, title) == ("first", "popup")
            await browser.close()
            assert mission.report is not None
            assert mission.report.status == "certified", mission.report.findings

    asyncio.run(agent())

    assert [action.type for action in recorded_actions(tmp_path / "b")][-3:] == ["switch_page", "read", "read"]


def test_a_lost_read_is_the_same_as_a_step_with_another_deadline(site: PageSite, tmp_path: Path) -> None:
    """How long an agent would have waited for a value does not make it another one."""
    url = site.put(LATE_BUTTON)

    async def agent() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Send", directory=tmp_path / "b", options=QUICK):
                await page.goto(url)
                assert await page.inner_text("#status", timeout=4_000) == "Pending"
                await asyncio.gather(page.click("button"), page.inner_text("#status", timeout=3_000))
            await browser.close()

    asyncio.run(agent())

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    assert network.incomplete == ()


def test_a_value_that_the_client_cannot_represent_is_no_loss(site: PageSite, tmp_path: Path) -> None:
    """The agent gets an error, too, also during another call: that is a warning."""
    url = site.put(LATE_BUTTON)

    async def agent() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Send", directory=tmp_path / "b", options=QUICK):
                await page.goto(url)
                script = "() => new Date('+012000-01-01')"
                ends = await asyncio.gather(page.click("button"), page.evaluate(script), return_exceptions=True)
                assert isinstance(ends[1], ValueError)
            await browser.close()

    asyncio.run(agent())

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    assert network.incomplete == ()
    seen = warnings(tmp_path / "b")
    assert "replays do not compare what Frame.evaluateExpression returned during Frame.click" in seen


def test_a_wait_that_has_not_ended_is_the_last_step(site: PageSite, tmp_path: Path) -> None:
    """The mission did not end after a pause: the agent was waiting."""
    url = site.put(LATE_BUTTON)

    async def agent() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Wait", directory=tmp_path / "b", options=QUICK):
                await page.goto(url)
                waiting = asyncio.ensure_future(page.wait_for_url("**/never"))
                await asyncio.sleep(1.5)
            waiting.cancel()
            await browser.close()

    asyncio.run(agent())

    (note,) = recorded_actions(tmp_path / "b")
    assert isinstance(note, Note)
    assert note.text.endswith(": the mission ended meanwhile")


def test_a_url_that_was_reached_after_the_timeout_but_before_the_step_is_a_warning(
    site: PageSite, tmp_path: Path
) -> None:
    """A replay would see the URL when the step begins, and could not tell whether it was in time."""
    url = site.put(LATE_BUTTON + "<script>setTimeout(() => history.pushState(0, '', '/done'), 800)</script>")

    async def agent() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await browser.new_page()
            async with record_mission(page, mission_text="Wait", directory=tmp_path / "b", options=QUICK):
                await page.goto(url)
                ends = await asyncio.gather(
                    page.wait_for_url("**/done", timeout=200), page.click("button"), return_exceptions=True
                )
                assert isinstance(ends[0], Error)
            await browser.close()

    asyncio.run(agent())

    assert [action.type for action in recorded_actions(tmp_path / "b")] == ["click", "note"]
    assert "its condition held after the timeout, before its step began" in warnings(tmp_path / "b")
