"""What an agent reads and waits for is recorded, and a replay must read the same."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from eikon_engine.record import AgentMission, AttachOptions
from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.actions import Evaluate, Expect, Read, ReadValue
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.masks import Mask, ReadPart, SelectorPart
from tests.browser.pages import Answer, PageSite
from tests.record.order_shop import Shop, all_divergences, read_divergence
from tests.record.recorded_page import QUICK, TWICE, recorded_actions, recorded_page, steps, warnings
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser


def order(page: Page, url: str) -> None:
    """Order, wait for the verdict and read it."""
    page.goto(url)
    page.click("#order")
    expect(page.locator("#status")).to_have_text("Approved", timeout=20_000)
    assert page.locator("#status").inner_text() == "Approved"
    assert page.locator("#log li").count() == 2
    assert page.locator("#log").is_visible()
    assert page.locator("li").all_inner_texts() == ["one", "two"]
    assert page.evaluate("document.querySelector('#code').value") == "A7"
    assert page.locator("#code").evaluate("(e, suffix) => e.value + suffix", "!") == "A7!"


READS: Final = ["click", "expect", "read", "read", "read", "read", "evaluate", "evaluate"]


def test_reads_of_an_agent_are_certified_and_compared(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A later verdict of the site diverges where the agent waited for it, sealed and unchanged replays are faithful."""
    shop = Shop(site)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        order(agent.page, shop.url)

    assert [action.type for action in recorded_actions(tmp_path / "b")] == READS
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    assert replay(tmp_path / "b", tmp_path / "live", network="live").verdict == "faithful"
    shop.verdict = "Rejected"
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live")
    assert changed.verdict == "diverged"
    kind, code, expected, observed = read_divergence(changed)
    assert (kind, code) == ("expect", "assertion-failed")
    assert "Approved" in expected
    assert observed == '"Rejected"'
    mask = Mask(name="status", reason="it varies", part=SelectorPart(selector="#status"))
    masked = replay(tmp_path / "b", tmp_path / "masked", network="live", masks=(mask,))
    assert masked.verdict == "faithful", masked


