"""What else can happen on the way to a repair, on small pages of our own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import UsageError
from eikon_engine.fix.missions.options import RepairOptions
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.serializer import read_trace
from tests.browser.pages import Answer, PageSite, serve_pages
from tests.certify.conftest import ASKS_WITH_KEY
from tests.fix.missions.test_acceptance_of_repairs import repair
from tests.missions.shop import css

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHELF = "<p>Bread, 3.10</p><a id={link} href=/cart>To the cart</a>"
CART = "<p>In the cart: bread</p><form method=post action=/order><button id={button}>Order now</button></form>"
DONE = "<p>Thank you</p>"


def set_pages(site: PageSite, *, link: str = "cart", button: str = "order", status: int = 200) -> None:
    """Serve the pages as they were recorded, or with something changed."""
    pages = {"/": SHELF.format(link=link), "/cart": CART.format(button=button), "/order": DONE}
    for path, body in pages.items():
        code = status if path == "/order" else 200
        site.answers[path] = Answer(body=f"<!doctype html><title>Shop</title>{body}", status=code)


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Run the site as it is recorded."""
    with serve_pages() as pages:
        set_pages(pages)
        yield pages


async def record(folder: Path, url: str, *selectors: str) -> None:
    """Record a click after the other."""
    async with open_recorder(folder, mission_text="Order bread", mission_id="bread") as mission:
        async with mission.subgoal("Order", subgoal_id="order"):
            await mission.perform(Navigate(url=url))
            for selector in selectors:
                await mission.perform(Click(target=css(selector)))


def test_two_steps_are_mended_one_after_the_other(site: PageSite, tmp_path: Path) -> None:
    """A link and a button have other ids: both are found, and one recording proves both."""
    asyncio.run(record(tmp_path / "bundle", site.url, "#cart", "#order"))
    set_pages(site, link="basket", button="send")

    report = repair(tmp_path / "bundle", output=tmp_path / "mended")

    assert (report.status, report.refusal) == ("repaired", "")
    assert [each.proposer for each in report.repairs] == ["did-you-mean", "did-you-mean"]
    trace = read_trace(tmp_path / "mended")
    assert [each.action.target.selector for each in trace.subgoal_traces[0].actions_taken[1:]] == ["#basket", "#send"]
    assert sum("did-you-mean" in line for line in trace.warnings) == 2


def test_an_error_behind_a_lost_button_is_not_recorded_as_right(site: PageSite, tmp_path: Path) -> None:
    """The button is found again, and what it leads to is a 500: refused, with the cause that was hidden."""
    asyncio.run(record(tmp_path / "bundle", f"{site.url}/cart", "#order"))
    set_pages(site, button="send", status=500)

    report = repair(tmp_path / "bundle", output=tmp_path / "mended", accept_baseline=True)

    assert report.status == "refused"
    assert "the cause is site-error" in report.refusal
    assert "500" in report.refusal
    assert not (tmp_path / "mended").exists()


def test_a_part_that_changes_with_each_run_becomes_a_rule(site: PageSite, tmp_path: Path) -> None:
    """A key of the browser's own in a request: a rule, proved on the recording, and on the site."""
    site.answers["/key"] = Answer(body=f"<!doctype html><title>Key</title>{ASKS_WITH_KEY}")
    site.answers["/price"] = Answer(body="310", content_type="text/plain")
    asyncio.run(record(tmp_path / "bundle", f"{site.url}/key"))

    report = repair(tmp_path / "bundle", output=tmp_path / "mended")

    assert (report.status, report.refusal) == ("repaired", "")
    assert [each.proposer for each in report.repairs] == ["volatile-rule"]
    network = read_trace(tmp_path / "mended").network
    assert network is not None
    assert [each.kind for each in network.rules] == ["query_key"]


def test_a_mission_is_mended_on_another_deployment(site: PageSite, tmp_path: Path) -> None:
    """With --base-url the site of today is elsewhere, and the mended mission is one of there."""
    asyncio.run(record(tmp_path / "bundle", f"{site.url}/cart", "#order"))
    with serve_pages() as staging:
        set_pages(staging, button="send")
        report = repair(tmp_path / "bundle", output=tmp_path / "mended", base_urls={site.url: staging.url})

    assert (report.status, report.refusal) == ("repaired", "")
    first = read_trace(tmp_path / "mended").subgoal_traces[0].actions_taken[0].action
    assert isinstance(first, Navigate)
    assert first.url == f"{staging.url}/cart"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"runs": 1}, "at least 2 runs"),
        ({"against": "recording", "base_urls": {"http://a.test": "http://b.test"}}, "visits none"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_read(
    options: dict[str, object], told: str, tmp_path: Path
) -> None:
    """One run proves nothing, and a recording is nowhere else."""
    with pytest.raises(UsageError, match=told):
        repair(tmp_path, RepairOptions(), **options)
