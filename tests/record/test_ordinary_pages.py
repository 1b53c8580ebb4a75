"""Missions on pages that do what many pages do are certified at the first try, and replay without their site."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, expect

from eikon_engine.browser.traffic.socket_replay import SocketReplay
from eikon_engine.network.store import read_network
from eikon_engine.record import AttachOptions
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import TWICE, recorded_page, warnings
from tests.sites.torture import serve_torture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.async_api import WebSocketRoute

    from eikon_engine.record import AgentMission
    from tests.browser.pages import Asked

    Mission: TypeAlias = Callable[[PageSite, Page], None]

pytestmark = pytest.mark.browser

SCRIPT = "text/javascript"

TAGGED = """<button onclick="load()">Load</button><p id=out></p><script>
let tag = '';
const load = async () => {
  const response = await fetch('/tagged', { headers: tag ? { 'If-None-Match': tag } : {} });
  tag = response.headers.get('ETag');
  out.textContent += `${response.status} ${await response.text()};`;
};
</script>"""
MISSING_WORKER = """<p id=out>wait</p><script>
new Worker('/missing.js').onerror = () => { out.textContent = 'no worker'; };
</script>"""
HEARTBEAT = """<button onclick="send()">Send</button><p id=out></p><script>
let count = 0;
const send = () => socket.send(JSON.stringify({{ text: 'note ' + ++count }}));
const socket = new WebSocket('{url}');
socket.onopen = () => setInterval(() => socket.send(JSON.stringify({{ ping: true, at: Date.now() }})), 150);
socket.onmessage = event => {{ if (event.data.includes('note')) out.textContent = event.data; }};
</script>"""
LATE_S: Final = 0.4
"""Wall time by which a replay learns late of a socket: a few ticks of page time pass meanwhile unless it waits."""
BORROWED = """<button onclick="send()">Send</button><p id=out></p><script>
const frame = document.createElement('iframe');
document.head.append(frame);
const borrowed = frame.contentWindow.fetch.bind(window);
frame.remove();
const send = async () => { out.textContent = await (await borrowed('/quote')).text(); };
</script>"""
"""Error trackers take `fetch` from a frame, in case the page has replaced its own."""
WORKER_PAGE = """<p id=state>none</p><button onclick="load()">Load</button><p id=out></p><script>
navigator.serviceWorker?.register('/worker.js').then(() => { state.textContent = 'registered'; }, () => {});
const load = async () => { out.textContent = await (await fetch('/quote')).text(); };
</script>"""
WORKER = """self.addEventListener('fetch', event => {
  if (event.request.url.endsWith('/quote'))
    event.respondWith(fetch(event.request).then(got => got.text()).then(text => new Response(`worker: ${text}`)));
});"""

SAVING_WORKER = """self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', event => event.waitUntil(clients.claim()));
self.addEventListener('fetch', event => event.respondWith(fetch(event.request)));
self.addEventListener('message', event => event.waitUntil(
  fetch('/sync', { method: 'POST', body: event.data }).then(() => event.source.postMessage('synced'))));
"""
SAVING_PAGE = """<p id=out></p><button onclick="controller().postMessage('x')">Sync</button>
<button onclick="fetch('/save', { method: 'POST' }).then(() => { out.textContent = 'saved'; })">Save</button><script>
const controller = () => navigator.serviceWorker.controller;
navigator.serviceWorker.onmessage = event => { out.textContent = event.data; };
navigator.serviceWorker.register('/worker.js');
</script>"""


def not_modified(site: PageSite, page: Page) -> None:
    """Load a resource again, of which the server says that it has not changed."""

    def tagged(asked: Asked) -> Answer:
        known = asked.header("If-None-Match") == '"v1"'
        return Answer(status=304 if known else 200, body="" if known else "text", headers=(("ETag", '"v1"'),))

    site.answers["/tagged"] = tagged
    page.goto(site.put(TAGGED))
    for shown in ("200 text;", "200 text;304 ;", "200 text;304 ;304 ;"):
        page.get_by_role("button").click()
        expect(page.locator("#out")).to_have_text(shown)


def borrowed_fetch(site: PageSite, page: Page) -> None:
    """Send a request by the function of a frame that was removed."""
    site.answers["/quote"] = Answer(body="to be")
    page.goto(site.put(BORROWED))
    page.get_by_role("button").click()
    expect(page.locator("#out")).to_have_text("to be")


def missing_worker(site: PageSite, page: Page) -> None:
    """Open a page whose worker has no script."""
    page.goto(site.put(MISSING_WORKER))
    expect(page.locator("#out")).to_have_text("no worker")


@contextmanager
def heartbeats(site: PageSite) -> Iterator[Mission]:
    """Send messages on a socket on which a timer sends others."""
    with serve_torture() as torture:
        url = site.put(HEARTBEAT.format(url=torture.url.replace("http", "ws") + "/ws/echo"))

        def send(_site: PageSite, page: Page) -> None:
            page.goto(url)
            page.wait_for_timeout(500)
            for number in range(1, 6):
                page.wait_for_timeout(140)
                page.get_by_role("button").click()
                expect(page.locator("#out")).to_contain_text(f"note {number}")

        yield send


def record(chromium: Browser, site: PageSite, folder: Path, mission: Mission) -> AgentMission:
    """Record and certify a mission."""
    with recorded_page(chromium, folder, TWICE) as agent:
        mission(site, agent.page)
    return agent.mission


@pytest.mark.parametrize("mission", [borrowed_fetch, missing_worker, not_modified])
def test_a_mission_on_an_ordinary_page_is_certified(
    chromium: Browser, site: PageSite, tmp_path: Path, mission: Mission
) -> None:
    """Nothing is lost in the recording, and replays repeat it."""
    recorded = record(chromium, site, tmp_path / "b", mission)

    assert recorded.report is not None
    assert recorded.report.status == "certified", recorded.report.findings


def test_messages_between_heartbeats_are_certified(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A timer and an agent use one socket; which of two messages is first may differ from run to run."""
    with heartbeats(site) as mission:
        recorded = record(chromium, site, tmp_path / "b", mission)

    assert recorded.report is not None
    assert recorded.report.status == "certified", recorded.report.findings


