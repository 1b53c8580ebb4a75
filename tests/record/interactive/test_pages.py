"""Small pages that a person uses, and the actions recorded there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Error

from eikon_engine.files.blobs import BlobStore
from eikon_engine.trace.actions import Drag, Scroll, SetInputFiles
from eikon_engine.trace.execution import LostData
from eikon_engine.trace.trace_file import read_trace
from tests.browser.pages import Answer, serve_pages
from tests.record.interactive.person import actions_of, record
from tests.until import GENEROUS_S

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Page

pytestmark = pytest.mark.browser


def test_an_upload_keeps_the_file(tmp_path: Path) -> None:
    """The uploaded content is in the bundle."""

    async def act(page: Page) -> None:
        devtools = await page.context.new_cdp_session(page)  # trusted events, as from the browser's own file dialog
        document = await devtools.send("DOM.getDocument")
        found = await devtools.send("DOM.querySelector", {"nodeId": document["root"]["nodeId"], "selector": "input"})
        await devtools.send("DOM.setFileInputFiles", {"nodeId": found["nodeId"], "files": [str(tmp_path / "a.txt")]})

    (tmp_path / "a.txt").write_text("bread")
    with serve_pages() as site:
        record(tmp_path / "b", site.put("<label>File <input type=file></label>"), act)

    (upload,) = (each for each in actions_of(tmp_path / "b") if isinstance(each, SetInputFiles))
    assert upload.files[0].name == "a.txt"
    assert BlobStore(tmp_path / "b" / "files").get(upload.files[0].content) == b"bread"


def test_only_scrolling_with_an_effect_is_recorded(tmp_path: Path) -> None:
    """Scrolling that changes nothing is not recorded; otherwise the whole distance is recorded."""
    plain = "<div style='height: 5000px'></div>"
    lazy = plain + "<script>onscroll = () => { document.title = 'x'; document.body.append('more'); };</script>"

    async def act(page: Page) -> None:
        for _ in range(3):
            await page.mouse.wheel(0, 200)
        await page.wait_for_function("scrollY === 600")

    with serve_pages() as site:
        record(tmp_path / "plain", site.put(plain), act)
        record(tmp_path / "lazy", site.put(lazy), act)

    assert [each.type for each in actions_of(tmp_path / "plain")] == ["navigate"]
    assert [each.dy for each in actions_of(tmp_path / "lazy") if isinstance(each, Scroll)] == [600]


def test_a_press_that_moves_is_a_drag(tmp_path: Path) -> None:
    """A drag begins on one element and ends on another one."""
    html = "<div id=one style='width:90px;height:90px'></div><div id=two style='width:90px;height:90px'></div>"

    async def act(page: Page) -> None:
        await page.mouse.move(30, 30)
        await page.mouse.down()
        await page.mouse.move(60, 140, steps=4)
        await page.mouse.up()

    with serve_pages() as site:
        record(tmp_path / "b", site.put(html), act)

    (drag,) = (each for each in actions_of(tmp_path / "b") if isinstance(each, Drag))
    assert (drag.target.selector, drag.to.selector) == ("#one", "#two")


def test_events_of_scripts_are_not_recorded(tmp_path: Path) -> None:
    """A scripted click is not recorded as a person's click."""

    async def act(page: Page) -> None:
        await page.evaluate("document.querySelector('button').click()")

    with serve_pages() as site:
        record(tmp_path / "b", site.put("<button>Buy</button>"), act)

    assert [each.type for each in actions_of(tmp_path / "b")] == ["navigate"]


async def reload_at_once(page: Page) -> None:
    """Reload as soon as Chromium does: it refuses while a step in the history still replaces the page."""
    async with asyncio.timeout(GENEROUS_S):
        while True:
            try:
                await page.reload()
            except Error as error:
                if "Not attached to an active page" not in error.message:
                    raise
            else:
                return


def test_fast_back_and_forward_navigation_is_recorded(tmp_path: Path) -> None:
    """Each history step is recorded with its direction, although the next one starts before it can be queried."""

    async def act(page: Page) -> None:
        await page.goto(second)
        await page.goto(third)
        await page.go_back()
        await page.go_forward()
        await page.go_back(wait_until="commit")
        await reload_at_once(page)

    with serve_pages() as site:
        second, third = site.put("<p>second</p>"), site.put("<p>third</p>")
        record(tmp_path / "b", site.put("<p>first</p>"), act)

    assert [each.type for each in actions_of(tmp_path / "b")] == [
        *("navigate", "navigate", "navigate", "go_back", "go_forward", "go_back", "reload"),
    ]


def test_a_back_navigation_of_a_script_is_not_recorded(tmp_path: Path) -> None:
    """A script's back navigation is covered by the click that caused it; a person's equally fast one is recorded."""

    async def act(page: Page) -> None:
        await page.goto(second)
        await page.locator("button").click()
        await page.wait_for_url(first)
        await page.go_forward()
        await page.locator("input").click()
        await page.keyboard.type("Ada")
        await page.go_back()

    with serve_pages() as site:
        first, second = site.put("<p>first</p>"), site.put("<button onclick='history.back()'>Back</button><input>")
        record(tmp_path / "b", first, act)

    assert [each.type for each in actions_of(tmp_path / "b")] == [
        *("navigate", "navigate", "click", "go_forward", "fill", "go_back"),
    ]


def test_an_action_before_the_document_arrived_is_a_warning(tmp_path: Path) -> None:
    """An action that ended before its document arrived cannot be replayed, so it is a warning."""

    async def act(page: Page) -> None:
        await page.goto(slow, wait_until="commit")
        await page.goto(second)

    with serve_pages() as site:
        slow, second = site.put("<p>slow</p>"), site.put("<p>second</p>")
        site.answers["/" + slow.rsplit("/", 1)[-1]] = Answer(pieces=(b"<p>slow",), ending="open")
        record(tmp_path / "b", site.put("<p>first</p>"), act)

    (warning,) = [each for each in read_trace(tmp_path / "b").warnings if "before the document arrived" in each]
    assert warning.startswith("subgoal_1__attempt_1_action_002: the next action started before the document arrived")


def test_typing_that_scripts_cannot_see_is_lost(tmp_path: Path) -> None:
    """No replay could repeat it, so the recording is incomplete; equal losses are listed once."""
    html = """<div id=host></div><script>
    const root = host.attachShadow({ mode: 'closed' });
    root.innerHTML = '<input style="width: 200px; height: 40px">';
    </script>"""

    async def act(page: Page) -> None:
        await page.mouse.click(50, 30)
        await page.keyboard.type("bread")

    with serve_pages() as site:
        record(tmp_path / "b", site.put(html), act)

    trace = read_trace(tmp_path / "b")
    assert trace.network is not None
    why = "typing inside a closed shadow root is not visible to scripts"
    assert trace.network.incomplete == (LostData(what="an interaction", why=why),)
    assert [each for each in trace.warnings if "shadow root" in each] == [f"an interaction was lost: {why}"]
