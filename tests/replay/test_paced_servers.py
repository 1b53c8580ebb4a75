"""A live server that is faster or slower than the recorded one leaves its page as much time as it had."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, contextmanager
from threading import Event
from typing import TYPE_CHECKING, Final

import pytest
from aiohttp import WSMsgType, web
from playwright.sync_api import Browser, Page, expect

from eikon_engine.browser.traffic.live_pace import REPORTED_S, LivePace
from tests.record.recorded_page import QUICK, TWICE, recorded_page
from tests.replay.conftest import replay
from tests.sites.async_loopback import HOST, hide_the_server, running_application
from tests.until import GENEROUS_S, wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from playwright.async_api import Request

    from eikon_engine.browser.traffic.live_pace import HeldRequest
    from eikon_engine.outcome.outcomes import ReplayOutcome

pytestmark = pytest.mark.browser

KEPT_S: Final = 2.7
"""How long the server keeps a count."""

PAGE: Final = """<!doctype html><title>Prices</title><p id=price>none</p><p id=age>0</p><p id=news>none</p>
<button id=buy>Buy</button><script>
let ticks = 0;
const count = () => setInterval(() => { ticks += 1; age.textContent = ticks; }, 100);
fetch('/price').then((response) => response.text()).then((text) => { price.textContent = text; count(); });
const socket = new WebSocket(`ws://${location.host}/news`);
socket.onmessage = ({ data }) => { news.textContent = `${data} at ${ticks}`; };
buy.onclick = () => socket.send('buy');
</script>"""

LEAVING: Final = """<!doctype html><title>Leaving</title><p id=state>loading</p><a href=/next>Next</a>
<script>fetch('/price').then((response) => response.text()).then((text) => { state.textContent = text; });</script>"""
NEXT: Final = "<!doctype html><title>Next</title>"

ORDER: Final = """<!doctype html><title>Order</title><button id=order>Order</button>
<p id=orders>none</p><p id=state>new</p><script>
const get = (path, into, options) =>
  fetch(path, options).then((response) => response.text()).then((text) => { into.textContent = text; });
