"""What an agent draws and scrolls with the mouse is repeated, also inside an iframe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import Browser

from eikon_engine.trace.actions import Mouse
from tests.browser.pages import Answer
from tests.record.recorded_page import TWICE, recorded_actions, recorded_page, warnings
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

CANVAS: Final = """<style>body { margin: 0 } canvas { display: block }</style>
<canvas width=300 height=200></canvas><p id=drawn>nothing</p><button>Save</button><script>
const canvas = document.querySelector('canvas'), context = canvas.getContext('2d');
let isDrawing = false, lines = 0;
canvas.onmousedown = event => { isDrawing = true; context.beginPath(); context.moveTo(event.offsetX, event.offsetY); };
canvas.onmousemove = event => {
  if (!isDrawing) return;
  context.lineTo(event.offsetX, event.offsetY);
  context.stroke();
  drawn.textContent = `${++lines} lines`;
};
canvas.onmouseup = () => { isDrawing = false; };
document.querySelector('button').onclick = () => fetch('/drawing', { method: 'POST', body: canvas.toDataURL() });
</script>"""
INKED: Final = (
    "[...context.getImageData(0, 0, 300, 200).data].filter((part, place) => place % 4 === 3 && part > 0).length"
)


def test_a_drawing_is_drawn_again(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The same pixels are on the canvas in each replay, and the same picture is sent to the site."""
    site.answers["/drawing"] = Answer(body="saved")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(CANVAS))
        page.mouse.move(20, 20)
        page.mouse.down()
        page.mouse.move(120, 90, steps=5)
        page.mouse.move(220, 30, steps=3)
        page.mouse.up()
        assert page.evaluate(INKED) > 100
        with page.expect_response("**/drawing"):
            page.click("button")

    drawn = [action for action in recorded_actions(tmp_path / "b") if isinstance(action, Mouse)]
    assert [(each.event, each.x, each.y, each.steps) for each in drawn] == [
        ("move", 20, 20, 1),
        ("down", 20, 20, 1),
        ("move", 120, 90, 5),
        ("move", 220, 30, 3),
        ("up", 220, 30, 1),
    ]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


LIST: Final = """<style>body { margin: 0 } li { height: 60px }</style><ul></ul><script>
let page = 0, isLoading = false;
const more = async () => {
  if (isLoading) return;
  isLoading = true;
  const items = await (await fetch(`/items?page=${page++}`)).json();
  document.querySelector('ul').append(...items.map(text => {
    const item = document.createElement('li');
    item.textContent = text;
    return item;
  }));
  isLoading = false;
};
more();
addEventListener('scroll', () => { if (innerHeight + scrollY > document.body.scrollHeight - 100) more(); });
</script>"""
FRAME: Final = """<style>body {{ margin: 0 }}</style><h1 style="height: 100px; margin: 0">List</h1>
<iframe name=list src="{source}" style="width: 300px; height: 300px; border: 0"></iframe>
<div style="height: 3000px">below</div>"""


def test_a_wheel_over_an_iframe_scrolls_it(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The list in the iframe loads more in each replay, and the document around it stays where it is."""

    def items(asked: Asked) -> Answer:
        number = asked.path.rpartition("=")[2]
        return Answer(body=json.dumps([f"{number}{each}" for each in "abcdef"]), content_type="application/json")

    site.answers["/items"] = items
    site.answers["/frame"] = Answer(body=f"<!doctype html>{LIST}")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(FRAME.format(source="/frame")))
        frame = page.frame_locator("[name=list]")
        frame.get_by_text("0f").wait_for()
        page.mouse.move(100, 250)
        page.mouse.wheel(0, 200)
        frame.get_by_text("1f").wait_for()
        assert page.evaluate("scrollY") == 0
        assert frame.locator("li").all_inner_texts()[-1] == "1f"

    wheel = next(each for each in recorded_actions(tmp_path / "b") if isinstance(each, Mouse) and each.event == "wheel")
    assert (wheel.x, wheel.y, wheel.dy) == (100, 250, 200)
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"
