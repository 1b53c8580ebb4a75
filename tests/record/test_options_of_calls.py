"""Options of an agent's calls are replayed, or a warning names them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AttachOptions
from eikon_engine.trace.actions import (
    Click,
    DoubleClick,
    Drag,
    Drop,
    DropData,
    InsertText,
    Mouse,
    Press,
    SecretRef,
    TypeText,
)
from tests.browser.pages import Answer, PageSite
from tests.exporters.running import export, run
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
        page.locator("button").hover(scroll="none")
        page.locator("button").hover(scroll="none")

    given = warnings(tmp_path / "b")
    assert "Frame.goto: `networkidle` became `load`, as a replay always waits until the page is idle" in given
    assert "Frame.hover: `scroll` ignored, a replay scrolls to the elements it acts on (2 times)" in given


PRESSES = """<button id=b style="width:120px;height:60px">Hold</button> <p id=log></p><script>
let pressed, opened;
const note = text => { log.textContent += text + '; '; };
b.onpointerdown = () => {
  pressed = performance.now();
  opened = setTimeout(async () => note(await (await fetch('/menu')).text()), 400);
};
b.onpointerup = () => {
  clearTimeout(opened);
  const held = performance.now() - pressed;
  note(held < 250 ? 'short' : held < 750 ? 'medium' : 'long');
};
b.onclick = event => note(`click ${event.detail}`);
b.ondblclick = () => note('double');
</script>"""
PRESSED = (
    "short; click 1; short; click 2; double; medium; click 1; medium; click 2; double; menu; long; click 1; "
    "menu; long; click 1;"
)


def press_button(page: Page) -> None:
    """Press a button shortly and for long."""
    page.locator("#b").dblclick()
    page.locator("#b").dblclick(delay=330)
    page.locator("#b").click(delay=1_200)
    page.mouse.click(30, 30, delay=1_200)
    page.locator("#log").wait_for()


def test_a_double_click_and_a_long_press_are_replayed_as_long_as_they_were(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """A page that shows how long the button was down, and opens a menu meanwhile, shows the same in replays."""
    site.answers["/menu"] = Answer(body="menu")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put(PRESSES))
        press_button(agent.page)
        assert agent.page.inner_text("#log") == PRESSED

    quick, double, held, mouse, *_ = recorded_actions(tmp_path / "b")
    assert isinstance(quick, DoubleClick)
    assert isinstance(double, DoubleClick)
    assert isinstance(held, Click)
    assert isinstance(mouse, Mouse)
    assert [each.delay_ms for each in (quick, double, held, mouse)] == [0, 330, 1_200, 1_200]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    assert replay(tmp_path / "b", tmp_path / "live", network="live").verdict == "faithful"


def test_the_exported_test_presses_as_long(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """It has the options of the agent's calls, and passes."""
    site.answers["/menu"] = Answer(body="menu")
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        agent.page.goto(site.put(PRESSES))
        press_button(agent.page)
        assert agent.page.inner_text("#log") == PRESSED

    test = export(tmp_path / "b", tmp_path / "tests")
    calls = re.findall(r"\.(?:click|dblclick)\(.*\)", test.source.replace(", timeout=20000", ""))
    assert calls == [
        *(".dblclick(timeout=20000)", ".dblclick(delay=330)", ".click(delay=1200)", ".click(30, 30, delay=1200)")
    ]
    ran = run(test, tmp_path / "tests")
    assert ran.passed, ran.output


STEPPED = """<style>body { margin: 0 }</style><button id=b style="margin:200px">Go</button><output></output><script>
let moves = 0;
onmousemove = () => { moves += 1; };
b.onclick = b.ondblclick = event => {
  document.querySelector('output').textContent += `${event.type} after ${moves}; `;
};
</script>"""


