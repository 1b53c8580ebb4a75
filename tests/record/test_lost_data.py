"""What could not be recorded is named, and the bundle is not certified; a slow download is waited for."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from eikon_engine.record import action_log as timeline
from eikon_engine.record.agent_recorder import AgentRecorder
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import TWICE, recorded_page, steps, warnings

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("link", ["<a href=/slow>Get it</a>", "<a href=/slow download>Get it</a>"])
def test_a_slow_last_download_is_waited_for(chromium: Browser, site: PageSite, tmp_path: Path, link: str) -> None:
    """A download still running when the mission ends is recorded completely and certified."""
    site.answers["/slow"] = Answer(
        content_type="application/octet-stream",
        headers=(("Content-Disposition", "attachment; filename=slow.bin"),),
        pieces=tuple(bytes([number]) * 1000 for number in range(75)),
    )
    url = site.put(link)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        agent.page.click("a")

    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified"
    seen = steps(tmp_path / "b")[-1].observation
    assert seen is not None
    assert [(each.name, each.size, each.failure) for each in seen.downloads] == [("slow.bin", 75_000, None)]


def test_a_download_that_takes_too_long_is_lost(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundle says so, and is not certified."""
    monkeypatch.setattr(timeline, "DOWNLOAD_TIMEOUT_S", 0.3)
    site.answers["/endless"] = Answer(
        content_type="application/octet-stream",
        headers=(("Content-Disposition", "attachment; filename=endless.bin"),),
        pieces=(bytes(100_000),),
        ending="open",
    )
    url = site.put("<a href=/endless>Get it</a>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        agent.page.click("a")

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    (lost,) = network.incomplete
    assert f"{site.url}/endless" in lost.what
    assert lost.why == "it was still running 0.3 s after the mission"
    assert f"{lost.what} was lost: {lost.why}" in warnings(tmp_path / "b")
    assert agent.mission.report is not None
    assert agent.mission.report.status == "unverifiable"


def test_a_failing_recorder_makes_the_recording_incomplete(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent does not notice, but a step may be missing."""

    def fail(*_arguments: object) -> None:
        message = "no such call"
        raise RuntimeError(message)

    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<p>Here</p>"))
        with monkeypatch.context() as patched:
            patched.setattr(AgentRecorder, "_read_of", fail)
            assert agent.page.locator("p").count() == 1

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    assert [each.why for each in network.incomplete] == ["the recorder failed: RuntimeError: no such call"]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "unverifiable"