order.onclick = () => {
  get('/order', state, {method: 'POST'});
  setTimeout(() => get('/orders', orders), 200);
};</script>"""
POLLS: Final = """<!doctype html><title>Polls</title><button id=order>Order</button><p id=orders>none</p><script>
const look = () => fetch('/kept-orders').then((response) => response.text()).then((text) => {
  orders.textContent = text;
});
look();
order.onclick = () => {
  fetch('/orders', {method: 'POST'});
  setTimeout(look, 3000);
};</script>"""
CHAT: Final = """<!doctype html><title>Chat</title>
<button id=say>Say</button><p id=heard>nothing</p><p id=state>silent</p><script>
const listen = () => fetch('/wait').then((response) => response.text()).then((text) => {
  heard.textContent = text;
  listen();
});
listen();
say.onclick = () => fetch('/say', {method: 'POST'}).then((response) => response.text()).then((text) => {
  state.textContent = text;
});
</script>"""

LISTENERS: Final = """<!doctype html><title>Listeners</title><button id=listen>Listen</button>
<p id=listeners>none</p><p id=news>none</p><p id=state>new</p><script>
listen.onclick = () => {
  const socket = new WebSocket(`ws://${location.host}/slow-news`);
  socket.onmessage = ({ data }) => { news.textContent = data; };
  socket.onopen = () => { state.textContent = 'open'; };
  fetch('/listeners').then((response) => response.text()).then((text) => { listeners.textContent = text; });
  TELL;
};</script>"""
OVERLAP: Final = """<!doctype html><title>Overlap</title><button id=look>Look</button><button id=change>Change</button>
<p id=seen>none</p><p id=news>none</p><script>
const socket = new WebSocket(`ws://${location.host}/news`);
socket.onopen = () => { document.title = 'Open'; };
socket.onmessage = ({ data }) => { news.textContent = data; };
const order = () => fetch('/order', {method: 'POST'}).then(() => { news.textContent = 'ordered'; });
look.onclick = () => {
  fetch('/slow-orders').then((response) => response.text()).then((text) => {
    seen.textContent = text;
    change.remove();
  });
};
change.onclick = () => { CHANGE; };
</script>"""


class Prices:
    """A server that takes its time for a price, and for news that it sends over a socket."""

    def __init__(self) -> None:
        """Take the time that the recording has."""
        self.url = ""
        self.price_after_s = 0.7
        self.news_after_s = 0.5
        self.news = "Bought"
        self.orders = 0
        self.kept = (-KEPT_S, "")
        self.hurries = False
        self.accepts = Event()
        self.accepts.set()
        self.listeners: list[web.WebSocketResponse] = []
        self._is_heard = asyncio.Event()
        self._said = asyncio.Event()

    async def page(self, request: web.Request) -> web.Response:
        """Return a page."""
        pages = {"/": PAGE, "/leaving": LEAVING, "/next": NEXT, "/shop": ORDER, "/polls": POLLS, "/chat": CHAT}
        pages |= {
            "/message": OVERLAP.replace("CHANGE", "socket.send('buy')"),
            "/post": OVERLAP.replace("CHANGE", "order()"),
            "/listening": LISTENERS.replace("TELL", ""),
            "/telling": LISTENERS.replace("TELL", "fetch('/tell', {method: 'POST'})"),
        }
        return web.Response(text=pages[request.path], content_type="text/html")

    async def price(self, _request: web.Request) -> web.Response:
        """Return the price."""
        await asyncio.sleep(self.price_after_s)
        return web.Response(text="12.50")

    async def order(self, _request: web.Request) -> web.Response:
        """Take an order at once, and say so a second later."""
        self.orders += 1
        await asyncio.sleep(1.0)
        return web.Response(text="ordered")

    async def order_at_once(self, _request: web.Request) -> web.Response:
        """Take an order, and say so."""
        self.orders += 1
        return web.Response(text="ordered")

    async def count(self, _request: web.Request) -> web.Response:
        """Count the orders."""
        return web.Response(text=f"{self.orders} orders")

    async def count_slowly(self, _request: web.Request) -> web.Response:
        """Count the orders, and take a second to say so."""
        counted = self.orders
        await asyncio.sleep(0.0 if self.hurries else 1.0)
        return web.Response(text=f"{counted} orders")

    async def keep_count(self, _request: web.Request) -> web.Response:
        """Count the orders, and answer the same for a while."""
        if time.monotonic() - self.kept[0] >= KEPT_S:
            self.kept = time.monotonic(), f"{self.orders} orders"
        return web.Response(text=self.kept[1])

    async def wait(self, _request: web.Request) -> web.Response:
        """Answer once somebody says something: a long poll."""
        await self._said.wait()
        return web.Response(text="Hello")

    async def say(self, _request: web.Request) -> web.Response:
        """Say something."""
        self._said.set()
        self._said = asyncio.Event()
        await asyncio.sleep(0.3)
        return web.Response(text="said")

    async def accept_slowly(self, request: web.Request) -> web.WebSocketResponse:
        """Accept a listener once that is allowed, and send it each announcement."""
        await asyncio.sleep(0.0 if self.hurries else 0.5)
        await asyncio.to_thread(self.accepts.wait)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.listeners.append(socket)
        self._is_heard.set()
        async for _ in socket:
            pass
        self.listeners.remove(socket)
        if not self.listeners:
            self._is_heard.clear()
        return socket

    async def count_listeners(self, _request: web.Request) -> web.Response:
        """Count the listeners."""
        await asyncio.sleep(0.0 if self.hurries else 0.2)
        return web.Response(text=f"{len(self.listeners)} listeners")

    async def tell(self, _request: web.Request) -> web.Response:
        """Send an announcement to the listeners, once there are any."""
        await self._is_heard.wait()
        await asyncio.sleep(0.1 if self.hurries else 0.5)
        for each in self.listeners:
            await each.send_str("announced")
        await asyncio.sleep(0.2)
        return web.Response(text="ok")

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        """Answer what the page sends."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                self.orders += 1
                await asyncio.sleep(self.news_after_s)
                await socket.send_str(self.news)
        return socket


