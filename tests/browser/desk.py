"""Drive a browser worker from synchronous tests."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.traffic.capture import NetworkCapture
from eikon_engine.browser.traffic.live import LiveTraffic, Traffic
from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.browser.traffic.sink import open_sink
from eikon_engine.browser.worker import open_worker
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.replay.step import perform_until_expected
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import Succeeded
from eikon_engine.trace.target import Target
from tests.browser.pages import TRAIL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal
    from playwright.async_api import APIRequest, Browser

    from eikon_engine.browser.worker import BrowserWorker, PerformedAction
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.replay.step import IsExpected
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import Observation
    from tests.browser.pages import PageSite

CLOCK_START_MS = 1_700_000_000_000
SETTLE_MS = 100.0


def environment(*, settle_ms: float = SETTLE_MS) -> Environment:
    """Return the environment of all tests of the worker."""
    return Environment(
        browser_version="any",
        playwright_version="any",
        platform="any",
        clock_start_ms=CLOCK_START_MS,
        random_seed=7,
        settle_ms=settle_ms,
    )


def at(selector: str, *frames: str) -> Target:
    """Return a target."""
    return Target(selector=selector, frames=frames)


def comparable(observation: Observation | None) -> Observation | None:
    """Return an observation without what varies with the load of the machine and is never compared."""
    if observation is None:
        return None
    return observation.model_copy(update={"timer_requests": (), "loading_pages": ()})


@dataclass(slots=True)
class Desk:
    """A worker, its site, and the event loop that runs it."""

    portal: BlockingPortal
    worker: BrowserWorker
    site: PageSite

    def do(
        self, action: Action, recorded: Observation | None = None, agrees: IsExpected | None = None
    ) -> PerformedAction:
        """Perform one action; its observation is comparable."""
        if agrees is None:
            performed = self.portal.call(self.worker.execute, action, recorded)
        else:
            performed, _ = self.portal.call(perform_until_expected, self.worker, action, agrees, recorded)
        return replace(performed, observation=comparable(performed.observation))

    def ok(self, action: Action) -> Observation:
        """Perform one action that succeeds; return its observation."""
        performed = self.do(action)
        assert performed.result == Succeeded(), performed.result
        assert performed.observation is not None
        return performed.observation

    def fails(self, action: Action, code: str) -> str:
        """Perform one action that fails with a code; return its message."""
        performed = self.do(action)
        assert performed.error is not None, f"{action.type} succeeded"
        assert performed.error.code == code, performed.error.message
        return performed.error.message

    def show(self, html: str) -> Observation:
        """Load a document that records the events reaching it."""
        seen = self.ok(Navigate(url=self.site.put(TRAIL + html)))
        self.trail()  # a new document gets events of the pointer over it
        return seen

    def js(self, expression: str, page: int = 0) -> Any:  # noqa: ANN401 - any JSON value
        """Evaluate an expression in a page."""
        return self.portal.call(self._page(page).evaluate, expression)

    def trail(self, page: int = 0) -> list[str]:
        """Return the events that the page recorded, and clear them."""
        noted: list[str] = self.js("trail.splice(0)", page)
        return noted

    def network(self) -> NetworkOutcome:
        """Return how many requests had which kind of response."""
        return self.worker.network_outcome()

    def _page(self, ordinal: int) -> Any:  # noqa: ANN401 - Playwright's page
        page = self.worker.session.page(ordinal)
        assert page is not None
        return page


@dataclass(frozen=True, slots=True)
class Room:
    """Opens desks in one running browser."""

    portal: BlockingPortal
    browser: Browser
    site: PageSite
    requests: APIRequest

    @contextmanager
    def desk(
        self,
        traffic: Traffic | None = None,
        *,
        settle_ms: float = SETTLE_MS,
        uploads: Path | None = None,
        natural: bool = False,
        has_touch: bool = False,
        proxy: str | None = None,
    ) -> Iterator[Desk]:
        """Open a fresh session."""
        chosen = environment(settle_ms=settle_ms).model_copy(update={"has_touch": has_touch})
        options = SessionOptions(environment=chosen, natural_clock=natural, proxy=proxy)
        opening = open_worker(self.browser, options, traffic or LiveTraffic())
        with self.portal.wrap_async_context_manager(opening) as worker:
            if uploads is not None:
                worker.session.uploads = BlobStore(uploads)
            yield Desk(self.portal, worker, self.site)

    @contextmanager
    def recording(self, folder: Path, *, settle_ms: float = SETTLE_MS) -> Iterator[Desk]:
        """Open a fresh session whose network is recorded."""
        with self.desk(settle_ms=settle_ms) as desk, NetworkWriter(folder) as writer:
            capture = self.portal.call(NetworkCapture, desk.worker.session, writer)
            self.portal.call(capture.start)
            self.portal.call(desk.worker.session.context.add_init_script, load_script("init_reports.js"))
            yield desk
            self.portal.call(capture.close)

    @contextmanager
    def sealed(
        self, folder: Path, *, settle_ms: float = SETTLE_MS, traffic: SealedTraffic | None = None
    ) -> Iterator[Desk]:
        """Open a fresh session served from a recording; its sink must not receive anything."""
        traffic = traffic or SealedTraffic(read_network(folder))
        with self.portal.wrap_async_context_manager(open_sink()) as sink:
            with self.desk(traffic, settle_ms=settle_ms, proxy=sink.page_proxy) as desk:
                yield desk
            escaped = [each for each in sink.violations() if each.kind == "page"]
        assert escaped == []
