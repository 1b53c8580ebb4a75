"""What an agent reads from element handles and waits for on them is recorded, or a warning names the call."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error

from eikon_engine.trace.actions import Evaluate, Expect, Read, ReadValue, SelectorCondition, WaitFor
from eikon_engine.trace.execution import Failed
from tests.browser.pages import Answer, PageSite
from tests.record.order_shop import read_divergence
from tests.record.recorded_page import QUICK, TWICE, recorded_actions, recorded_page, steps, warnings
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser

LIST = """<ul><li>one<b>1</b></li><li>two<b>2</b></li></ul><p hidden>later</p><button disabled>Go</button><script>
setTimeout(() => { document.querySelector('button').disabled = false; }, 700);
setTimeout(() => {
  document.querySelector('ul').insertAdjacentHTML('beforeend', '<li hidden class=late>three</li>');
}, 1200);
</script>"""


def test_waits_for_attached_elements_are_steps(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """They differ from a locator that looks for the handle of its element."""
    url = site.put(LIST)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(url)
        page.locator(".late").wait_for(state="attached")
        page.wait_for_selector("li", state="attached")
        page.wait_for_selector("ul", state="attached", strict=True)
        page.locator("ul").element_handle()
        page.locator("ul").screenshot()

    *waits, screenshot = recorded_actions(tmp_path / "b")
    found = [each.condition for each in waits if isinstance(each, WaitFor)]
    selectors = [(each.target.selector, each.state) for each in found if isinstance(each, SelectorCondition)]
    assert selectors == [(".late", "attached"), ("li >> nth=0", "attached"), ("ul", "attached")]
    assert screenshot.type == "screenshot"
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_reads_of_handles_are_reads_of_their_elements(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Handles in lists and within other handles have a selector, so that a changed text diverges."""
    site.answers["/list"] = Answer(body=LIST)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(f"{site.url}/list")
        assert page.query_selector_all("li")[1].inner_text() == "two2"
        assert page.locator("li").element_handles()[0].text_content() == "one1"
        items = page.query_selector("ul")
        assert items is not None
        second = items.query_selector_all("li")[1].query_selector("b")
        assert second is not None
        assert second.inner_text() == "2"
        assert items.eval_on_selector("b", "each => each.textContent") == "1"
        items.wait_for_selector("li:nth-child(2)")
        page.query_selector("button").wait_for_element_state("enabled")  # type: ignore[union-attr] # it is there
        items.wait_for_element_state("stable")
        assert page.evaluate_handle("() => ({ n: document.links.length })").json_value() == {"n": 0}

    found = recorded_actions(tmp_path / "b")
    assert [(str(each.target), each.value) for each in found if isinstance(each, Read)] == [
        ("li >> nth=1", ReadValue(value="two2")),
        ("li >> nth=0", ReadValue(value="one1")),
        ("ul >> nth=0 >> li >> nth=1 >> b >> nth=0", ReadValue(value="2")),
    ]
    script, inner, enabled, stable, valued = found[3:]
    assert isinstance(script, Evaluate)
    assert script.value == ReadValue(value="1")
    assert (inner.type, stable.type) == ("wait_for", "wait_for")
    assert isinstance(enabled, Expect)
    assert enabled.expression == "to.be.enabled"
    assert isinstance(valued, Evaluate)
    assert (valued.returns_handle, valued.value) == (False, ReadValue(value={"n": 0}))
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    site.answers["/list"] = Answer(body=LIST.replace("two", "zwei"))
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", policy="effects")
    assert read_divergence(changed) == ("read", "read-changed", '"two2"', '"zwei2"')


def test_a_failed_wait_on_a_handle_fails_again(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """An element that became neither editable nor hidden in time does not in a replay."""
    url = site.put("<input disabled>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        field = agent.page.query_selector("input")
        assert field is not None
        with pytest.raises(Error):
            field.wait_for_element_state("editable", timeout=300)
        with pytest.raises(Error):
            field.wait_for_element_state("hidden", timeout=300)

    results = [step.result for step in steps(tmp_path / "b")]
    codes = [result.code for result in results if isinstance(result, Failed)]
    assert codes == ["assertion-failed", "wait-timeout"]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_other_reads_of_handles_are_named_in_warnings(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What no replay compares is never dropped silently."""
    url = site.put(LIST)
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        page = agent.page
        page.goto(url)
        handle = page.evaluate_handle("document.querySelector('li')").as_element()
        assert handle is not None
        assert handle.inner_text() == "one1"
        assert handle.bounding_box() is not None
        page.evaluate_handle("({ a: 1 })").get_properties()
        page.wait_for_function("({ a: 1 })").json_value()
        page.evaluate("each => each.textContent", page.query_selector("li"))

    given = warnings(tmp_path / "b")
    for name in ("innerText", "boundingBox"):
        assert f"ElementHandle.{name} was called once: replays do not compare what it returned" in given
    assert "JSHandle.getPropertyList was called once" in given
    assert "JSHandle.jsonValue was called once" in given
    assert "Frame.evaluateExpression was called once" in given
