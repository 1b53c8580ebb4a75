"""What an agent waited for in vain: a replay waits as long, and diverges if it comes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from eikon_engine.outcome.outcomes import ActionOutcome, ReplayOutcome
from eikon_engine.trace.actions import WaitFor
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Failed
from tests.browser.pages import Answer, PageSite
from tests.exporters.running import export, run
from tests.record.recorded_page import TWICE, recorded_page, steps
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser

TIMEOUT_MS = 2000
NOTHING = "<!doctype html><title>page</title><button>Go</button><p>none</p>"
LATER = NOTHING + "<script>onclick = () => setTimeout(() => {{ {} }}, 1400)</script>"
SHOW = "document.querySelector('p').textContent = 'done'"


def wait_for_selector(page: Page) -> None:
    """Wait for an element."""
    page.wait_for_selector("text=done", timeout=TIMEOUT_MS)


def wait_for_function(page: Page) -> None:
    """Wait for a script."""
    page.wait_for_function("document.querySelector('p').textContent == 'done'", timeout=TIMEOUT_MS)


def expect_text(page: Page) -> None:
    """Assert a text."""
    expect(page.locator("p")).to_have_text("done", timeout=TIMEOUT_MS)


def expect_no_text(page: Page) -> None:
    """Assert that a text is gone."""
    expect(page.locator("p")).not_to_have_text("none", timeout=TIMEOUT_MS)


def wait_for_url(page: Page) -> None:
    """Wait for a URL."""
    page.wait_for_url("**/*done", timeout=TIMEOUT_MS)


def wait_for_url_by_expression(page: Page) -> None:
    """Wait for a URL that a regular expression finds."""
    page.wait_for_url(re.compile("DONE$", re.IGNORECASE), timeout=TIMEOUT_MS)


def wait_for_response(page: Page) -> None:
    """Wait for a response."""
    with page.expect_response("**/done", timeout=TIMEOUT_MS):
        pass


def wait_for_response_during_click(page: Page) -> None:
    """Wait for a response that a click may cause."""
    with page.expect_response("**/done", timeout=TIMEOUT_MS):
        page.click("button")


def wait_for_request(page: Page) -> None:
    """Wait for a request."""
    with page.expect_request(re.compile("/done"), timeout=TIMEOUT_MS):
        pass


FETCH = "fetch('/done')"
PUSH = "history.pushState(0, '', '/done')"
WAITS: dict[str, tuple[Callable[[Page], None], str]] = {
    "selector": (wait_for_selector, SHOW),
    "function": (wait_for_function, SHOW),
    "text": (expect_text, SHOW),
    "no text": (expect_no_text, SHOW),
    "url": (wait_for_url, PUSH),
    "url by expression": (wait_for_url_by_expression, PUSH),
    "response": (wait_for_response, FETCH),
    "response during a click": (wait_for_response_during_click, FETCH),
    "request": (wait_for_request, FETCH),
}
"""Waits, and what a page does that fulfils them."""


def record_failed_wait(chromium: Browser, site: PageSite, folder: Path, wait: Callable[[Page], None]) -> str:
    """Record an agent that waits in vain, and return the status of the certification."""
    with recorded_page(chromium, folder, TWICE) as agent:
        agent.page.goto(f"{site.url}/")
        if wait is not wait_for_response_during_click:
            agent.page.click("button")
        with pytest.raises((AssertionError, Error)):
            wait(agent.page)
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    return agent.mission.report.status


def fulfilled(outcome: ReplayOutcome) -> tuple[str, str, str]:
    """Return the type of the first step that diverged, and what was expected and observed of its result."""
    for step in (step for subgoal in outcome.subgoals for step in subgoal.steps):
        if isinstance(step, ActionOutcome) and step.divergences:
            found = next(each for each in step.divergences if each.code == "unexpected-success")
            return step.type, found.expected, found.observed
    raise AssertionError("nothing diverged")


@pytest.mark.parametrize("kind", list(WAITS))
def test_a_wait_in_vain_is_a_step_that_diverges_if_it_is_fulfilled(
    chromium: Browser, site: PageSite, tmp_path: Path, kind: str
) -> None:
    """Replays of the same site wait as long; one of a site where it comes says when."""
    wait, effect = WAITS[kind]
    site.answers |= {"/": Answer(body=NOTHING), "/done": Answer(body="done")}
    record_failed_wait(chromium, site, tmp_path / "b", wait)

    last = steps(tmp_path / "b")[-1]
    assert last.action.type in {"wait_for", "expect"}
    assert isinstance(last.result, Failed)
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    assert replay(tmp_path / "b", tmp_path / "same", network="live").verdict == "faithful"
    site.answers["/"] = Answer(body=LATER.format(effect))
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", policy="effects")
    kind_of_step, expected, observed = fulfilled(changed)
    assert kind_of_step == last.action.type
    assert expected.startswith("the condition does not hold within 2 s: ")
    assert re.fullmatch(r"it held (after [\d.]+ s|at once)", observed)


def test_what_comes_after_the_deadline_was_waited_for_in_vain(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The page shows it just after the agent stopped waiting; no replay waits for it longer than the agent."""
    site.answers["/"] = Answer(body=LATER.format(SHOW).replace("1400", "2500"))

    record_failed_wait(chromium, site, tmp_path / "b", wait_for_selector)

    assert replay(tmp_path / "b", tmp_path / "sealed", timeout_ms=20_000).verdict == "faithful"