def test_the_pointer_moves_in_as_many_steps(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A page that counts moves counts the same, also for clicks on an element handle."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(STEPPED))
        page.locator("#b").click(steps=5)
        page.mouse.move(0, 0)
        page.locator("#b").dblclick(steps=4)
        page.mouse.move(0, 0)
        handle = page.query_selector("#b")
        assert handle is not None
        handle.click(steps=3)
        shown = page.inner_text("output")

    assert shown == ("click after 5; click after 10; click after 10; dblclick after 10; click after 14;")
    found = recorded_actions(tmp_path / "b")
    assert [each.steps for each in found if isinstance(each, Click | DoubleClick)] == [5, 4, 3]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


DROPS = """<div id=zone style='width:200px;height:100px;background:#eee'>drop</div><p id=p></p><script>
zone.ondragover = event => event.preventDefault();
zone.ondrop = async event => {
  const { files } = event.dataTransfer, text = event.dataTransfer.getData('text/plain');
  const read = await Promise.all(Array.from(files, async each => `${each.name} ${each.type} ${await each.text()}`));
  if (files.length) await fetch('/upload', { method: 'POST', body: files[0] });
  p.textContent += [...read, text, event.offsetX].join('|') + '; ';
};
</script>"""


def test_drops_are_replayed_with_their_files_and_data(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Files given by path or by content, and data, reach the page again, at the same position."""
    list_file = tmp_path / "list.txt"
    list_file.write_text("pears")
    site.answers["/upload"] = Answer(body="ok")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(DROPS))
        zone, shown = page.locator("#zone"), page.locator("p")
        zone.drop({"data": {"text/plain": "seven"}}, position={"x": 20, "y": 10})
        expect(shown).to_have_text("seven|20;")
        zone.drop({"files": list_file})
        expect(shown).to_contain_text("list.txt")
        zone.drop({"files": {"name": "a.csv", "mimeType": "text/csv", "buffer": b"1,2"}, "data": {"text/plain": "x"}})
        expect(shown).to_have_text("seven|20; list.txt text/plain pears||100; a.csv text/csv 1,2|x|100;")

    data, by_path, by_content = [each for each in recorded_actions(tmp_path / "b") if isinstance(each, Drop)]
    assert data.data == (DropData(mime_type="text/plain", value="seven"),)
    assert [each.name for each in (*by_path.files, *by_content.files)] == ["list.txt", "a.csv"]
    assert by_content.target.identity is not None
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    list_file.unlink()
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"

    test = export(tmp_path / "b", tmp_path / "tests")
    assert '.drop({"data": {"text/plain": "seven"}}, position={"x": 20, "y": 10}, ' in test.source
    ran = run(test, tmp_path / "tests")
    assert ran.passed, ran.output


CHANGED_S = 981_173_106
DROPS_OF_SECRETS = """<div id=zone style='width:200px;height:100px;background:#eee'>drop</div><p id=p></p><script>
zone.ondragover = event => event.preventDefault();
zone.ondrop = async event => {
  const [file] = event.dataTransfer.files, text = event.dataTransfer.getData('text/plain');
  await fetch('/upload', { method: 'POST', body: file ? `${file.name} ${file.lastModified}` : text });
  p.textContent += file ? `${file.lastModified};` : `${text.length};`;
};
</script>"""


def test_a_dropped_file_has_its_time_and_a_dropped_secret_its_name(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The page sends when the file was changed; the value of the secret is in no file of the bundle."""
    file, secret = tmp_path / "list.txt", {"CODE": "hunter2-of-pears"}
    file.write_text("pears")
    os.utime(file, (CHANGED_S, CHANGED_S))
    site.answers["/upload"] = Answer(body="ok")
    options = AttachOptions(certify=CertifyOptions(runs=2), secrets=secret)
    with recorded_page(chromium, tmp_path / "b", options) as agent:
        page = agent.page
        page.goto(site.put(DROPS_OF_SECRETS))
        page.locator("#zone").drop({"files": file})
        expect(page.locator("p")).to_have_text(f"{CHANGED_S}000;")
        page.locator("#zone").drop({"data": {"text/plain": secret["CODE"]}})
        expect(page.locator("p")).to_have_text(f"{CHANGED_S}000;16;")

    dropped_file, dropped_secret = [each for each in recorded_actions(tmp_path / "b") if isinstance(each, Drop)]
    assert dropped_file.files[0].last_modified_ms == CHANGED_S * 1000
    assert dropped_secret.data == (DropData(mime_type="text/plain", value=SecretRef(secret="CODE")),)
    assert secret["CODE"] not in (tmp_path / "b" / "trace.json").read_text()
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed", secrets=secret).verdict == "faithful"
