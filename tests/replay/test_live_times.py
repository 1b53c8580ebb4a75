"""Responses of a live site that differ only in the present time are not listed as changed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from eikon_engine.files.wall_clock import utc_now
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Stock</title><p id=state>loading</p>
<script>fetch("/stock.json").then((r) => r.json()).then((found) => { state.textContent = found.count; });</script>"""


def test_a_response_with_the_present_time_is_not_listed(chromium: Browser, tmp_path: Path) -> None:
    """Its other values are, and explain what differs."""
    now = utc_now()

    def stock(count: int, at: datetime) -> Answer:
        body = f'{{"served_at": "{at.isoformat()}", "count": {count}}}'
        return Answer(body=body, content_type="application/json")

    with serve_pages() as site:
        site.answers["/"] = Answer(body=PAGE)
        site.answers["/stock.json"] = stock(4, now)
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(f"{site.url}/")
            expect(agent.page.locator("#state")).to_have_text("4")
        runs = {}
        for name, count, later in (("same", 4, 90), ("changed", 5, 95), ("old", 4, -86_400)):
            site.answers["/stock.json"] = stock(count, now + timedelta(seconds=later))
            runs[name] = replay(tmp_path / "b", tmp_path / name, network="live", secrets={})

    listed = {
        name: [value.part for change in run.network.response_changes for value in change.what]
        for name, run in runs.items()
    }
    assert listed == {"same": [], "changed": ["body $.count"], "old": ["body $.served_at"]}
    assert runs["same"].network.response_changes == ()
    assert [run.verdict for run in runs.values()] == ["faithful", "diverged", "faithful"]
    assert "GET" not in (tmp_path / "same" / "replay_summary.txt").read_text(encoding="utf-8").partition("Network")[2]
