"""The first step that diverged has a picture of the recorded and one of the observed page, with outlines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PIL import Image

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.masks import Mask, SelectorPart
from eikon_engine.trace.target import Target
from tests.browser.pages import Answer, serve_pages
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

MARK = (214, 0, 108)
BLUE = (0, 0, 255)
PAGE = """<!doctype html><title>Shop</title><link rel=stylesheet href=/style.css><h1>Shop</h1>
<div style="height: 2000px"></div><p>Tea for <b>3 EUR</b></p><button id=order>Order</button>"""


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve a blue page, of which the lower part is not in view."""
    with serve_pages() as pages:
        pages.answers["/"] = Answer(body=PAGE)
        pages.answers["/style.css"] = Answer(body="body { background: #00f }", content_type="text/css")
        yield pages


@pytest.fixture
def bundle(site: PageSite, tmp_path: Path) -> Path:
    """Record a click."""
    SHARED.run(_click(tmp_path / "bundle", site.url))
    return tmp_path / "bundle"


async def _click(folder: Path, url: str) -> None:
    async with (
        open_recorder(folder, mission_text="Order", mission_id="order") as mission,
        mission.subgoal("Order", subgoal_id="order"),
    ):
        await mission.perform(Navigate(url=f"{url}/"))
        await mission.perform(Click(target=Target(selector="#order")))


def colours(run: Path, outcome: ReplayOutcome, side: str) -> dict[tuple[int, int, int], int]:
    """Return how many pixels of each colour a picture has."""
    artifacts = [each for subgoal in outcome.subgoals for step in subgoal.steps for each in step.artifacts]
    (path,) = (each.path for each in artifacts if each.name == f"page {side}, differences outlined")
    with Image.open(run / path) as picture:
        assert picture.size == (1280, 720)
        return {colour: count for count, colour in picture.convert("RGB").getcolors(1 << 24) or ()}  # type: ignore[misc] # RGB


def test_changed_elements_are_outlined_on_both_pages(bundle: Path, site: PageSite, tmp_path: Path) -> None:
    """The pages have their style sheets and are scrolled to what differs; the site is not asked for more."""
    site.answers["/"] = Answer(body=PAGE.replace("3 EUR", "4 EUR"))

    outcome = replay(bundle, tmp_path / "run", network="live")

    assert [each.code for each in outcome.divergences] == ["dom-changed"]
    for side in ("expected", "observed"):
        seen = colours(tmp_path / "run", outcome, side)
        assert seen[MARK] > 100
        assert seen[BLUE] > 100_000
    assert [each.path for each in site.asked if each.path == "/"] == ["/", "/"]


def test_an_added_element_is_on_the_observed_page_only(bundle: Path, site: PageSite, tmp_path: Path) -> None:
    """The recorded page has nothing to outline."""
    site.answers["/"] = Answer(body=PAGE.replace("<h1>", "<aside>Sale</aside><h1>"))

    outcome = replay(bundle, tmp_path / "run", network="live")

    assert MARK not in colours(tmp_path / "run", outcome, "expected")
    assert MARK in colours(tmp_path / "run", outcome, "observed")


def test_a_lost_target_is_outlined_where_it_was(bundle: Path, site: PageSite, tmp_path: Path) -> None:
    """The recorded page is that before the action, the observed one has the element most like the target."""
    site.answers["/"] = Answer(body=PAGE.replace("id=order", "id=buy"))
    ignored = Mask(name="button", reason="not what is tested", part=SelectorPart(selector="button", attribute="id"))

    outcome = replay(bundle, tmp_path / "run", network="live", masks=(ignored,))

    assert outcome.divergences[0].code == "target-missing"
    for side in ("expected", "observed"):
        assert MARK in colours(tmp_path / "run", outcome, side)