def test_a_mission_that_ends_with_the_read_of_a_poll_compares_its_last_answer(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """No later step would notice a different status: the last read itself does, with what it expected and observed."""

    def wait_for_verdict(folder: Path, options: AttachOptions) -> AgentMission:
        with recorded_page(chromium, folder, options) as agent:
            agent.page.goto(shop.url)
            agent.page.click("#order")
            while agent.page.inner_text("#status") in {"None", "Pending"}:
                agent.page.wait_for_timeout(200)
        return agent.mission

    shop = Shop(site)
    mission = wait_for_verdict(tmp_path / "b", TWICE)
    shop.verdict = "Rejected"
    wait_for_verdict(tmp_path / "rejected", QUICK)

    last = recorded_actions(tmp_path / "b")[-1]
    assert isinstance(last, Read)
    assert last.times > 1
    assert mission.report is not None
    assert mission.report.status == "certified", mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    changed = replay(
        tmp_path / "b", tmp_path / "changed", responses_from=tmp_path / "rejected", on_divergence="continue"
    )
    assert changed.verdict == "diverged"
    (found,) = [each for each in all_divergences(changed) if each.code == "read-changed"]
    assert (found.sequence, found.expected, found.observed) == (3, '"Approved"', '"Rejected"')


def test_failures_are_expected_again(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """An assertion that did not hold and an element that was missing for the agent are so in every replay."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<p>Here</p><p>There</p>"))
        with pytest.raises(AssertionError):
            expect(agent.page.locator("p").first).to_have_text("Elsewhere", timeout=200)
        with pytest.raises(Error):
            agent.page.locator("#none").inner_text(timeout=200)
        with pytest.raises(Error):
            agent.page.locator("p").inner_text(timeout=2_000)
        with pytest.raises(Error):
            agent.page.evaluate("none.such")

    results = [step.result for step in steps(tmp_path / "b")][1:]
    codes = [result.code for result in results if isinstance(result, Failed)]
    assert codes == ["assertion-failed", "target-missing", "target-ambiguous", "action-rejected"]
    failed = recorded_actions(tmp_path / "b")[0]
    assert isinstance(failed, Expect)
    assert failed.received == ReadValue(value="Here")
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_a_script_with_an_effect_is_repeated_once(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What the script changes and sends is there in a replay; a result that cannot be repeated is a named mask."""
    site.answers["/count"] = Answer(body="noted")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<p id=n>0</p>"))
        agent.page.evaluate("async by => { n.textContent = +n.textContent + by; await fetch('/count') }", 2)
        assert agent.page.inner_text("#n") == "2"
        agent.page.evaluate("() => new Promise(done => setTimeout(done, 300, 'late'))")
        agent.page.evaluate("Date.now()")
        agent.page.evaluate("new Date()")

    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    masks = open_bundle(tmp_path / "b").trace.masks
    parts = [mask.part for mask in masks if isinstance(mask.part, ReadPart)]
    assert [part.action for part in parts] == ["evaluate Date.now()", "evaluate new Date()"]
    assert parts[0].pattern == "[0-9]{13}"
    assert parts[1].covers(ReadValue(value={"$date": "2026-01-02T03:04:05.678Z"}))
    assert not parts[1].covers(ReadValue(value={"$date": "never"}))


def test_a_long_value_is_in_a_file_and_its_changed_lines_are_shown(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The whole document is compared, and the report shows what changed in it."""
    lines = "\n".join(f"<p>line {number}</p>" for number in range(400))
    site.answers["/long"] = Answer(body=f"<!doctype html>{lines}")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/long")
        agent.page.content()

    (read,) = recorded_actions(tmp_path / "b")
    assert isinstance(read, Read)
    assert read.value is not None
    assert read.value.long is not None
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    site.answers["/long"] = Answer(body=f"<!doctype html>{lines.replace('line 7<', 'line VII<')}")
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", on_divergence="continue")
    (found,) = [each for each in all_divergences(changed) if each.code == "read-changed"]
    assert "-<p>line 7</p>" in found.detail
    assert "+<p>line VII</p>" in found.detail


def test_a_secret_that_is_read_is_in_no_file(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What is read is compared without the secret."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<input id=pw type=password>"))
        agent.page.fill("#pw", "plum-orchard-77")
        assert agent.page.input_value("#pw") == "plum-orchard-77"

    assert find_in_files(tmp_path / "b", {b"plum-orchard-77"}) == set()
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_values_are_recorded(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Each read has what it was called with and what it returned."""
    shop = Shop(site)
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        order(agent.page, shop.url)

    found = recorded_actions(tmp_path / "b")[1:]
    waited, *reads = found
    assert isinstance(waited, Expect)
    assert waited.expression == "to.have.text"
    assert waited.texts is not None
    assert waited.texts[0].string == "Approved"
    assert waited.timeout_ms == 20_000
    assert [read.what for read in reads if isinstance(read, Read)] == [
        "inner_text",
        "count",
        "is_visible",
        "all_inner_texts",
    ]
    values = [read.value.value for read in reads if isinstance(read, Read | Evaluate) and read.value is not None]
    assert values == ["Approved", 2, True, ["one", "two"], "A7", "A7!"]


def test_a_form_that_a_script_submits_is_submitted_in_replays(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """A script may replace its document while it returns."""
    site.answers["/sent"] = Answer(body="<title>sent</title><h1>Thank you</h1>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<form method=post action=/sent><input name=a value=1></form>"))
        agent.page.locator("form").evaluate("form => form.submit()")
        agent.page.wait_for_url("**/sent")
        assert agent.page.inner_text("h1") == "Thank you"

    assert [action.type for action in recorded_actions(tmp_path / "b")] == ["evaluate", "wait_for", "read"]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_equal_reads_in_a_row_are_one_step(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Another read, or any other step, ends the row."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put("<p>a</p><button>b</button>"))
        for selector in ("p", "p", "p", "button", "p"):
            agent.page.inner_text(selector)
        agent.page.click("button")
        agent.page.inner_text("p")

    found = recorded_actions(tmp_path / "b")
    assert [action.times if isinstance(action, Read) else 0 for action in found] == [3, 1, 1, 0, 1]


def test_a_number_that_is_none_any_more_is_compared(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """JSON has no NaN, nor dates; they are kept as what they are, and are different from any text."""
    page = Answer(body="<p>42")
    site.answers["/total"] = page
    script = "() => Number(document.querySelector('p').textContent)"
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/total")
        assert agent.page.evaluate(script) == 42
        agent.page.evaluate("() => [NaN, -Infinity, new Date(86_400_000), 12n ** 20n, /a/i, new URL('http://a.test/')]")

    _, odd = recorded_actions(tmp_path / "b")
    assert isinstance(odd, Evaluate)
    assert odd.value is not None
    assert odd.value.value == [
        {"$numberDouble": "NaN"},
        {"$numberDouble": "-Infinity"},
        {"$date": "1970-01-02T00:00:00.000Z"},
        12**20,
        {"$regularExpression": {"pattern": "a", "options": "i"}},
        {"$url": "http://a.test/"},
    ]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "same", network="live").verdict == "faithful"
    site.answers["/total"] = Answer(body="<p>n/a")
    mask = Mask(name="total", reason="it varies", part=SelectorPart(selector="p"))
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", masks=(mask,))
    assert read_divergence(changed) == ("evaluate", "read-changed", "42", '{"$numberDouble": "NaN"}')


def test_a_value_without_any_representation_is_lost(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Nothing could be compared with it, so the bundle is not certified; an assertion that expects one is skipped."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<p>42<script>document.querySelector('p').total = NaN</script>"))
        agent.page.evaluate("() => { const all = []; all.push(all); return all; }")
        expect(agent.page.locator("p")).to_have_js_property("total", math.nan)

    trace = open_bundle(tmp_path / "b").trace
    looped, asserted = trace.warnings
    assert trace.network is not None
    (lost,) = trace.network.incomplete
    assert lost.what.startswith("what Frame.evaluateExpression returned (")
    assert lost.why == "JSON cannot represent a value that contains itself, or is nested too deeply"
    assert looped == f"{lost.what} was lost: {lost.why}"
    assert asserted == "Frame.expect was called once: JSON cannot represent the value that it expects; replays skip it"
    assert agent.mission.report is not None
    assert agent.mission.report.status == "unverifiable"
    assert [each.message for each in agent.mission.report.findings] == [f"the recording is incomplete: {looped}"]