@contextmanager
def serve_prices() -> Iterator[Prices]:
    """Serve until the block ends."""
    site, application = Prices(), web.Application()
    application.on_response_prepare.append(hide_the_server)
    for path in ("/", "/leaving", "/next", "/shop", "/polls", "/chat", "/listening", "/telling", "/message", "/post"):
        application.router.add_get(path, site.page)
    application.router.add_post("/order", site.order)
    application.router.add_get("/orders", site.count)
    application.router.add_post("/orders", site.order_at_once)
    application.router.add_get("/kept-orders", site.keep_count)
    application.router.add_get("/slow-orders", site.count_slowly)
    application.router.add_get("/slow-news", site.accept_slowly)
    application.router.add_get("/listeners", site.count_listeners)
    application.router.add_post("/tell", site.tell)
    application.router.add_get("/wait", site.wait)
    application.router.add_post("/say", site.say)
    application.router.add_get("/price", site.price)
    application.router.add_get("/news", site.socket)
    with running_application(application, (0,)) as ports:
        site.url = f"http://{HOST}:{ports[0]}"
        yield site


def listen(chromium: Browser, site: Prices, folder: Path, path: str, seen: str) -> None:
    """Record a mission that listens to announcements, and wait until the server has nothing left of it."""
    wait_until(lambda: not site.listeners, "the end of each socket", GENEROUS_S)
    with recorded_page(chromium, folder, TWICE) as agent:
        agent.page.goto(f"{site.url}/{path}")
        agent.page.get_by_role("button", name="Listen").click()
        expect(agent.page.locator(seen)).to_be_visible()
        expect(agent.page.locator("#listeners")).to_have_text("0 listeners")
    wait_until(lambda: not site.listeners, "the end of each socket", GENEROUS_S)


def buy(page: Page, url: str) -> None:
    """Buy once the price is there, and wait for the news."""
    page.goto(url)
    expect(page.locator("#price")).to_have_text("12.50")
    page.get_by_role("button", name="Buy").click()
    page.get_by_role("button", name="Buy").hover()
    expect(page.locator("#news")).to_contain_text("Bought")


@pytest.fixture(scope="module")
def site() -> Iterator[Prices]:
    """Serve the prices."""
    with serve_prices() as prices:
        yield prices


@pytest.fixture(autouse=True)
def usual_speed(site: Prices) -> Iterator[None]:
    """Let the server take its time in the next test."""
    yield
    site.hurries = False
    site.accepts.set()


