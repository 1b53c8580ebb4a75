"""Multiple clicks and forced clicks are recorded and replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from eikon_engine.trace.actions import Click
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import TWICE, recorded_actions, recorded_page, warnings

pytestmark = pytest.mark.browser

PAGE = """<input id=name value="an old name"> <p id=said></p> <p id=typed></p>
<div style="position: relative; width: 100px; height: 40px">
<button id=under style="position: absolute; inset: 0">Under</button>
<div id=over style="position: absolute; inset: 0" onclick="said.textContent = 'over'; fetch('/over')">Over</div></div>
<script>
document.querySelector('#name').oninput = event => {
  typed.textContent = event.target.value;
  fetch('/typed?' + event.target.value);
};
</script>"""


def test_triple_clicks_and_forced_clicks_are_replayed(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A triple click selects the text to overwrite, and a covered element gets a forced click.

    The page requires each of them, also in replays.
    """
    site.answers["/over"] = site.answers["/typed"] = Answer(body="noted")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(PAGE))
        page.click("#name", click_count=3)
        page.keyboard.type("new")
        page.locator("#under").click(force=True)
        assert page.inner_text("#typed") + page.inner_text("#said") == "newover"

    first, _, last, *reads = recorded_actions(tmp_path / "b")
    assert [read.type for read in reads] == ["read", "read"]
    assert isinstance(first, Click)
    assert isinstance(last, Click)
    assert (first.click_count, first.force, last.click_count, last.force) == (3, False, 1, True)
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
