from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import start_blocking_portal

from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.traffic.sink import open_sink
from tests.browser.desk import Room
from tests.browser.pages import serve_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.from_thread import BlockingPortal

    from tests.browser.desk import Desk
    from tests.browser.pages import PageSite


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """Run one event loop beside the tests."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(scope="session")
def live_browser(portal: BlockingPortal) -> Iterator[Room]:
    """Run one browser for all tests on the live site."""
    with serve_pages() as site, portal.wrap_async_context_manager(launch_browser(LaunchOptions())) as launched:
        yield Room(portal, launched.browser, site, launched.api_request)


@pytest.fixture(scope="session")
def sealed_browser(portal: BlockingPortal, live_browser: Room) -> Iterator[Room]:
    """Run one browser that resolves no host, with a sink of its own, as replays do."""
    with portal.wrap_async_context_manager(open_sink()) as sink:
        options = LaunchOptions(sealed=True, proxy=sink.browser_proxy)
        with portal.wrap_async_context_manager(launch_browser(options)) as launched:
            yield Room(portal, launched.browser, live_browser.site, launched.api_request)


@pytest.fixture
def site(live_browser: Room) -> PageSite:
    """Serve an empty site."""
    live_browser.site.answers.clear()
    live_browser.site.asked.clear()
    return live_browser.site


@pytest.fixture
def desk(live_browser: Room, site: PageSite) -> Iterator[Desk]:
    """Open a fresh session on the live site."""
    with live_browser.desk() as opened:
        yield opened
