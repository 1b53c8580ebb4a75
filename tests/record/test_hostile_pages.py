"""Missions on pages that work against the agent; `benchmarks.hostile_pages` has many more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from eikon_engine.errors import PageUnresponsiveError
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.trace.execution import Failed
from tests.record.recorded_page import QUICK, TWICE, recorded_page, steps
from tests.sites.hostile import put_hostile

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

REPLACED = ("array iterators", "JSON", "Promise.then", "properties of nodes")


@pytest.mark.parametrize("name", REPLACED)
def test_a_mission_on_a_page_that_replaces_natives_is_certified(
    chromium: Browser, site: PageSite, tmp_path: Path, name: str
) -> None:
    """It is recorded, and replayed twice, like any other."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as recorded:
        recorded.page.goto(put_hostile(site, name))
        recorded.page.click("#go")

    assert recorded.mission.report is not None
    assert recorded.mission.report.status == "certified"


def test_an_action_that_an_endless_loop_cuts_off_is_recorded_as_that(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Its replay ends by the deadline of the action, without a verdict."""
    with recorded_page(chromium, tmp_path / "b", QUICK) as recorded:
        recorded.page.goto(put_hostile(site, "an endless loop at a click"))
        with pytest.raises(Error, match="Timeout"):
            recorded.page.click("#go", timeout=2_000)

    click = steps(tmp_path / "b")[1]
    assert click.action.type == "click"
    assert isinstance(click.result, Failed)
    assert click.result.code == "page-unresponsive"

    engine = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run"))
    with pytest.raises(PageUnresponsiveError, match="a script keeps it busy"):
        engine.replay(tmp_path / "b")