@pytest.fixture(scope="module")
def bundle(chromium: Browser, site: Prices, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the mission."""
    folder = tmp_path_factory.mktemp("prices") / "b"
    with recorded_page(chromium, folder, TWICE) as agent:
        buy(agent.page, site.url)
    return folder


def differences(outcome: ReplayOutcome) -> list[str]:
    """Return what differs, and what was not compared."""
    steps = [each for each in outcome.subgoals[0].steps if each.kind == "action"]
    found = [each.message + each.expected + each.observed for each in outcome.divergences]
    return [*found, *(name for each in steps for name in each.masked)]


@pytest.mark.parametrize(("price_after_s", "news_after_s"), [(0.0, 0.0), (1.5, 1.2)], ids=["faster", "slower"])
def test_a_server_of_another_speed_is_the_recorded_one(
    bundle: Path, site: Prices, tmp_path: Path, price_after_s: float, news_after_s: float
) -> None:
    """What the page counts, and when it shows the news, does not depend on the speed; nothing is masked."""
    site.price_after_s, site.news_after_s = price_after_s, news_after_s

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert differences(outcome) == []
    assert outcome.verdict == "faithful"


def test_another_message_is_a_difference(bundle: Path, site: Prices, tmp_path: Path) -> None:
    """At the step that waited for it."""
    site.price_after_s, site.news_after_s, site.news = 0.0, 0.0, "Sold out"
    try:
        outcome = replay(bundle, tmp_path / "run", network="live", secrets={})
    finally:
        site.news = "Bought"

    assert outcome.verdict == "diverged"
    assert outcome.explanation is not None
    assert "Sold out" in outcome.explanation.why
    assert outcome.explanation.cause == "test-data"


def test_a_message_that_never_comes_is_waited_for_briefly(bundle: Path, site: Prices, tmp_path: Path) -> None:
    """Page time goes on after some seconds, so that the step that needs the message fails as it did not."""
    site.price_after_s, site.news_after_s = 0.0, 15.0

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert outcome.verdict == "diverged"
    assert outcome.divergences[0].code in {"assertion-failed", "dom-changed"}


def test_what_the_agent_did_not_wait_for_does_not_come(chromium: Browser, site: Prices, tmp_path: Path) -> None:
    """The recorded page was left before it had its response, which a live server may have at once."""
    site.price_after_s = 5.0
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/leaving")
        agent.page.get_by_role("link", name="Next").hover()
        agent.page.get_by_role("link", name="Next").click()
        expect(agent.page).to_have_title("Next")
    site.price_after_s = 0.0

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert differences(outcome) == []
    assert outcome.verdict == "faithful"


def test_what_happens_while_a_request_is_answered_stays_in_order(
    chromium: Browser, site: Prices, tmp_path: Path
) -> None:
    """The order reaches the server before it is asked for the number of orders, though it was answered after that."""
    site.orders = 0
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/shop")
        agent.page.get_by_role("button", name="Order").click()
        expect(agent.page.locator("#orders")).to_have_text("1 orders")
        expect(agent.page.locator("#state")).to_have_text("ordered")
    site.orders = 0

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert differences(outcome) == []
    assert site.orders == 1


@pytest.mark.parametrize("change", ["message", "post"])
def test_what_overlaps_an_order_reaches_the_server_before_it(
    chromium: Browser, site: Prices, tmp_path: Path, change: str
) -> None:
    """A request is held back until its response came; if the server got it before an order, it does so again."""
    site.orders, site.news_after_s = 0, 0.5
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/{change}")
        expect(agent.page).to_have_title("Open")
        agent.page.get_by_role("button", name="Look").click()
        agent.page.get_by_role("button", name="Change").click()
        expect(agent.page.locator("#seen")).to_have_text("0 orders")
        expect(agent.page.locator("#news")).not_to_have_text("none")
    site.orders = 0

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert differences(outcome) == []
    assert site.orders == 1


def test_a_server_that_keeps_answers_is_asked_no_sooner(chromium: Browser, site: Prices, tmp_path: Path) -> None:
    """In the recording, it counted again: page time passes faster than what it kept expires."""
    site.orders = 0
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/polls")
        agent.page.get_by_role("button", name="Order").click()
        expect(agent.page.locator("#orders")).to_have_text("1 orders")
    site.orders, site.kept = 0, (-KEPT_S, "")

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert differences(outcome) == []
    assert outcome.verdict == "faithful"


@pytest.mark.parametrize(("path", "seen"), [("listening", "#state >> text=open"), ("telling", "text=announced")])
def test_a_socket_reaches_the_server_in_its_turn(
    chromium: Browser, site: Prices, tmp_path: Path, path: str, seen: str
) -> None:
    """After a request that the server answered before it accepted the socket, and before one that it answered later."""
    listen(chromium, site, tmp_path / "b", path, seen)
    site.hurries = True

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert outcome.divergences == ()
    assert outcome.verdict == "faithful"


def test_a_request_that_the_browser_reports_late_reaches_the_server_first(
    chromium: Browser, site: Prices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy browser may report a request after one that its page sent later."""
    listen(chromium, site, tmp_path / "b", "telling", "text=announced")
    site.hurries = True
    in_turn = LivePace.response_turn

    @asynccontextmanager
    async def late_turn(pace: LivePace, request: Request, *, is_background: bool) -> AsyncIterator[HeldRequest | None]:
        if request.url.endswith("/listeners"):
            await asyncio.sleep(REPORTED_S / 2)
        async with in_turn(pace, request, is_background=is_background) as early:
            yield early

    monkeypatch.setattr(LivePace, "response_turn", late_turn)

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert outcome.divergences == ()
    assert outcome.verdict == "faithful"


def test_what_a_request_makes_a_server_send_comes_when_it_came(chromium: Browser, site: Prices, tmp_path: Path) -> None:
    """A socket is accepted, and has a message, before the request that made the server send it is answered."""
    site.accepts.clear()
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/telling")
        agent.page.get_by_role("button", name="Listen").click()
        expect(agent.page.locator("#listeners")).to_have_text("0 listeners")
        agent.page.get_by_role("button", name="Listen").hover()
        assert agent.page.locator("#state").inner_text() == "new"
        site.accepts.set()
        expect(agent.page.locator("#news")).to_have_text("announced")
    site.hurries = True

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert outcome.divergences == ()
    assert outcome.verdict == "faithful"


@pytest.mark.parametrize("path", ["message", "post"])
def test_a_response_that_comes_early_is_kept(chromium: Browser, site: Prices, tmp_path: Path, path: str) -> None:
    """The server gets it before the order, and answers at once; the recorded page had the answer a second later."""
    site.orders = 0
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/{path}")
        expect(agent.page).to_have_title("Open")
        agent.page.get_by_role("button", name="Look").click()
        agent.page.get_by_role("button", name="Change").click()
        agent.page.get_by_role("button", name="Change").hover()
        assert agent.page.locator("#seen").inner_text() == "none"
        expect(agent.page.locator("#seen")).to_contain_text("orders")
    site.hurries, site.orders = True, 0

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert [each.message for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"


def test_a_long_poll_reaches_the_server_before_what_answers_it(chromium: Browser, site: Prices, tmp_path: Path) -> None:
    """It is not held back until its response; and one that the recording ended with is not waited for."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/chat")
        agent.page.wait_for_timeout(1000)
        agent.page.get_by_role("button", name="Say").click()
        expect(agent.page.locator("#heard")).to_have_text("Hello")
        expect(agent.page.locator("#state")).to_have_text("said")

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert outcome.divergences == ()
    assert outcome.network is not None
    assert [each for each in outcome.network.notes if "no response" in each] == []


def test_a_long_poll_is_waited_for_with_what_answers_it(chromium: Browser, site: Prices, tmp_path: Path) -> None:
    """Without a certificate, the poll is answered before the request that causes its answer."""
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        agent.page.goto(f"{site.url}/chat")
        agent.page.wait_for_timeout(1000)
        agent.page.get_by_role("button", name="Say").click()
        expect(agent.page.locator("#state")).to_have_text("said")

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert outcome.divergences == ()
    assert outcome.network is not None
    assert [each for each in outcome.network.notes if "response" in each] == []


@pytest.mark.parametrize("leaves", ["for another page", "by closing"])
def test_a_save_that_the_agent_did_not_wait_for_reaches_the_site(
    chromium: Browser, site: Prices, tmp_path: Path, leaves: str
) -> None:
    """Its response was cancelled in the recording, or the recording ended before it."""
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        agent.page.goto(f"{site.url}/shop")
        agent.page.get_by_role("button", name="Order").click()
        if leaves == "for another page":
            agent.page.goto(f"{site.url}/next")
    site.orders = 0

    replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert site.orders == 1
