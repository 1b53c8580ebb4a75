"""Fixtures and hooks for all tests."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from eikon_engine.browser.executable import find_browser
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


# An example may take long on a busy machine. The examples are always the same, so that a run fails for what changed;
# `--hypothesis-profile search` draws new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that need a browser first, so that short tests fill the idle workers at the end."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


@pytest.fixture(scope="session", autouse=True)
def _drivers_start_quickly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Share Node's compile cache between browser drivers, which saves a fifth of their start-up time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_COMPILE_CACHE", str(tmp_path_factory.getbasetemp().parent / "node"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _replays_have_no_history() -> Iterator[None]:
    """Keep the replays of tests out of the history of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EIKON_HISTORY", "off")
        yield


@pytest.fixture(scope="session", autouse=True)
def _test_runs_do_not_clean_up_after_others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the pytest of a tested command temporary folders of its own.

    In those of all runs of a user, it removes what killed runs have left, for a minute or more, before it ends.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DEBUG_TEMPROOT", str(tmp_path_factory.mktemp("pytest")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """Let child processes react to SIGINT, even if a shell runs the tests in the background.

    Such a shell makes them ignore SIGINT, and child processes inherit that.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _browsers_end() -> Iterator[None]:
    """Close the browsers that tests shared."""
    yield
    SHARED.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Launch one browser for a module's agents that use the synchronous API."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        yield browser
        browser.close()
