"""What a replay will not repeat, or do otherwise, is told in the recording."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error

from eikon_engine.trace.actions import Click
from eikon_engine.trace.execution import Failed
from tests.browser.pages import PageSite
from tests.record.forms import FORM
from tests.record.watching import deeds, kinds, steps, warnings, watched


def test_the_first_of_several_is_said(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A selector that is not strict takes the first of its elements: so does the recording, with a warning."""
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        agent.page.click(".item")

    (click,) = deeds(tmp_path / "b")
    assert isinstance(click, Click)
    assert click.target.selector == ".item >> nth=0"
    assert ".item matched 2 elements; recorded the first" in warnings(tmp_path / "b")


def test_what_fails_is_recorded_and_fails_for_the_agent(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Clicks on nothing and on one of two raise for the agent as ever, and are recorded with their codes."""
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        for selector in ("#none", ".item"):
            with pytest.raises(Error):
                agent.page.locator(selector).click(timeout=200)

    failed = [step.result for step in steps(tmp_path / "b")][1:]
    assert [result.code for result in failed if isinstance(result, Failed)] == ["target-missing", "target-ambiguous"]


def test_what_is_not_repeated_is_told(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Scripts, requests, state and taps of an agent are warnings, with how often they were used and what follows."""
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM))
        page.evaluate("1")
        page.evaluate("2")
        page.request.get(site.url)
        page.context.add_cookies([{"name": "a", "value": "b", "url": site.url}])
        page.locator("#text").select_text()
        page.locator("#go").hover(force=True)
        page.locator("#go").screenshot()
        page.wait_for_function("window.seen = 1")
        page.locator("#go").blur()

    told = warnings(tmp_path / "b")
    assert kinds(tmp_path / "b") == []
    assert "Frame.evaluateExpression was called 2 times: what a script" in told
    assert "APIRequestContext.fetch was called once: requests that the agent sends itself" in told
    assert "BrowserContext.addCookies was called once" in told
    assert "ElementHandle.selectText was called once: the text selection is not replayed" in told
    assert "Frame.hover was called once: `force`" in told
    assert "ElementHandle.screenshot was called once: element screenshots" in told
    assert "Frame.waitForFunction was called once: a replay takes as long as the agent took" in told
    assert "Frame.blur was called once" in told


def test_a_call_without_a_deadline_is_told(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What an agent would wait for without end is waited for long in a replay, and the recording says so."""
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM), timeout=0)
        page.wait_for_selector("#go", timeout=0)
        page.click("#go", timeout=0)
        page.click("#go")

    assert [step.action.timeout_ms for step in steps(tmp_path / "b")] == [300_000, 300_000, 300_000, 20_000]
    assert "calls without a deadline (timeout=0): 3; a replay times out after 300 s" in warnings(tmp_path / "b")


def test_a_press_at_an_unknown_place_is_told(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The mouse is pressed before it was moved anywhere: a note stands there, and a warning."""
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        agent.page.mouse.down()

    assert kinds(tmp_path / "b") == ["note"]
    assert "the pointer position is unknown" in warnings(tmp_path / "b")
