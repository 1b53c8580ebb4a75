"""Missions on a busy machine are recorded whole, certified, and replay without their site."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.busy import busy
from benchmarks.lost import BUSY_PROCESSES, fill, listen, send, talk
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, PageSite, serve_pages
from tests.record.order_shop import Shop
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay
from tests.sites.torture import serve_torture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

OPENER: Final = """<button onclick="window.open('/add', 'add', 'width=400,height=300')">Add</button><p id=chosen></p>
<script>window.choose = name => { document.getElementById('chosen').textContent = name; };</script>"""
ADD: Final = "<form method=post action=/add><input name=name><button>Save</button></form>"
ADDED: Final = "<script>opener.choose('a new one'); window.close();</script>"
UPLOAD: Final = """<input type=file aria-label=File><p id=out></p><script>
document.querySelector('input').onchange = async event => {
  const data = new FormData();
  data.append('file', event.target.files[0]);
  out.textContent = await (await fetch('/sent', { method: 'POST', body: data })).text();
};
</script>"""
CONTENT: Final = b"\x00\xff a file\r\n" * 20_000


class Crash(Exception):  # noqa: N818 - of an agent
    """What ends an agent."""


def poll(page: Page, site: PageSite) -> None:
    """Order, and wait until the page's poll brings the verdict."""
    page.goto(Shop(site).url)
    page.click("#order")
    expect(page.locator("#status")).to_have_text("Approved", timeout=20_000)
    assert page.locator("#log li").count() == 2


def add_in_popup(page: Page, site: PageSite) -> None:
    """Save a form in a window that tells its opener and closes itself."""
    site.answers["/add"] = lambda asked: Answer(body=ADDED if asked.method == "POST" else ADD)
    page.goto(site.put(OPENER))
    with page.expect_popup() as opening:
        page.click("button")
    popup = opening.value
    popup.fill("input", "a new one")
    with popup.expect_event("close"):
        popup.click("button", no_wait_after=True)
    expect(page.locator("#chosen")).to_have_text("a new one", timeout=20_000)


def use_socket_and_stream(page: Page, site: PageSite) -> None:
    """Talk over a WebSocket, and listen to an event stream."""
    talk(page, site.url)
    assert page.inner_text("#out") == "echo 1: hello"
    listen(page, site.url)
    assert page.inner_text("#out") == "last"


def upload(page: Page, site: PageSite) -> None:
    """Choose a file, which a script uploads; then send one that a script made, and leave."""
    page.goto(site.put(UPLOAD))
    page.set_input_files("input", {"name": "a.bin", "mimeType": "application/octet-stream", "buffer": CONTENT})
    page.wait_for_function("out.textContent !== ''")
    send(page, site.url)


def crash(page: Page, site: PageSite) -> None:
    """Fail while the page polls."""
    page.goto(Shop(site).url)
    page.click("#order")
    expect(page.locator("#status")).to_have_text("Pending", timeout=20_000)
    raise Crash


@pytest.fixture
def busy_site() -> Iterator[PageSite]:
    """Serve the pages of the missions, while other processes use all processor time."""
    with serve_torture() as torture, serve_pages() as site, busy(BUSY_PROCESSES):
        fill(site, torture.url.replace("http", "ws") + "/ws/echo")
        yield site


@pytest.mark.parametrize(
    "act", [poll, add_in_popup, use_socket_and_stream, upload, crash], ids=lambda act: act.__name__
)
def test_a_mission_on_a_busy_machine_is_certified_and_replays(
    chromium: Browser, busy_site: PageSite, tmp_path: Path, act: Callable[[Page, PageSite], None]
) -> None:
    """Nothing is lost, the replays agree, and a sealed one does what the agent did."""
    with suppress(Crash), recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        mission = agent.mission
        act(agent.page, busy_site)

    trace = open_bundle(tmp_path / "b").trace
    assert trace.status == ("failed" if act is crash else "complete")
    assert trace.warnings == ()
    assert trace.network is not None
    assert trace.network.incomplete == ()
    assert mission.report is not None
    assert mission.report.status == "certified", mission.report.findings
    outcome = replay(tmp_path / "b", tmp_path / "run")
    assert outcome.verdict == "faithful", outcome
    assert outcome.certified == "certified"
