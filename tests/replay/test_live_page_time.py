"""Live pages are observed as long after an action as recorded ones, and their timers wait as long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import serve_pages
from tests.record.recorded_page import TWICE, recorded_page, steps
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

COMPUTE = """const compute = duration => {
  const end = Date.now() + duration;
  for (let still = 0, last = 0; last < end && still < 1e6;) { // the clock of a replay stands still
    const now = Date.now();
    still = now === last ? still + 1 : 0;
    last = now;
  }
};"""
CARET = f"""<!doctype html><title>Editor</title><button id=edit>Edit</button><span id=caret></span><p id=state></p>
<script>
{COMPUTE}
edit.onpointerenter = () => compute(800);
edit.onclick = () => {{
  state.textContent = 'editing';
  setInterval(() => {{ caret.style.visibility = caret.style.visibility ? '' : 'hidden'; }}, 1000);
}};
</script>"""
"""The page computes before it is clicked; then a caret blinks."""
ANIMATION = f"""<!doctype html><title>Panel</title><button id=panel>Open</button><p id=state></p>
<script>
{COMPUTE}
panel.onclick = () => {{
  compute(800);
  state.textContent = 'opened';
  state.style.opacity = 1;
  setTimeout(() => {{ state.removeAttribute('style'); }}, 300);
}};
</script>"""
"""The page computes when it is clicked; then it shows something, and ends the animation later."""


@pytest.mark.parametrize(("page", "shown"), [(CARET, "editing"), (ANIMATION, "opened")])
def test_a_page_that_moves_is_observed_at_its_recorded_time(
    chromium: Browser, tmp_path: Path, page: str, shown: str
) -> None:
    """Where the recorded page computed, the live one lets page time pass: it blinks, or moves, as the recorded one."""
    with serve_pages() as site:
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(site.put(page))
            agent.page.get_by_role("button").click()
            expect(agent.page.locator("#state")).to_have_text(shown)
        live = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert len(steps(tmp_path / "b")) == 3
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert [each.message + each.detail for each in live.divergences] == []
    assert live.verdict == "faithful"
