"""Calls that a replay does not repeat, or performs differently, are warnings."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error

from eikon_engine.record.options import AttachOptions
from eikon_engine.trace.actions import Click, Fill, SecretRef
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.trace_file import read_trace
from tests.browser.pages import PageSite
from tests.record.forms import FORM
from tests.record.recorded_page import kinds, recorded_actions, recorded_page, steps, warnings

pytestmark = pytest.mark.browser


def test_the_first_of_several_matches_is_recorded_with_a_warning(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """A non-strict selector takes its first match, and so does the recording, with a warning."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        agent.page.click(".item")

    (click,) = recorded_actions(tmp_path / "b")
    assert isinstance(click, Click)
    assert click.target.selector == ".item >> nth=0"
    assert ".item matched 2 elements; recorded the first" in warnings(tmp_path / "b")


def test_a_failed_call_is_recorded_and_fails_for_the_agent(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Clicks without a match and with two matches raise as usual and are recorded with their codes."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        for selector, timeout_ms in (("#none", 200), (".item", 20_000)):  # the second one fails at once
            with pytest.raises(Error):
                agent.page.locator(selector).click(timeout=timeout_ms)

    failed = [step.result for step in steps(tmp_path / "b")][1:]
    assert [result.code for result in failed if isinstance(result, Failed)] == ["target-missing", "target-ambiguous"]


def test_a_secret_with_two_names_is_recorded_under_one(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Else what is typed and what is sent could have different names; a replay needs one value only."""
    password = "hunter2-of-pears"
    options = AttachOptions(secrets={"OTHER": password, "DESK": password, "CODE": "of-apples"})
    with recorded_page(chromium, tmp_path / "b", options) as agent:
        agent.page.goto(site.put("<form><input type=password name=p><button>Send</button></form>"))
        agent.page.fill("input", password)
        agent.page.click("button")

    fill = recorded_actions(tmp_path / "b")[0]
    assert isinstance(fill, Fill)
    assert fill.text == SecretRef(secret="DESK")
    trace = read_trace(tmp_path / "b")
    assert trace.start.secrets == ("CODE", "DESK")
    assert "secrets OTHER and DESK have the same value, so both are recorded as DESK" in trace.warnings


def test_calls_that_are_not_replayed_are_warnings(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Scripts, requests and state changes of an agent are warnings with their number and consequence."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM))
        given = page.evaluate_handle("({})")
        page.evaluate("each => each.a", given)
        page.evaluate("each => each.b", given)
        page.request.get(site.url)
        page.context.add_cookies([{"name": "a", "value": "b", "url": site.url}])
        page.locator("#text").hover(trial=True)
        page.wait_for_function("async () => true")

    found = warnings(tmp_path / "b")
    assert kinds(tmp_path / "b") == ["evaluate"]
    assert "Frame.evaluateExpression was called 2 times: changes that scripts of the client make" in found
    assert "APIRequestContext.fetch was called once: requests that the client sends itself" in found
    assert "BrowserContext.addCookies was called once" in found
    assert "Frame.hover was called once: trial" in found
    assert "Frame.waitForFunction was called once: an async function gives a promise" in found


def test_calls_without_a_deadline_are_a_warning(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A replay replaces an unlimited wait by a long timeout, and the recording warns about it."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM), timeout=0)
        page.wait_for_selector("#go", timeout=0)
        page.click("#go", timeout=0)
        page.click("#go")

    assert [step.action.timeout_ms for step in steps(tmp_path / "b")] == [300_000, 300_000, 300_000, 20_000]
    assert "calls without a deadline (timeout=0): 3; a replay times out after 300 s" in warnings(tmp_path / "b")


def test_a_mouse_press_before_any_move_is_recorded_where_the_pointer_is(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Playwright's pointer begins at the top left corner, which needs no warning."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        agent.page.mouse.down()

    assert kinds(tmp_path / "b") == ["mouse"]
    assert warnings(tmp_path / "b") == ""
