"""Taps, focus, selections, scrolling, forced inputs and waits of an agent are recorded and replayed as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Error, Page

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.outcome.divergence import Divergence
from eikon_engine.record import AttachOptions
from eikon_engine.trace.actions import FunctionCondition, Screenshot, Tap, TouchscreenTap, WaitFor, is_forced
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Failed
from tests.browser.pages import Answer, PageSite
from tests.record.order_shop import all_divergences
from tests.record.recorded_page import kinds, recorded_actions, recorded_page, steps, warnings
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser

TWICE: Final = AttachOptions(certify=CertifyOptions(runs=2, parallel=1))
PANEL: Final = """<!doctype html><title>Panel</title><style>body { margin: 0 } div { height: 3000px }</style>
<button id=pay style="width:120px;height:40px">Pay</button> <input id=name value="Ada Lovelace" aria-label=Name>
<label><input type=checkbox id=gift>Gift</label> <p id=log></p> <div></div> <p id=end></p>
<script>
let lines = [];
const note = line => { lines.push(line); log.textContent = lines.join(' '); };
pay.addEventListener('touchstart', () => note('touched'));
pay.onclick = async () => { note('clicked'); note(await (await fetch('/pay', { method: 'POST' })).text()); };
name_field = document.querySelector('#name');
name_field.onblur = () => note(`blurred with ${name_field.selectionEnd - name_field.selectionStart} selected`);
new IntersectionObserver(seen => seen[0].isIntersecting && note('reached')).observe(end);
</script>"""
COVER: Final = "<style>#cover { position: fixed; inset: 0; background: #fff8 }</style><i id=cover></i>"


def put_panel(site: PageSite, page: str = PANEL) -> str:
    """Serve the panel; a payment is answered."""
    site.answers["/pay"] = Answer(body="paid", content_type="text/plain")
    site.answers["/panel"] = Answer(body=page)
    return f"{site.url}/panel"


def use_every_input(page: Page) -> None:
    """Use what a person at a touchscreen uses, and wait for the page with functions."""
    page.locator("#pay").tap()
    page.wait_for_function("text => log.textContent.includes(text)", arg="paid")
    page.touchscreen.tap(20, 20)
    page.locator("#log").wait_for_function("(each, times) => each.textContent.split('paid').length > times", arg=2)
    page.locator("#name").select_text()
    page.locator("#name").blur()
    page.locator("#end").scroll_into_view_if_needed()
    page.wait_for_function("log.textContent.endsWith('reached')")
    page.locator("#log").screenshot()
    page.locator("#log").scroll_into_view_if_needed()


INPUTS: Final = [
    *("tap", "wait_for", "touchscreen_tap", "wait_for", "select_text", "blur", "scroll_into_view_if_needed"),
    *("wait_for", "screenshot", "scroll_into_view_if_needed", "read"),
]
SEEN: Final = "touched clicked paid touched clicked paid blurred with 12 selected reached"


def test_every_input_is_replayed_and_compared(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Replays do what the agent did, in a context with touch; a changed element diverges where it is used."""
    with recorded_page(chromium, tmp_path / "b", TWICE, has_touch=True) as agent:
        agent.page.goto(put_panel(site))
        use_every_input(agent.page)
        assert agent.page.inner_text("#log") == SEEN

    assert kinds(tmp_path / "b") == INPUTS
    assert warnings(tmp_path / "b") == ""
    environment = open_bundle(tmp_path / "b").trace.environment
    assert environment is not None
    assert environment.has_touch
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"

    put_panel(site, PANEL.replace(">Pay<", ">Donate<"))
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", on_divergence="continue")
    assert changed.verdict == "diverged"
    steps_of_replay = [step for subgoal in changed.subgoals for step in subgoal.steps]
    lost = {getattr(step, "type", "") for step in steps_of_replay if "target-changed" in map(_code, step.divergences)}
    assert lost >= {"tap", "touchscreen_tap"}


def _code(divergence: Divergence) -> str:
    return divergence.code


