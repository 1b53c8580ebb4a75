"""Recordings of agents that use the asynchronous API."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Dialog, Page, async_playwright

from eikon_engine.browser.executable import find_browser
from eikon_engine.errors import UsageError
from eikon_engine.record import AgentMission, AttachOptions, record_mission
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import QUICK, kinds, steps

pytestmark = pytest.mark.browser

ASKING = """<button id=ask onclick="said = prompt('Name?')">Ask</button>
<button id=open onclick="window.open('about:blank')">Open</button> <a id=load href=/file.bin download>Load</a>
<input type=file id=file aria-label=File> <button id=choose onclick="file.click()">Choose</button>"""


@asynccontextmanager
async def opened_page(*, has_touch: bool = False) -> AsyncIterator[Page]:
    """Open a page in a new browser."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        yield await browser.new_page(has_touch=has_touch)
        await browser.close()


def run(folder: Path, agent: Callable[[Page, AgentMission], Awaitable[None]], options: AttachOptions = QUICK) -> None:
    """Run an agent while recording it."""

    async def work() -> None:
        async with (
            opened_page() as page,
            record_mission(page, mission_text="Try it", directory=folder, options=options) as mission,
        ):
            await agent(page, mission)

    asyncio.run(work())


def test_inputs_on_handles_are_recorded_by_the_selectors_that_found_them(site: PageSite, tmp_path: Path) -> None:
    """An agent may use locators or find handles itself."""
    url = site.put("<button id=b>Go</button><input id=name value=Ada><div style='height:3000px'></div>")

    async def work() -> None:
        async with (
            opened_page(has_touch=True) as page,
            record_mission(page, mission_text="Try it", directory=tmp_path / "b", options=QUICK),
        ):
            await page.goto(url)
            await page.tap("#b")
            await page.wait_for_function("id => document.getElementById(id).value === 'Ada'", arg="name")
            field = await page.query_selector("#name")
            assert field is not None
            await field.select_text()
            await field.screenshot()
            await field.scroll_into_view_if_needed()
            await page.locator("#name").blur()
            await page.touchscreen.tap(1, 1)

    asyncio.run(work())

    found = [step.action for step in steps(tmp_path / "b")][1:]
    targets = [getattr(action, "target", None) for action in found]
    assert [action.type for action in found] == [
        *("tap", "wait_for", "select_text", "screenshot", "scroll_into_view_if_needed", "blur", "touchscreen_tap")
    ]
    assert [target.selector for target in targets if target] == ["#b", "#name", "#name", "#name", "#name"]
    assert all(target.identity for target in targets if target)
    assert open_bundle(tmp_path / "b").trace.warnings == ()


def test_skills_and_subgoals_are_awaited(site: PageSite, tmp_path: Path) -> None:
    """An asynchronous agent awaits skill outputs, and enters subgoals by either kind of block."""
    url = site.put("<table id=t><tr><th>Name</th></tr><tr><td>Banana</td></tr></table><button>Go</button>")
    outputs = []

    async def agent(page: Page, mission: AgentMission) -> None:
        async with mission.subgoal("Look"):
            await page.goto(url)
            outputs.append(await mission.skill("extract_table", parameters={"selector": "#t"}))
        with mission.subgoal("Press"):
            await page.click("button")

    run(tmp_path / "b", agent)

    look, press = open_bundle(tmp_path / "b").trace.subgoal_traces
    assert [skill.output for skill in look.skills_used] == outputs
    assert "Banana" in str(outputs)
    assert [step.action.type for step in press.actions_taken] == ["click"]


def test_requests_of_pages_are_awaited_and_recorded(site: PageSite, tmp_path: Path) -> None:
    """Dialogs, popups, downloads and file choosers that an asynchronous agent awaits are recorded."""
    site.answers["/file.bin"] = Answer(body=b"file", content_type="application/octet-stream")
    url = site.put(ASKING)
    said = []

    async def accept(dialog: Dialog) -> None:
        await dialog.accept("Ada")

    async def agent(page: Page, _mission: AgentMission) -> None:
        await page.goto(url)
        page.once("dialog", accept)
        await page.click("#ask")
        said.append(await page.evaluate("said"))
        async with page.expect_popup() as opening:
            await page.click("#open")
        await (await opening.value).close()
        async with page.expect_download() as loading:
            await page.click("#load")
        said.append((await loading.value).suggested_filename)
        async with page.expect_file_chooser() as choosing:
            await page.click("#choose")
        await (await choosing.value).set_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"})

    run(tmp_path / "b", agent)

    assert said == ["Ada", "file.bin"]
    assert kinds(tmp_path / "b") == [
        "answer_dialog",
        "click",
        "evaluate",
        "click",
        "close_page",
        "click",
        "click",
        "set_input_files",
    ]
    assert [len(step.observation.downloads) for step in steps(tmp_path / "b") if step.observation][6] == 1


