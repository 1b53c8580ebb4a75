from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from eikon_engine.browser.executable import find_browser
from tests.browser.pages import PageSite, serve_pages


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Launch one browser for a module's agents that use the synchronous API."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        yield browser
        browser.close()


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve an empty site."""
    with serve_pages() as serving:
        yield serving
