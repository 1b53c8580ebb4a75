"""The side, code and reason that close a recorded WebSocket are replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from eikon_engine.network.store import read_network
from eikon_engine.network.websocket import SocketClosed, SocketMessage
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import LostData
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import TWICE, recorded_page, warnings
from tests.sites.torture import serve_torture

pytestmark = pytest.mark.browser

PAGE = """<p id=end>open</p><script>
const socket = new WebSocket('{url}');
socket.onclose = event => {{ end.textContent = `${{event.code}} ${{event.reason}} ${{event.wasClean}}`;
  fetch('/ended?' + new URLSearchParams({{ how: end.textContent }})); }};
socket.onopen = () => {{ {then} }};
</script>"""
ENDS = {
    "page with a code": (
        "/ws/echo",
        "socket.close(4001, 'bye')",
        [("page", 4001, "bye"), ("server", 1000, "")],
        "1000  true",
    ),
    "server": ("/ws/close", "socket.send('x')", [("server", 4001, "enough for today")], "4001 enough for today true"),
}


@pytest.mark.parametrize("way", list(ENDS))
def test_a_socket_closes_as_recorded(chromium: Browser, site: PageSite, tmp_path: Path, way: str) -> None:
    """The page sees the same code, reason and clean flag in a sealed replay."""
    site.answers["/ended"] = Answer(body="noted")
    path, then, closes, shown = ENDS[way]
    with serve_torture() as torture:
        url = site.put(PAGE.format(url=torture.url.replace("http", "ws") + path, then=then))
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(url)
            expect(agent.page.locator("#end")).not_to_have_text("open")
            assert agent.page.locator("#end").text_content() == shown

    ends = [each for each in read_network(tmp_path / "b" / "network").sockets if isinstance(each, SocketClosed)]
    assert [(each.closer, each.code, each.reason) for each in ends] == closes
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_leaving_a_page_closes_its_sockets(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A socket that ends with its document is recorded and replayed as such."""
    with serve_torture() as torture:
        shown = "end.textContent = 'connected'"
        url = site.put(PAGE.format(url=torture.url.replace("http", "ws") + "/ws/echo", then=shown))
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(url)
            expect(agent.page.locator("#end")).to_have_text("connected")
            agent.page.goto(site.put("<h1>Elsewhere</h1>"))

    ends = [each for each in read_network(tmp_path / "b" / "network").sockets if isinstance(each, SocketClosed)]
    assert ends == []
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


SENDER = """<p id=end>open</p><script>
const socket = new WebSocket('{url}');
socket.onmessage = event => {{ end.textContent = event.data }};
socket.onopen = () => {{
  socket.send(new Blob(['in a blob ', new Uint8Array([0, 255])]));
  setTimeout(() => {{ socket.send(new Uint8Array([1, 2])); socket.send('a text') }}, 100);
}};
</script>"""


def test_a_blob_sent_by_a_page_is_recorded(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Messages keep their order and content, although a Blob is read only after it was sent."""
    with serve_torture() as torture:
        url = site.put(SENDER.format(url=torture.url.replace("http", "ws") + "/ws/echo"))
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(url)
            expect(agent.page.locator("#end")).not_to_have_text("open")

    network = read_network(tmp_path / "b" / "network")
    messages = [each for each in network.sockets if isinstance(each, SocketMessage)]
    contents = [network.body(each.body) if each.body is not None else (each.text or "").encode() for each in messages]
    assert contents[:3] == [b"in a blob \0\xff", b"\1\2", b"a text"]
    assert [each.sender for each in messages] == ["page", "page", "page", "server"]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_a_blob_that_cannot_be_read_is_lost(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The bundle says that the content of the message is missing, and is not certified."""
    unreadable = "FileReader.prototype.readAsDataURL = function() { this.onerror(); };"
    with serve_torture() as torture:
        address = torture.url.replace("http", "ws") + "/ws/echo"
        url = site.put(SENDER.format(url=address).replace("<script>", f"<script>{unreadable}"))
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(url)
            expect(agent.page.locator("#end")).not_to_have_text("open")

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    what, why = f"a message of the page to {address}", "the content of its Blob could not be read"
    assert network.incomplete == (LostData(what=what, why=why),)
    assert f"{what} was lost: {why}" in warnings(tmp_path / "b")
    assert agent.mission.report is not None
    assert agent.mission.report.status != "certified"
    assert f"the recording is incomplete: {what} was lost: {why}" in [
        each.message for each in agent.mission.report.findings
    ]


SELF = """<h1>Shapes</h1><script>
const socket = new WebSocket('{url}');
class Mine extends WebSocket {{}}
const thrown = work => {{
  try {{ work(); return 'nothing' }} catch (error) {{ return `${{error.name}}: ${{error.message}}` }}
}};
document.body.append(JSON.stringify([
  Object.getOwnPropertyNames(window).filter(name => name.includes('eikon_s')), Object.keys(WebSocket),
  WebSocket.name, WebSocket.length, WebSocket.OPEN, socket instanceof WebSocket, socket.constructor === WebSocket,
  Object.prototype.toString.call(socket), new Mine('{url}').constructor === Mine, socket.close.name, socket.send.length,
  thrown(() => WebSocket('{url}')), thrown(() => new WebSocket('http//:')), thrown(() => socket.send(new Blob(['a']))),
  thrown(() => socket.close(5)), thrown(() => WebSocket.prototype.close.call({{}})),
  Object.keys(window).includes('WebSocket'),
]));
</script>"""


def test_a_page_cannot_detect_that_its_sockets_are_observed(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Names, classes, constants and errors are those of an unobserved page."""
    with serve_torture() as torture:
        url = site.put(SELF.format(url=torture.url.replace("http", "ws") + "/ws/echo"))
        page = chromium.new_page()
        page.goto(url)
        alone = page.inner_text("body")
        page.close()
        with recorded_page(chromium, tmp_path / "b") as agent:
            agent.page.goto(url)
            seen = agent.page.inner_text("body")

    assert seen == alone
