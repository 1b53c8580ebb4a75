"""Missions on pages with analytics and error trackers are certified; what a site may store is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from eikon_engine.trace.rules import JsonPathRule, TelemetryRule
from eikon_engine.trace.trace_file import read_trace
from tests.browser.pages import Answer
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from eikon_engine.record import AgentMission
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

PAGE = """<button>Add</button><p id=out></p><script>
const [visit] = performance.getEntriesByType('navigation');
const measured = () => `{"took":${performance.now()}}\\n{"visit":"${visit.type}","paint":${visit.domComplete}}`;
document.querySelector('button').onclick = async () => {
  out.textContent = await (await fetch('/add')).text();
  navigator.sendBeacon('/vitals', JSON.stringify({ name: 'INP', value: performance.now(), id: `v3-${Date.now()}` }));
  SEND('/collect', measured());
};
setInterval(() => SEND('/collect', measured()), 300);
</script>"""
"""Sends a beacon with JSON, and lines of JSON by SEND, as error trackers do."""
BEACON = "navigator.sendBeacon"
FETCH = "((url, body) => fetch(url, { method: 'POST', body }))"


def record(chromium: Browser, site: PageSite, folder: Path, send: str) -> AgentMission:
    """Record and certify a mission on the page."""
    site.answers |= {"/add": Answer(body="1 item"), "/collect": Answer(status=204), "/vitals": Answer(status=204)}
    url = site.put(PAGE.replace("SEND", send))
    with recorded_page(chromium, folder, TWICE) as recorded:
        page = recorded.page
        page.goto(url)
        page.get_by_role("button").click()
        expect(page.locator("#out")).to_have_text("1 item")
        page.wait_for_timeout(700)
        page.get_by_role("button").click()
        page.wait_for_timeout(100)
    return recorded.mission


def test_a_page_with_telemetry_is_certified_and_replays(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The numbers of a beacon have a rule of their own; what cannot be compared has one that says so."""
    mission = record(chromium, site, tmp_path / "bundle", BEACON)

    outcome = replay(tmp_path / "bundle", tmp_path / "run")

    assert mission.report is not None
    assert mission.report.status == "certified", mission.report.findings
    network = read_trace(tmp_path / "bundle").network
    assert network is not None
    rules = {type(rule): rule.url for rule in network.rules}
    assert rules == {JsonPathRule: site.url + "/vitals", TelemetryRule: site.url + "/collect"}
    assert (outcome.verdict, outcome.network.misses) == ("faithful", ())


def test_what_a_page_fetches_from_its_own_site_is_compared(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The site may store it: without a rule for what differs, the mission is not certified."""
    mission = record(chromium, site, tmp_path / "bundle", FETCH)

    assert mission.report is not None
    assert mission.report.status == "diverged"
    assert any("/collect" in finding.message for finding in mission.report.findings)
