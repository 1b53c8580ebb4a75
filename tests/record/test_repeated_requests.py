"""Missions on pages that ask again and again are certified at the first try, and replay without their site."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, expect

from eikon_engine.replay import ReplayEngine, ReplayOptions
from tests.browser.pages import Answer, PageSite, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.pages import Asked

    Mission: TypeAlias = Callable[[PageSite, Page], None]

pytestmark = pytest.mark.browser

REPLAYS = 3
APPROVED_AT = 4
"""The poll that brings the new status."""
LATENCY_S = 0.02
HELD_S = 1.3
"""How long the server defers the response to a long poll."""
POLL = """<p id=status>none</p><button disabled onclick="document.title = 'opened'">Open</button><script>
setInterval(async () => {
  const text = await (await fetch('/status')).text();
  document.getElementById('status').textContent = text;
  document.querySelector('button').disabled = text !== 'approved';
}, 500);
</script>"""
HEARTBEAT = """<button onclick="this.textContent += '!'">Go</button>
<script>setInterval(() => fetch('/alive', { method: 'POST', body: 'alive' }), 1000);</script>"""
LONG_POLL = """<p id=news>none</p><button onclick="this.textContent += '!'">Go</button><script>
(async () => {
  for (;;) {
    const text = await (await fetch('/wait')).text();
    if (text) document.getElementById('news').textContent = text;
  }
})();
</script>"""
RETRY = """<p id=data></p><button onclick="load(200)">Load</button><script>
const load = async delay => {
  const response = await fetch('/data');
  document.getElementById('data').textContent = await response.text();
  if (!response.ok) setTimeout(() => load(2 * delay), delay);
};
</script>"""
ENDLESS = """<style>li { height: 120px }</style><ul></ul><script>
let page = 0, busy = false;
const more = async () => {
  if (busy) return;
  busy = true;
  for (const text of await (await fetch(`/items?page=${page++}`)).json()) {
    const item = document.createElement('li');
    item.textContent = text;
    document.querySelector('ul').append(item);
  }
  busy = false;
};
more();
addEventListener('scroll', () => { if (innerHeight + scrollY > document.body.scrollHeight - 300) more(); });
</script>"""


def poll(site: PageSite, page: Page) -> None:
    """Wait until a poll brings the status, and go on while the page still polls."""
    answered = 0

    def status(_asked: Asked) -> Answer:
        nonlocal answered
        answered += 1
        site.released.wait(LATENCY_S)
        return Answer(body="approved" if answered >= APPROVED_AT else "pending")

    site.answers["/status"] = status
    page.goto(site.put(POLL))
    page.get_by_role("button").click()
    page.wait_for_timeout(700)
    assert page.locator("#status").inner_text() == "approved"


def heartbeat(site: PageSite, page: Page) -> None:
    """Act between the heartbeats of a page."""
    site.answers["/alive"] = Answer(body="ok")
    page.goto(site.put(HEARTBEAT))
    for pause_ms in (1300, 1200, 600):
        page.wait_for_timeout(pause_ms)
        page.get_by_role("button").click()
    assert page.get_by_role("button").inner_text() == "Go!!!"


def long_poll(site: PageSite, page: Page) -> None:
    """Act while the next response is deferred, and once one brought news."""
    answered = 0

    def wait(_asked: Asked) -> Answer:
        nonlocal answered
        answered += 1
        number = answered
        site.released.wait(HELD_S)
        return Answer(body="news" if number == 2 else "")

    site.answers["/wait"] = wait
    page.goto(site.put(LONG_POLL))
    page.get_by_role("button").click()
    page.get_by_text("news").wait_for()
    page.get_by_role("button").click()
    page.wait_for_timeout(500)


def retry(site: PageSite, page: Page) -> None:
    """Wait for a response that comes after two failures."""
    asked_before = 0

    def data(_asked: Asked) -> Answer:
        nonlocal asked_before
        asked_before += 1
        return Answer(body="loaded") if asked_before > 2 else Answer(body="busy", status=503)

    site.answers["/data"] = data
    page.goto(site.put(RETRY))
    page.get_by_role("button").click()
    page.get_by_text("loaded").wait_for()
    assert page.locator("#data").inner_text() == "loaded"


def scroll(site: PageSite, page: Page) -> None:
    """Scroll through a list that grows."""

    def items(asked: Asked) -> Answer:
        texts = [f"item {asked.path[-1]}-{number}" for number in range(10)]
        return Answer(body=json.dumps(texts), content_type="application/json")

    site.answers["/items"] = items
    page.goto(site.put(ENDLESS))
    page.get_by_text("item 0-9").wait_for()
    page.mouse.move(200, 200)
    for number in (1, 2):
        page.mouse.wheel(0, 1200)
        expect(page.get_by_text(f"item {number}-3")).to_be_visible(timeout=20_000)
    page.get_by_text("item 2-3").click()


@pytest.mark.parametrize("mission", [poll, heartbeat, long_poll, retry, scroll])
def test_a_page_that_asks_again_is_certified_at_once_and_replays(
    chromium: Browser, tmp_path: Path, mission: Mission
) -> None:
    """Replays do not poll as often as the recording: what they ask for beyond it gets what was last."""
    bundle = tmp_path / "bundle"

    with serve_pages() as site, recorded_page(chromium, bundle, TWICE) as recorded:
        mission(site, recorded.page)
    outcomes = [
        ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / str(number))).replay(bundle) for number in range(REPLAYS)
    ]

    report = recorded.mission.report
    assert report is not None
    assert (report.status, report.rounds, report.findings) == ("certified", 1, ())
    assert [(each.verdict, each.network.misses, each.network.unsent) for each in outcomes] == [
        ("faithful", (), ())
    ] * REPLAYS


@pytest.mark.parametrize("delay_ms", [0, 60])
@pytest.mark.parametrize("by_keyboard", [False, True])
def test_searches_may_only_be_missing_if_the_agent_typed_without_a_delay(
    chromium: Browser, site: PageSite, tmp_path: Path, delay_ms: int, *, by_keyboard: bool
) -> None:
    """A replay repeats the delay, so a page that searches less then has changed; a script of the agent does it here."""
    search = "field.oninput = () => { if (window.eager || field.value.length === 3) fetch('/find?q=' + field.value); }"
    url = site.put(f"<input id=field autofocus><script>{search}</script>")
    site.answers["/find"] = Answer(body="{}", content_type="application/json")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.add_init_script("window.eager = true")
        agent.page.goto(url)
        agent.page.focus("#field")
        if by_keyboard:
            agent.page.keyboard.type("abc", delay=delay_ms)
        else:
            agent.page.locator("#field").press_sequentially("abc", delay=delay_ms)
        agent.page.wait_for_timeout(300)

    network = replay(tmp_path / "b", tmp_path / "run", on_divergence="continue").network

    lost = [f"GET {site.url}/find?q={text}" for text in ("a", "ab")]
    explained = (
        "2 recorded requests not sent by the replay: sent between two keys, which a replay presses without pauses"
    )
    assert [each.key for each in network.unsent] == (lost if delay_ms else [])
    assert any(each.startswith(explained) for each in network.notes) == (not delay_ms)