def test_page_time_does_not_overtake_a_socket_that_opens(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay that learns late that its page opens a socket, as on a loaded machine, waits for it."""
    play = SocketReplay.play

    async def play_late(replay: SocketReplay, route: WebSocketRoute) -> None:
        await asyncio.sleep(LATE_S)
        await play(replay, route)

    monkeypatch.setattr(SocketReplay, "play", play_late)
    with heartbeats(site) as mission:
        recorded = record(chromium, site, tmp_path / "b", mission)

    assert recorded.report is not None
    assert recorded.report.status == "certified", recorded.report.findings


def test_pages_get_the_responses_that_a_service_worker_gave_them(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The worker is named in a warning, and its own requests are not recorded: replays have none."""
    site.answers["/worker.js"] = Answer(body=WORKER, content_type=SCRIPT)
    site.answers["/quote"] = Answer(body="to be", content_type="text/plain")

    def mission(site: PageSite, page: Page) -> None:
        page.goto(site.put(WORKER_PAGE))
        page.wait_for_function("navigator.serviceWorker.ready.then(() => true)")
        page.reload()
        page.get_by_role("button").click()
        page.wait_for_function("document.querySelector('#out').textContent === 'worker: to be'")

    with recorded_page(chromium, tmp_path / "b", AttachOptions(certify=None)) as agent:
        mission(site, agent.page)

    keys = [each.key for each in read_network(tmp_path / "b" / "network").exchanges]
    assert keys.count(f"GET {site.url}/quote") == 1
    assert f"{site.url}/worker.js: a service worker" in warnings(tmp_path / "b")


@pytest.mark.parametrize(("button", "shown", "is_lost"), [("Save", "saved", False), ("Sync", "synced", True)])
def test_what_only_a_service_worker_sends_makes_a_recording_incomplete(
    chromium: Browser, site: PageSite, tmp_path: Path, button: str, shown: str, *, is_lost: bool
) -> None:
    """A worker that saves by itself does what no replay repeats; what it passes on for a page is recorded."""
    site.answers |= {
        "/worker.js": Answer(body=SAVING_WORKER, content_type=SCRIPT),
        "/sync": Answer(body="synced"),
        "/save": Answer(body="saved"),
    }

    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(SAVING_PAGE))
        agent.page.wait_for_function("controller() !== null")
        agent.page.get_by_role("button", name=button).click()
        expect(agent.page.locator("#out")).to_have_text(shown)

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    lost = [each.what for each in network.incomplete]
    assert lost == ([f"the request POST {site.url}/sync"] if is_lost else [])


def test_a_worker_may_pass_on_a_request_with_another_query(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The request of the page is recorded, so nothing is missing in a replay, which has no worker."""
    worker = """self.addEventListener('install', () => self.skipWaiting());
    self.addEventListener('activate', each => each.waitUntil(clients.claim()));
    self.addEventListener('fetch', each => each.request.method === 'POST' && each.respondWith(
      each.request.text().then(body => fetch(each.request.url + '?v=1', { method: 'POST', body }))));"""
    page = """<!doctype html><button>Save</button><p id=shown></p><script>
    navigator.serviceWorker.register('/sw.js');
    document.querySelector('button').onclick = async () => {
      shown.textContent = await (await fetch('/save', { method: 'POST', body: 'x' })).text();
    }</script>"""
    site.answers |= {"/": Answer(body=page), "/save": Answer(body="saved")}
    site.answers["/sw.js"] = Answer(body=worker, content_type="text/javascript")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.url)
        agent.page.wait_for_function("navigator.serviceWorker.controller !== null")
        agent.page.click("button")
        agent.page.get_by_text("saved").wait_for()

    assert any(each.startswith("POST /save?v=1") for each in site.paths())
    assert "service worker sent it" not in warnings(tmp_path / "b")