def test_concurrent_calls_are_recorded_in_the_order_sent(site: PageSite, tmp_path: Path) -> None:
    """Concurrent calls are all recorded, in the order in which they began."""
    url = site.put("<input id=a><input id=b><input id=c>")

    async def agent(page: Page, _mission: AgentMission) -> None:
        await page.goto(url)
        await asyncio.gather(*(page.fill(f"#{name}", name) for name in "abc"))

    run(tmp_path / "b", agent)

    assert kinds(tmp_path / "b") == ["fill", "fill", "fill"]


def test_a_cancelled_mission_is_aborted(site: PageSite, tmp_path: Path) -> None:
    """A timeout around the agent aborts the recording, which can still be read."""
    url = site.put("<p>here")

    async def agent(page: Page) -> None:
        async with (
            asyncio.timeout(None) as deadline,
            record_mission(page, mission_text="Try it", directory=tmp_path / "b", options=QUICK),
        ):
            await page.goto(url)
            deadline.reschedule(asyncio.get_running_loop().time() + 1)
            await page.click("#never")

    async def work() -> None:
        async with opened_page() as page:
            with pytest.raises(TimeoutError):
                await agent(page)

    asyncio.run(work())

    assert open_bundle(tmp_path / "b").trace.status == "aborted"
    assert kinds(tmp_path / "b") == ["click"]


def test_a_mission_that_is_cancelled_at_its_end_is_aborted(site: PageSite, tmp_path: Path) -> None:
    """If cancelled while pending requests are awaited, the recording is aborted and keeps what it has."""
    url = site.put("<p>here<button onclick=\"fetch('/slow')\">Load</button>")
    site.answers["/slow"] = Answer(pieces=(b"late",), ending="open")

    async def agent(page: Page) -> None:
        async with (
            asyncio.timeout(None) as deadline,
            record_mission(page, mission_text="Try it", directory=tmp_path / "b", options=QUICK),
        ):
            await page.goto(url)
            await page.click("button")
            deadline.reschedule(asyncio.get_running_loop().time() + 0.5)

    async def work() -> None:
        async with opened_page() as page:
            with pytest.raises(TimeoutError):
                await agent(page)

    asyncio.run(work())

    trace = open_bundle(tmp_path / "b").trace
    assert trace.status == "aborted"
    assert trace.network is not None
    assert [each.why for each in trace.network.incomplete] == ["the end of the recording was interrupted"]
    assert kinds(tmp_path / "b") == ["click"]


def test_nothing_is_written_after_the_block(site: PageSite, tmp_path: Path) -> None:
    """The agent may keep using its context; later requests are neither recorded nor redacted."""
    first, later = site.put("<p>here"), site.put("<p>later")

    def files() -> list[Path]:
        return sorted((tmp_path / "b").rglob("*"))

    async def work() -> tuple[list[Path], list[Path]]:
        async with opened_page() as page:
            async with record_mission(page, mission_text="Try it", directory=tmp_path / "b", options=QUICK):
                await page.goto(first)
            before = files()
            await page.goto(later, wait_until="networkidle")
            return before, files()

    before, after = asyncio.run(work())

    assert before == after


def test_a_recording_that_cannot_start_observes_nothing(site: PageSite, tmp_path: Path) -> None:
    """The agent may continue without a recording; its deleted folder is not created again."""
    url = site.put("<p>here")

    def fail() -> str:
        raise UsageError("no id")

    async def work() -> None:
        async with opened_page() as page:
            with pytest.raises(UsageError, match="no id"):
                async with record_mission(
                    page, mission_text="Try it", directory=tmp_path / "b", options=replace(QUICK, new_id=fail)
                ):
                    pass
            await page.goto(url, wait_until="networkidle")

    asyncio.run(work())

    assert not (tmp_path / "b").exists()


def test_a_block_of_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    """`with` around an asynchronous agent is an error of one line, and leaves no files behind."""

    async def work() -> None:
        async with opened_page() as page:
            with record_mission(page, mission_text="Wrong", directory=tmp_path / "b", options=QUICK):
                pass

    with pytest.raises(
        UsageError, match=r"^the agent uses Playwright's asynchronous API; use `async with record_mission\(…\)`"
    ):
        asyncio.run(work())

    assert not (tmp_path / "b").exists()