def test_the_actions_have_their_elements_and_arguments(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Elements are identified before they are used, and a locator's own deadline is kept."""
    with recorded_page(chromium, tmp_path / "b", has_touch=True) as agent:
        agent.page.goto(put_panel(site))
        use_every_input(agent.page)

    tap, paid, touch, twice, select, blur, reach, _, picture, back = recorded_actions(tmp_path / "b")
    assert isinstance(tap, Tap)
    assert isinstance(touch, TouchscreenTap)
    assert isinstance(picture, Screenshot)
    targets = [getattr(each, "target", None) for each in (tap, select, blur, reach, picture, back)]
    assert [each.selector for each in targets if each] == ["#pay", "#name", "#name", "#end", "#log", "#log"]
    assert [each.identity.tag for each in targets if each and each.identity] == [
        *("button", "input", "input", "p", "p", "p")
    ]
    assert touch.under is not None
    assert touch.under.name == "Pay"
    assert isinstance(paid, WaitFor)
    assert isinstance(paid.condition, FunctionCondition)
    assert (paid.condition.argument, paid.condition.target) == ("paid", None)
    assert isinstance(twice, WaitFor)
    assert isinstance(twice.condition, FunctionCondition)
    assert twice.condition.argument == 2
    assert twice.condition.target is not None
    assert twice.condition.target.selector == "#log"
    assert {each.timeout_ms for each in (tap, paid, twice, select, blur, reach, picture)} == {20_000}


def test_a_tap_at_a_position_requires_the_recorded_element(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What is there in the viewport must be what was there."""
    with recorded_page(chromium, tmp_path / "b", TWICE, has_touch=True) as agent:
        agent.page.goto(put_panel(site))
        agent.page.touchscreen.tap(20, 20)
        agent.page.wait_for_function("log.textContent.includes('paid')")
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings

    put_panel(site, PANEL.replace("<button", "<button hidden></button><button disabled title=Other"))
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", on_divergence="continue")
    assert "target-changed" in [found.code for found in all_divergences(changed)]


def test_forced_inputs_are_forced_in_replays(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What covers the target gets the events, as with the agent; without `force` the target is not actionable."""
    cover = COVER + "<script>for (const type of ['mousemove', 'dblclick', 'touchstart']) cover.addEventListener("
    cover += "type, () => note(type + '!'), { once: true })</script>"
    with recorded_page(chromium, tmp_path / "b", TWICE, has_touch=True) as agent:
        agent.page.goto(put_panel(site, PANEL + cover))
        page = agent.page
        page.locator("#pay").hover(force=True)
        page.locator("#pay").dblclick(force=True)
        page.locator("#pay").tap(force=True)
        with pytest.raises(Error):
            page.locator("#pay").tap(timeout=1_500)
        page.evaluate("cover.remove()")
        page.locator("#gift").check(force=True)
        page.locator("#gift").uncheck(force=True)
        assert page.inner_text("#log") == "mousemove! dblclick! touchstart!"

    found = recorded_actions(tmp_path / "b")
    assert [(each.type, is_forced(each)) for each in found] == [
        *(("hover", True), ("double_click", True), ("tap", True), ("tap", False), ("evaluate", False)),
        *(("check", True), ("uncheck", True), ("read", False)),
    ]
    results = [step.result for step in steps(tmp_path / "b")]
    assert [result.code for result in results if isinstance(result, Failed)] == ["target-not-actionable"]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_a_function_is_waited_for_in_its_frame(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The function runs in the iframe of the call, and one that never holds fails again."""
    inner = site.put("<p id=p>0</p><script>setTimeout(() => { p.textContent = 'ready' }, 400)</script>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put(f"<iframe name=inner src='{inner}'></iframe>"))
        frame = agent.page.frame("inner")
        assert frame is not None
        frame.wait_for_function("text => p.textContent === text", arg="ready")
        with pytest.raises(Error):
            frame.wait_for_function("() => p.textContent === 'never'", timeout=300)

    wait, failed = recorded_actions(tmp_path / "b")
    assert isinstance(wait, WaitFor)
    assert isinstance(wait.condition, FunctionCondition)
    assert wait.condition.frames == ('iframe:is([name="inner"], [id="inner"]:not([name]), [id="inner"][name=""])',)
    assert failed.type == "wait_for"
    result = steps(tmp_path / "b")[-1].result
    assert isinstance(result, Failed)
    assert result.code == "wait-timeout"
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


HIDDEN: Final = """<style>#cover { position: fixed; inset: 0 }</style><p id=log></p>
<input id=token style="width: 0; border: 0; padding: 0">
<select id=size style="display: none"><option>S<option>L</select>
<button id=from>from</button><button id=to>to</button><i id=cover></i><script>
const note = text => { log.textContent += text + ' '; };
token.oninput = () => note(`token ${token.value}`);
size.onchange = () => note(`size ${size.value}`);
cover.onmousedown = () => note('down');
cover.onmouseup = () => note('up');
</script>"""


def test_fields_that_nobody_sees_and_covered_drags_are_forced_in_replays(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """What an agent forced into hidden elements is repeated; before, replays skipped it."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(HIDDEN))
        page.locator("#token").fill("seven", force=True)
        page.locator("#size").select_option("L", force=True)
        page.locator("#from").drag_to(page.locator("#to"), force=True)
        page.locator("#log").select_text(force=True)
        assert page.inner_text("#log") == "token seven size L down up"

    found = [each for each in recorded_actions(tmp_path / "b") if each.type not in {"evaluate", "read"}]
    assert [(each.type, is_forced(each)) for each in found] == [
        *(("fill", True), ("select_option", True), ("drag", True), ("select_text", True))
    ]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
