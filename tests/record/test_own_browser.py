"""Browsers with other settings than Playwright's defaults."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from eikon_engine.browser.executable import find_browser
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AttachOptions, record_mission
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser


def test_the_languages_of_a_headed_browser_are_replayed(site: PageSite, tmp_path: Path) -> None:
    """A headed browser reports more languages than its locale, and so does its replay."""
    url = site.put("<p></p><script>document.querySelector('p').textContent = navigator.languages.join()</script>")
    options = AttachOptions(certify=CertifyOptions(runs=2))
    with sync_playwright() as playwright:
        path = find_browser(None, environ=os.environ).path
        browser = playwright.chromium.launch(executable_path=path, args=["--accept-lang=en-US,en,de"])
        page = browser.new_page()
        with record_mission(page, mission_text="Look", directory=tmp_path / "b", options=options) as mission:
            page.goto(url)
        browser.close()

    environment = open_bundle(tmp_path / "b").trace.environment
    assert environment is not None
    assert environment.page_view is not None
    assert environment.page_view.languages == ("en-US", "en", "de")
    assert mission.report is not None
    assert mission.report.status == "certified"
