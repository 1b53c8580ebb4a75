"""A page's event stream is recorded from its first byte on, and is no obstacle to the agent leaving the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AttachOptions
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import recorded_page, warnings

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


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("opening", ["first page", "popup"])
def test_an_event_that_comes_with_the_headers_is_recorded(
    chromium: Browser, tmp_path: Path, listener: str, opening: str
) -> None:
    """The stream is still open when the agent goes to another page; the mission is certified and replays."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site, recorded_page(chromium, bundle, AttachOptions(certify=CertifyOptions(runs=2))) as agent:
        events = (b"data: 12\n\n",)
        site.answers["/stock"] = Answer(content_type="text/event-stream", pieces=events, ending="open", is_at_once=True)
        page, url = agent.page, site.put(LISTENING.format(LISTENERS[listener]))
        if opening == "popup":
            page.goto(site.put(f"<a target=_blank href={url}>Stock</a>"))
            with page.expect_popup() as opened:
                page.get_by_role("link").click()
            page = opened.value
        else:
            page.goto(url)
        expect(page.locator("#stock")).to_have_text("12")
        page.goto(site.put("<h1>Elsewhere</h1>"))
        page.get_by_role("heading").click()
    outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(bundle)

    trace = open_bundle(bundle).trace
    assert trace.network is not None
    assert trace.network.incomplete == ()
    assert "stock" not in warnings(bundle)
    assert agent.mission.report is not None
    assert (agent.mission.report.status, outcome.verdict) == ("certified", "faithful")
