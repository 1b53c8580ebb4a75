"""Wrong repairs that earlier versions certified must be refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eikon_engine.record import open_recorder
from eikon_engine.repair.options import RepairOptions
from eikon_engine.repair.repair import repair_trace
from eikon_engine.trace.actions import Click, Navigate
from tests.browser.pages import Answer, serve_pages
from tests.missions.shop import css

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.repair.report import RepairReport
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

ORDER = "<h1>Cart</h1><form method=post action={action}><button id=go>Order</button></form>"
LOGIN = "<h1>Cart</h1><form method=post action=/enter><input type=password><button id=go>Order</button></form>"
FOLLOW = "<h1>People</h1><button id={who} onclick=\"this.textContent='Following {who}'\">Follow {who}</button>"

STOCK = """<h1>Shop</h1><p id=out></p><button id={id} onclick="out.textContent='Added'; caches.open('{what}');
const asked = indexedDB.open('shop');
asked.onupgradeneeded = () => asked.result.createObjectStore('{what}')">Add</button>"""


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Run a site of one page and the targets of its button."""
    with serve_pages() as served:
        yield served


def put(site: PageSite, path: str, body: str) -> None:
    """Serve a page."""
    site.answers[path] = Answer(body=f"<!doctype html><title>Page</title>{body}")


async def _click(folder: Path, url: str, selector: str) -> None:
    async with open_recorder(folder, mission_text="Click it", mission_id="click") as mission, mission.subgoal("Do it"):
        await mission.perform(Navigate(url=url))
        await mission.perform(Click(target=css(selector)))


def recorded(site: PageSite, folder: Path, selector: str) -> Path:
    """Record a click on the unchanged page."""
    asyncio.run(_click(folder, site.url, selector))
    return folder


def repair(bundle: Path, **chosen: object) -> RepairReport:
    """Attempt a repair, and keep the result."""
    options = replace(RepairOptions(runs=2, output=bundle.with_name("mended")), **chosen)  # type: ignore[arg-type] # of the test
    return asyncio.run(repair_trace(bundle, options))


def test_a_similar_element_with_another_effect_is_refused(site: PageSite, tmp_path: Path) -> None:
    """An effect on only the element itself is compared too (`test_same_effect.py` has the other cases)."""
    put(site, "/", FOLLOW.format(who="Bob"))
    bundle = recorded(site, tmp_path / "click", "#Bob")
    put(site, "/", FOLLOW.format(who="Rob"))

    report = repair(bundle)

    assert [each.proposer for each in report.repairs] == ["did-you-mean"]
    assert report.status == "refused"
    assert "got text 'Following Rob'" in report.refusal
    assert not (tmp_path / "mended").exists()


def test_an_element_that_creates_another_database_is_refused(site: PageSite, tmp_path: Path) -> None:
    """Recordings have no names of databases and caches, so the old recording is replayed to get them."""
    put(site, "/", STOCK.format(id="go", what="bread"))
    bundle = recorded(site, tmp_path / "click", "#go")
    put(site, "/", STOCK.format(id="go2", what="wine"))

    report = repair(bundle)

    made = (f'{kind} "{what}"{place}' for kind, place in (("cache", ""), ("store", ' of IndexedDB "shop"'))
            for what in ("bread", "wine"))  # fmt: skip
    assert report.status == "refused"
    assert f"stores different data in the browser: {', '.join(made)}" in report.refusal


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"/": LOGIN}, "the cause is session-expired"),
        (
            {"/go": "<h1>Something went wrong</h1><p>Call us.</p>"},
            "the cause is site-error (the page shows 'Some",
        ),
        (
            {"/": ORDER.format(action="/trash"), "/trash": "<p>Thank you</p>"},
            "The mission would have a different effect",
        ),
    ],
    ids=["a login", "an error", "another deed"],
)
def test_accept_baseline_refuses_logins_errors_and_other_requests(
    site: PageSite, tmp_path: Path, changed: dict[str, str], reported: str
) -> None:
    """Pages with status 200 that would replay forever as a baseline are refused, even with the flag."""
    put(site, "/", ORDER.format(action="/go"))
    put(site, "/go", "<p>Thank you</p>")
    put(site, "/enter", "<p>Thank you</p>")
    bundle = recorded(site, tmp_path / "click", "#go")
    for path, body in changed.items():
        put(site, path, body)

    report = repair(bundle, accept_baseline=True)

    assert report.status == "refused"
    assert reported in report.refusal
    assert not (tmp_path / "mended").exists()
