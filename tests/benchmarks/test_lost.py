"""The benchmark of lost data, in short: one recording of each of its missions on a busy machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from benchmarks.busy import busy
from benchmarks.lost import BUSY_PROCESSES, MISSIONS, Mission, fill, record
from tests.browser.pages import serve_pages
from tests.sites.torture import serve_torture

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("mission", MISSIONS, ids=lambda mission: mission.name)
def test_a_busy_machine_loses_nothing(chromium: Browser, tmp_path: Path, mission: Mission) -> None:
    """Bodies, streams, sockets and uploads are kept from their first byte, in pages opened while recording."""
    with serve_torture() as torture, serve_pages() as site, busy(BUSY_PROCESSES):
        fill(site, torture.url.replace("http", "ws") + "/ws/echo")
        lost, says_so = record(chromium, mission, site, tmp_path / "b")

    assert lost == []
    assert not says_so
