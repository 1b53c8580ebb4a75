"""One recorded mission and one browser for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import start_blocking_portal

from eikon_engine.debug.context_pool import ContextOptions, open_context_pool
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from tests.debug.contexts.pool_driver import WHO, PoolDriver
from tests.missions.counter import ANSWER, COUNTER, COUNTER_PAGE, SECRET, count_up
from tests.replay.shared_browsers import SHARED
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

    from eikon_engine.trace.bundle import Bundle


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """Run an event loop in another thread."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(scope="session")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Record the mission on the counter page."""
    folder = tmp_path_factory.mktemp("counter")
    SHARED.run(_record(folder))
    return open_bundle(folder / "bundle")


@pytest.fixture(scope="session")
def options() -> ContextOptions:
    """Return options with the secret of the mission."""
    return ContextOptions(replay=ReplayOptions(secrets={SECRET: WHO}))


@pytest.fixture(scope="session")
def shared(portal: BlockingPortal, counter: Bundle, options: ContextOptions) -> Iterator[PoolDriver]:
    """Open one pool for all tests."""
    with portal.wrap_async_context_manager(open_context_pool(counter, options)) as pool:
        yield PoolDriver(portal, pool, counter)


@pytest.fixture
def driver(shared: PoolDriver) -> Iterator[PoolDriver]:
    """Return a pool without contexts, and close all contexts afterwards."""
    yield shared
    shared.portal.call(shared.pool.close)


async def _record(folder: Path) -> None:
    site = folder / "site"
    site.mkdir()
    (site / COUNTER).write_text(COUNTER_PAGE)
    (site / ANSWER[0]).write_text(ANSWER[1])
    with serve_folder(site) as url:
        recording = RecordOptions(secrets={SECRET: WHO})
        async with open_recorder(
            folder / "bundle", mission_text="Count", mission_id="counter", options=recording
        ) as mission:
            await count_up(mission, url)
