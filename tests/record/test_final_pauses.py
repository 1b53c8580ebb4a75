"""A mission ends when its agent ends: what happens in a pause after its last action is recorded and compared."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import TWICE, kinds, recorded_page, steps
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser

PAUSE_MS = 2500
SAVES = (
    """<!doctype html><title>page</title><button onclick="setTimeout(() => {{ {} }}, 1500)">Go</button><p>none</p>"""
)
ORDERS = "fetch('/saved', {method: 'POST'})"
SHOWS = "document.querySelector('p').textContent = 'Failed'"
LEAVES = "location.href = '/next'"


def pause(page: Page) -> None:
    """Pause in the client."""
    page.wait_for_timeout(PAUSE_MS)


def block(_page: Page) -> None:
    """Pause without letting the client do anything."""
    threading.Event().wait(PAUSE_MS / 1000)


def click_and_pause(page: Page, url: str, wait: Callable[[Page], None]) -> None:
    """Start something, and look at nothing afterwards."""
    page.goto(url)
    page.click("button")
    wait(page)


@pytest.mark.parametrize("wait", [pause, block])
@pytest.mark.parametrize("effect", [ORDERS, SHOWS, LEAVES], ids=["request", "content", "navigation"])
def test_what_happens_in_a_final_pause_is_compared(
    chromium: Browser, site: PageSite, tmp_path: Path, wait: Callable[[Page], None], effect: str
) -> None:
    """The recording has it, replays of the site repeat it, and one of a site where it does not happen diverges."""
    site.answers |= {"/": Answer(body=SAVES.format(effect)), "/saved": Answer(body="ok"), "/next": Answer(body="Next")}
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        click_and_pause(agent.page, f"{site.url}/", wait)

    assert kinds(tmp_path / "b") == ["click", "note"]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    assert replay(tmp_path / "b", tmp_path / "live", network="live").verdict == "faithful"
    site.answers["/"] = Answer(body=SAVES.format("0"))
    assert replay(tmp_path / "b", tmp_path / "changed", network="live").verdict == "diverged"


def test_a_pause_within_a_subgoal_belongs_to_it(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The subgoal has ended before the mission does; no attempt is added for the pause."""
    site.answers["/"] = Answer(body=SAVES.format(SHOWS))
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent, agent.mission.subgoal("Go"):
        click_and_pause(agent.page, f"{site.url}/", pause)

    *_, click, last = steps(tmp_path / "b")
    assert last.id.rpartition("_action_")[0] == click.id.rpartition("_action_")[0]
    assert last.observation is not None
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def test_a_mission_without_a_pause_ends_with_its_last_action(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Only a pause adds a step."""
    site.answers["/"] = Answer(body=SAVES.format("0"))
    with recorded_page(chromium, tmp_path / "b") as agent:
        click_and_pause(agent.page, f"{site.url}/", lambda _: None)

    assert kinds(tmp_path / "b") == ["click"]
