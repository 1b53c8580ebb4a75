from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from playwright.async_api import async_playwright
from playwright.sync_api import sync_playwright

from eikon_engine import launch_browser
from eikon_engine.browser.executable import find_browser
from eikon_engine.errors import BrowserMissingError
from eikon_engine.record.record_script import ScriptRequest, record_script

PAGE = "data:text/html,<title>started</title>"
SCRIPT = """
from playwright.sync_api import sync_playwright
from eikon_engine import launch_browser

with sync_playwright() as playwright:
    launch_browser(playwright).new_page().goto("data:text/html,<p>hello")
"""


@pytest.mark.browser
def test_a_synchronous_script_gets_the_browser_of_replays() -> None:
    """The browser opens a page, and options are those of Playwright."""
    with sync_playwright() as playwright:
        browser = launch_browser(playwright, args=["--lang=de"])
        page = browser.new_page()
        page.goto(PAGE)

        assert page.title() == "started"
        browser.close()


@pytest.mark.browser
def test_an_asynchronous_script_awaits_it() -> None:
    """The result is awaited."""

    async def read_title() -> str:
        async with async_playwright() as playwright:
            browser = await launch_browser(playwright)
            page = await browser.new_page()
            await page.goto(PAGE)
            title = await page.title()
            await browser.close()
            return title

    assert asyncio.run(read_title()) == "started"


@pytest.mark.browser
def test_a_named_browser_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser of EIKON_BROWSER_PATH is never replaced by another."""
    monkeypatch.setenv("EIKON_BROWSER_PATH", "/nowhere/chrome")

    with sync_playwright() as playwright, pytest.raises(BrowserMissingError, match="/nowhere/chrome"):
        launch_browser(playwright)


@pytest.mark.browser
def test_a_recorded_script_gets_the_browser_that_the_command_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--browser-path` precedes the environment."""
    browser_path = find_browser(None, environ=os.environ).path
    monkeypatch.setenv("EIKON_BROWSER_PATH", "/nowhere/chrome")
    script = tmp_path / "agent.py"
    script.write_text(SCRIPT, encoding="utf-8")

    run = record_script(ScriptRequest(script=str(script), directory=tmp_path / "recorded", browser_path=browser_path))

    assert run.exit_status == 0
    assert [each.directory.name for each in run.result.recorded] == ["recorded"]
