"""A page's event stream is recorded from its first byte on, and is no obstacle to the agent leaving the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from eikon_engine.record import AgentMission
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page, warnings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

LISTENING = "<p id=stock>?</p><script>{}</script>"
LISTENERS = {
    "EventSource": "new EventSource('/stock').onmessage = event => { stock.textContent = event.data; };",
    "fetch": """(async () => {
        const reader = (await fetch('/stock')).body.getReader();
        const { value } = await reader.read();
        stock.textContent = new TextDecoder().decode(value).slice(6).trim();
    })();""",
}


def watch_stock(browser: Browser, bundle: Path, listener: str, *, in_popup: bool) -> AgentMission:
    """Record an agent that reads the first event of a stream and leaves the page while the stream is open."""
    with serve_pages() as site, recorded_page(browser, bundle, TWICE) as agent:
        site.answers["/stock"] = Answer(
            content_type="text/event-stream", pieces=(b"data: 12\n\n",), ending="open", is_at_once=True
        )
        page, url = agent.page, site.put(LISTENING.format(LISTENERS[listener]))
        if in_popup:
            page.goto(site.put(f"<a target=_blank href={url}>Stock</a>"))
            with page.expect_popup() as opened:
                page.get_by_role("link").click()
            page = opened.value
        else:
            page.goto(url)
        expect(page.locator("#stock")).to_have_text("12")
        page.goto(site.put("<h1>Elsewhere</h1>"))
        page.get_by_role("heading").click()
    return agent.mission


def lost_in(bundle: Path) -> str:
    """Return what a recording says that it lost."""
    trace = open_bundle(bundle).trace
    assert trace.network is not None
    return "; ".join(f"{each.what}: {each.why}" for each in trace.network.incomplete)


@pytest.mark.parametrize("listener", LISTENERS)
def test_an_event_that_comes_with_the_headers_is_recorded(chromium: Browser, tmp_path: Path, listener: str) -> None:
    """The stream is still open when the agent goes to another page; the mission is certified and replays."""
    mission = watch_stock(chromium, tmp_path / "bundle", listener, in_popup=False)
    outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(tmp_path / "bundle")

    assert lost_in(tmp_path / "bundle") == ""
    assert "stock" not in warnings(tmp_path / "bundle")
    assert mission.report is not None
    assert (mission.report.status, outcome.verdict) == ("certified", "faithful")


@pytest.mark.parametrize("listener", LISTENERS)
def test_an_event_of_a_new_window_is_recorded_or_reported(chromium: Browser, tmp_path: Path, listener: str) -> None:
    """On a busy machine we attach to a window after its stream began: then the recording says what it lost."""
    mission = watch_stock(chromium, tmp_path / "bundle", listener, in_popup=True)

    assert mission.report is not None
    if mission.report.status != "certified":
        assert lost_in(tmp_path / "bundle") != ""
        return
    outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(tmp_path / "bundle")
    assert outcome.verdict == "faithful"
