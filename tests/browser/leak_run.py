"""Let pages try to reach the network, in a sealed session or, for comparison, in an unsealed one."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.traffic.capture import NetworkCapture
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.browser.traffic.sink import open_sink
from eikon_engine.browser.worker import SealedWorker, open_worker
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.trace.actions import Click, Navigate
from tests.browser.desk import at, environment
from tests.browser.leak_classes import CLASSES, Fate, LeakClass
from tests.browser.pages import Answer, redirect, serve_pages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from playwright.async_api import Browser

    from eikon_engine.browser.worker import BrowserWorker
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from tests.browser.pages import PageSite

NAMED: Final = "https://escape.test"
IPV4: Final = "http://192.0.2.1:8088"
IPV6: Final = "http://[2001:db8::1]:8088"
MARKER: Final = "marker.test"
DEADLINE_S: Final = 30.0
AT_ONCE: Final = 8
POLICY: Final = ("Content-Security-Policy-Report-Only", f"img-src 'none'; report-uri {NAMED}/report")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakSite:
    """A recorded page for every class, with a neighbour on loopback that must not receive requests."""

    site: PageSite
    neighbour: PageSite
    folder: Path

    def url(self, leak: LeakClass) -> str:
        """Return the address of the page of a class."""
        return f"{self.site.url}/{CLASSES.index(leak)}"


@asynccontextmanager
async def record_leaks(folder: Path, classes: tuple[LeakClass, ...] = CLASSES) -> AsyncIterator[LeakSite]:
    """Record the pages; only the class that a recording serves is clicked."""
    with serve_pages() as site, serve_pages() as neighbour:
        leaks = LeakSite(site=site, neighbour=neighbour, folder=folder)
        for leak in classes:
            document = _document(leak, (NAMED, IPV4, IPV6, neighbour.url))
            site.answers[f"/{CLASSES.index(leak)}"] = Answer(
                body=document, headers=(POLICY,) if "policy" in leak.name else ()
            )
        site.answers |= {"/served": Answer(body="served"), "/moved": redirect(f"{neighbour.url}/end")}
        neighbour.answers["/end"] = Answer(body="moved", headers=(("Access-Control-Allow-Origin", "*"),))
        options = SessionOptions(environment=environment())
        async with (
            launch_browser(LaunchOptions()) as launched,
            open_worker(launched.browser, options, LiveTraffic()) as worker,
        ):
            with NetworkWriter(folder) as writer:
                capture = NetworkCapture(worker.session, writer)
                for leak in classes:
                    await worker.execute(Navigate(url=leaks.url(leak)))
                    if leak.fate == "served":
                        await worker.execute(Click(target=at("#go")))
                await capture.close()
        site.asked.clear()
        neighbour.asked.clear()
        yield leaks


@asynccontextmanager
async def sealed_browser() -> AsyncIterator[Browser]:
    """Launch a browser as a sealed replay does, with another sink for its own traffic."""
    async with (
        open_sink() as sink,
        launch_browser(LaunchOptions(sealed=True, proxy=sink.browser_proxy)) as launched,
    ):
        yield launched.browser
        assert sink.violations() == (), "the browser reached for the network on its own account"


async def attempt_sealed(browser: Browser, leaks: LeakSite, leak: LeakClass) -> NetworkOutcome:
    """Replay a page, click, and return the outcome."""
    traffic = SealedTraffic(read_network(leaks.folder))
    async with open_sink() as sink:
        options = SessionOptions(environment=environment(), proxy=sink.page_proxy)
        async with open_worker(browser, options, traffic) as worker:
            watched = SealedWorker(worker, worker.session, sink)
            await _try(worker, leaks, leak)
            await _until_marked(worker, watched)
            network = watched.network_outcome()
    left = tuple(each for each in network.violations if not each.target.startswith(MARKER))
    return network.model_copy(update={"violations": left})


async def attempt_all(leaks: LeakSite, classes: tuple[LeakClass, ...] = CLASSES) -> dict[str, NetworkOutcome]:
    """Replay the pages of classes, several at once; return the outcome of each."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def attempt(browser: Browser, leak: LeakClass) -> NetworkOutcome:
        async with turn:
            return await attempt_sealed(browser, leaks, leak)

    async with sealed_browser() as browser:
        outcomes = await asyncio.gather(*(attempt(browser, leak) for leak in classes))
    return dict(zip((leak.name for leak in classes), outcomes, strict=True))


async def attempt_live(browser: Browser, leaks: LeakSite, leak: LeakClass) -> None:
    """Click on a page with the real network."""
    async with open_worker(browser, SessionOptions(environment=environment()), LiveTraffic()) as worker:
        await _try(worker, leaks, leak)


def fate_of(network: NetworkOutcome) -> Fate:
    """Return the outcome of a page's attempts; violations come before misses."""
    if network.page_violations:
        return "reported"
    if network.misses:
        return "blocked"
    return "served" if network.served > 1 else "silent"


async def _try(worker: BrowserWorker, leaks: LeakSite, leak: LeakClass) -> None:
    await worker.execute(Navigate(url=leaks.url(leak)))
    await worker.execute(Click(target=at("#go")))


async def _until_marked(worker: BrowserWorker, watched: SealedWorker) -> None:
    """Send a marker to the sink, and wait for it: earlier traffic of the page has arrived by then."""
    page = await worker.session.context.new_page()
    await page.evaluate("script => { new Worker(URL.createObjectURL(new Blob([script]))) }", _MARK)
    deadline = time.monotonic() + DEADLINE_S
    while not any(each.target.startswith(MARKER) for each in watched.network_outcome().violations):
        assert time.monotonic() < deadline, "the sink was never reached"
        await page.evaluate("() => 1")


_MARK: Final = f"new WebSocket('ws://{MARKER}/')"


def _document(leak: LeakClass, places: tuple[str, ...]) -> str:
    names = json.dumps(places)
    return f"""<!doctype html><title>{leak.name}</title><button id=go>Go</button><script>
const places = {names};
const blob = script => URL.createObjectURL(new Blob([`const places = {names};${{script}}`]));
document.getElementById('go').onclick = () => {{ {leak.script} }};
</script>"""
