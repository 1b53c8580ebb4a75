"""Counts what recordings lose on a busy machine: bodies, streams, sockets and uploads of six small missions.

Run: `python -m benchmarks.lost [ROUNDS]` in the environment of scripts/test. In each round an agent that drives
synchronous Playwright, and sleeps between its calls, does each mission once, in a page that is opened while it is
recorded; two other processes burn all the time the machine has. Printed is what each mission lost, by kind. Ends with 1
if anything is missing, whether or not the bundle says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playwright.sync_api import sync_playwright

from benchmarks.busy import busy
from benchmarks.table import table
from eikon_engine.browser.executable import find_browser
from eikon_engine.network.store import read_network
from eikon_engine.network.websocket import SocketMessage, SocketOpened
from eikon_engine.record import record_mission
from eikon_engine.record.options import AttachOptions
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, Asked, serve_pages
from tests.sites.torture import serve_torture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

    from tests.browser.pages import PageSite

ROUNDS: Final = 40
BUSY_PROCESSES: Final = 2
PICTURE: Final = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'>" + b" " * 200_000 + b"</svg>"
EVENTS: Final = (b"data: first\n\n", b"data: second\n\n", b"data: last\n\n")
SOCKET: Final = """<p id=out></p><script>
const socket = new WebSocket('{socket}');
socket.onopen = () => socket.send('hello');
socket.onmessage = ({{ data }}) => {{ out.textContent = data; }};
</script>"""
STREAM: Final = """<p id=out></p><script>
const events = new EventSource('/events');
events.onmessage = ({ data }) => { out.textContent = data; if (data === 'last') events.close(); };
</script>"""
PICTURES: Final = "".join(f"<img src=/picture-{number}.svg>" for number in range(6)) + "<a href=/end>end</a>"
LEAVE: Final = """<button>Go</button><script>
document.querySelector('button').onclick = async () => {
  const data = new FormData();
  data.append('file', new Blob(['content of a file']), 'a.txt');
  const sent = await fetch('/sent', { method: 'POST', body: data });
  await sent.text();
  location = '/end';
};
</script>"""
REMOVE: Final = """<button>Remove</button><script>
document.querySelector('button').onclick = () => {
  const asked = new XMLHttpRequest();
  asked.open('DELETE', '/removed');
  asked.onload = () => { location = asked.responseText; };
  asked.send();
};
</script>"""
TAB: Final = "<a href=/tab target=_blank>tab</a>"


@dataclass(frozen=True, slots=True)
class Mission:
    """A mission and what its recording must have."""

    name: str
    act: Callable[[Page, str], None]
    find_losses: Callable[[Path, PageSite], Iterator[str]]


def think(seconds: float = 0.3) -> None:
    """Block as an agent does that asks its model: nothing of its Playwright client runs meanwhile."""
    threading.Event().wait(seconds)


def talk(page: Page, url: str) -> None:
    """Open a page whose first script opens a WebSocket."""
    page.goto(f"{url}/socket")
    page.wait_for_function("out.textContent !== ''")
    think()


def listen(page: Page, url: str) -> None:
    """Open a page whose first script opens an event stream."""
    page.goto(f"{url}/stream")
    think()
    page.wait_for_function("out.textContent === 'last'")


def look(page: Page, url: str) -> None:
    """Open a page with pictures, and leave it at once."""
    page.goto(f"{url}/pictures")
    page.click("a")
    think()
    page.goto(f"{url}/end?again")


def send(page: Page, url: str) -> None:
    """Send a form with a file by a script, which leaves the page."""
    page.goto(f"{url}/leave")
    page.click("button")
    think()
    page.wait_for_url("**/end")


def remove(page: Page, url: str) -> None:
    """Delete by a script, which leaves the page as soon as its response is here."""
    page.goto(f"{url}/remove")
    page.click("button")
    page.wait_for_url("**/end")
    think()


def open_tab(page: Page, url: str) -> None:
    """Open a tab whose first script opens a WebSocket."""
    page.goto(f"{url}/tabs")
    with page.expect_popup() as opening:
        page.click("a")
    opening.value.wait_for_function("out.textContent !== ''")
    think()


def lost_messages(folder: Path, _site: PageSite) -> Iterator[str]:
    """Yield the WebSockets and messages that are missing."""
    events = read_network(folder / "network").sockets
    if not any(isinstance(each, SocketOpened) for each in events):
        yield "socket"
    for sender in ("page", "server"):
        if not any(isinstance(each, SocketMessage) and each.sender == sender for each in events):
            yield f"message of the {sender}"


def lost_events(folder: Path, _site: PageSite) -> Iterator[str]:
    """Yield the events of the stream that are missing."""
    network = read_network(folder / "network")
    stream = next((each for each in network.exchanges if each.request.url.endswith("/events")), None)
    body = network.body(stream.response.body) if stream and stream.response and stream.response.body else b""
    for event in EVENTS:
        if event not in body:
            yield f"event {event.decode().strip()}"


def lost_bodies(folder: Path, site: PageSite) -> Iterator[str]:
    """Yield the exchanges and bodies that are missing."""
    network = read_network(folder / "network")
    recorded = {each.request.url.removeprefix(site.url): each for each in network.exchanges}
    for asked in {asked.path: asked for asked in site.asked}.values():
        exchange = recorded.get(asked.path)
        if exchange is None or exchange.response is None:
            yield "exchange"
            continue
        if exchange.response.body is None:
            yield "body of a response"
        sent = exchange.request.body
        if asked.body and (sent is None or network.body(sent) != asked.body):
            yield "body of a request"


MISSIONS: Final = (
    Mission("socket", talk, lost_messages),
    Mission("stream", listen, lost_events),
    Mission("pictures", look, lost_bodies),
    Mission("upload", send, lost_bodies),
    Mission("deletion", remove, lost_bodies),
    Mission("tab", open_tab, lost_messages),
)


def fill(site: PageSite, socket_url: str) -> None:
    """Give a site the pages of the missions."""
    for path, html in {
        "/socket": SOCKET.format(socket=socket_url),
        "/tab": SOCKET.format(socket=socket_url),
        "/stream": STREAM,
        "/pictures": PICTURES,
        "/leave": LEAVE,
        "/remove": REMOVE,
        "/tabs": TAB,
        "/end": "<h1>end</h1>",
    }.items():
        site.answers[path] = Answer(body=f"<!doctype html><link rel=icon href=data:,>{html}")
    for number in range(6):
        site.answers[f"/picture-{number}.svg"] = Answer(body=PICTURE, content_type="image/svg+xml")
    site.answers["/events"] = Answer(pieces=EVENTS, content_type="text/event-stream")
    site.answers["/sent"] = _count
    site.answers["/removed"] = Answer(body="/end", content_type="text/plain")


def _count(asked: Asked) -> Answer:
    return Answer(body=f"{len(asked.body)} bytes")


def record(browser: Browser, mission: Mission, site: PageSite, folder: Path) -> tuple[list[str], bool]:
    """Record a mission; return what was lost, and whether the bundle says that something was."""
    site.asked.clear()
    context = browser.new_context()
    try:
        options = AttachOptions(certify=None)
        with record_mission(context, mission_text=mission.name, directory=folder, options=options):
            mission.act(context.new_page(), site.url)
    finally:
        context.close()
    network = open_bundle(folder).trace.network
    return list(mission.find_losses(folder, site)), network is not None and bool(network.incomplete)


def main() -> None:
    """Record and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=ROUNDS)
    rounds: int = parser.parse_args().rounds
    losses: dict[str, Counter[str]] = {each.name: Counter() for each in MISSIONS}
    with ExitStack() as stack:
        torture, site = stack.enter_context(serve_torture()), stack.enter_context(serve_pages())
        fill(site, torture.url.replace("http", "ws") + "/ws/echo")
        playwright = stack.enter_context(sync_playwright())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        stack.enter_context(busy(BUSY_PROCESSES))
        for number in range(rounds):
            for mission in MISSIONS:
                lost, says_so = record(browser, mission, site, folder / f"{mission.name}-{number}")
                losses[mission.name].update(lost)
                losses[mission.name]["unmentioned"] += bool(lost) and not says_so
        browser.close()
    rows = [
        (name, str(rounds), ", ".join(f"{kind}: {times}" for kind, times in counts.items() if times) or "nothing")
        for name, counts in losses.items()
    ]
    sys.stdout.write(table(("mission", "recordings", "lost"), rows))
    sys.exit(any(+counts for counts in losses.values()))


if __name__ == "__main__":
    main()