def test_what_comes_between_two_looks_of_the_client_is_no_divergence(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Playwright looks every half a second in the end, and misses what comes just before the deadline."""
    site.answers["/"] = Answer(body=NOTHING)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/")
        agent.page.evaluate(f"() => {{ setTimeout(() => {{ {SHOW} }}, 2600) }}")
        with pytest.raises(Error):
            agent.page.wait_for_selector("text=done", timeout=2700)

    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"


def wait_briefly_for_url(page: Page) -> None:
    """Wait for a URL for a shorter time than an action stays open."""
    page.wait_for_url("**/done", timeout=450)


def wait_briefly_for_response(page: Page) -> None:
    """Wait for a response for a shorter time than an action stays open."""
    with page.expect_response("**/done", timeout=450):
        pass


def wait_for_response_during_long_click(page: Page) -> None:
    """Wait for a response with a deadline that expires while a click waits for its button."""
    with page.expect_response("**/done", timeout=1500):
        page.click("#later")


BRIEF_WAITS: dict[str, tuple[Callable[[Page], None], str, int]] = {
    "url": (wait_briefly_for_url, PUSH, 300),
    "response": (wait_briefly_for_response, FETCH, 300),
    "response during a click": (wait_for_response_during_long_click, FETCH, 1000),
}
"""Waits that time out before their steps begin, what a page does that fulfils them, and after how many milliseconds."""
SLOW_EFFECT = """<!doctype html><title>page</title>
<button id=start>Start</button><button id=later disabled>Go</button><p>none</p>
<script>
start.onclick = () => {{
  setTimeout(() => {{ later.disabled = false; }}, 2500);
  setTimeout(() => {{ {effect} }}, {after_ms});
  setTimeout(() => {{ document.querySelector("p").textContent = "done"; }}, 4500);
}};
</script>"""


@pytest.mark.parametrize("kind", list(BRIEF_WAITS))
def test_a_wait_that_timed_out_before_its_step_diverges_if_it_is_fulfilled_in_time(
    chromium: Browser, site: PageSite, tmp_path: Path, kind: str
) -> None:
    """What the page does within the deadline counts, though the step begins later."""
    wait, effect, after_ms = BRIEF_WAITS[kind]
    site.answers |= {"/": Answer(body=SLOW_EFFECT.format(effect=effect, after_ms=4000)), "/done": Answer(body="done")}
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/")
        agent.page.click("#start")
        with pytest.raises(Error):
            wait(agent.page)
        expect(agent.page.locator("p")).to_have_text("done")
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    waits = [step.action for step in steps(tmp_path / "b") if isinstance(step.action, WaitFor)]
    assert [each.elapsed_ms >= each.timeout_ms - 50 for each in waits] == [True]
    assert replay(tmp_path / "b", tmp_path / "same", network="live").verdict == "faithful"

    site.answers["/"] = Answer(body=SLOW_EFFECT.format(effect=effect, after_ms=after_ms))
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", policy="effects")

    kind_of_step, _, observed = fulfilled(changed)
    assert kind_of_step == "wait_for"
    assert observed.startswith("it held ")


@pytest.mark.parametrize("kind", ["selector", "text", "url", "url by expression", "response", "request"])
def test_an_exported_test_expects_the_wait_to_fail(
    chromium: Browser, site: PageSite, tmp_path: Path, kind: str
) -> None:
    """It passes on the same site, and fails where what was waited for comes."""
    wait, effect = WAITS[kind]
    site.answers |= {"/": Answer(body=NOTHING), "/done": Answer(body="done")}
    record_failed_wait(chromium, site, tmp_path / "b", wait)

    test = export(tmp_path / "b", tmp_path / "test")

    assert "with pytest.raises(" in test.source
    same = run(test, tmp_path / "test", site.url)
    assert same.passed, same.output
    site.answers["/"] = Answer(body=LATER.format(effect))
    changed = run(test, tmp_path / "test", site.url)
    assert not changed.passed, changed.output
    assert "DID NOT RAISE" in changed.output


def test_a_wait_for_an_invalid_glob_has_no_condition(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Playwright rejects it, so nothing can be waited for; the agent gets its error, and the mission is recorded."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(NOTHING))
        with pytest.raises(Error, match="Invalid glob pattern"):
            agent.page.wait_for_url("**/{done", timeout=TIMEOUT_MS)
        with pytest.raises(Error), agent.page.expect_response("**/{done", timeout=TIMEOUT_MS):
            agent.page.click("button")

    trace = open_bundle(tmp_path / "b").trace
    assert (trace.status, trace.failures) == ("complete", ())
    (warning,) = trace.warnings
    assert "replays do not check that it times out" in warning
    assert {step.action.type for step in steps(tmp_path / "b")} <= {"navigate", "click", "note"}
