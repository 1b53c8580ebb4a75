"""Options of an agent's calls are replayed, or a warning names them."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from eikon_engine.trace.actions import Drag, InsertText, Mouse, Press, TypeText
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import QUICK, TWICE, recorded_actions, recorded_page, warnings
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser

FIELDS = """<input id=a><input id=b><input id=c><p id=held></p><script>
let timer, held;
a.oninput = b.oninput = event => {
  clearTimeout(timer);
  timer = setTimeout(() => fetch(`/search?q=${event.target.value}`), 100);
};
c.onkeydown = () => { held ??= setTimeout(() => { document.getElementById('held').textContent += 'held '; }, 400); };
c.onkeyup = () => { clearTimeout(held); held = undefined; };
</script>"""
MOVES = """<style>body { margin: 0 } div { height: 100px; overflow: auto } p { height: 400px; margin: 0 }</style>
<div id=list><p>list</p></div><button id=from draggable=true>from</button><button id=to>to</button><output>0</output>
<script>
let moves = 0;
const output = document.querySelector('output');
const note = () => { output.textContent = `${moves} ${list.scrollTop > 0} `; };
document.getElementById('from').onmousedown = event => { event.preventDefault(); moves = 0; };
document.onmousemove = () => { moves += 1; };
document.getElementById('to').onmouseup = note;
list.onscroll = note;
list.onmousedown = () => { document.title = 'pressed'; };
</script>"""


def test_delays_between_keys_pass_in_page_time(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A search that starts while the agent pauses is sent in replays, and a key is held as long."""
    site.answers["/search"] = Answer(body="found")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(FIELDS))
        page.locator("#a").press_sequentially("xyz", delay=300)
        page.focus("#b")
        page.keyboard.type("uv", delay=300)
        page.locator("#c").press("Shift+A", delay=700)
        page.keyboard.press("k", delay=700)

    typed, _, inserted, pressed, released = recorded_actions(tmp_path / "b")
    assert isinstance(typed, TypeText)
    assert isinstance(inserted, InsertText)
    assert isinstance(pressed, Press)
    assert isinstance(released, Press)
    assert [each.delay_ms for each in (typed, inserted, pressed, released)] == [300, 300, 700, 700]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    sealed = replay(tmp_path / "b", tmp_path / "sealed")
    assert sealed.verdict == "faithful"
    assert sealed.network is not None
    assert "not sent by the replay" not in "".join(sealed.network.notes)
    asked_before = len([each for each in site.asked if each.path.startswith("/search")])
    live = replay(tmp_path / "b", tmp_path / "live", network="live")
    assert live.verdict == "faithful"
    assert len([each for each in site.asked if each.path.startswith("/search")]) == 2 * asked_before


def test_steps_of_a_drag_and_the_first_position_of_the_pointer_are_recorded(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The pointer is at the top left corner until it is moved; a wheel turns what lies there, not the document."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(MOVES))
        page.mouse.wheel(0, 50)
        page.wait_for_function("document.getElementById('list').scrollTop > 0")
        page.mouse.down()
        page.mouse.up()
        page.locator("#from").drag_to(page.locator("#to"), steps=6)

    wheel, _, down, _, drag = recorded_actions(tmp_path / "b")
    assert isinstance(wheel, Mouse)
    assert (wheel.event, wheel.x, wheel.y, wheel.dy) == ("wheel", 0, 0, 50)
    assert isinstance(down, Mouse)
    assert (down.event, down.x, down.y) == ("down", 0, 0)
    assert isinstance(drag, Drag)
    assert drag.steps == 6
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_what_an_action_does_not_repeat_is_a_warning(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Each difference is named once, with its number."""
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        page = agent.page
        page.goto(site.put("<button>Go</button>"), wait_until="networkidle")
        page.locator("button").dblclick(delay=30)
        page.locator("button").dblclick(delay=30)

    given = warnings(tmp_path / "b")
    assert "Frame.goto: `networkidle` became `load`, as a replay always waits until the page is idle" in given
    assert "Frame.dblclick: `delay` ignored, a replay clicks without pauses (2 times)" in given
