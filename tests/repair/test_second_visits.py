"""A stateful site is reset before each visit, or the refusal explains the difference."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import FixError, UsageError
from eikon_engine.record import open_recorder
from eikon_engine.repair.options import RepairOptions
from eikon_engine.repair.repair import repair_trace
from eikon_engine.repair.site_reset import reset_site
from eikon_engine.trace.actions import Click, Navigate
from tests.browser.pages import Answer, serve_pages
from tests.error_codes import has_code
from tests.missions.shop import css

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

ASK = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()"
FORM = "<!doctype html><title>Cart</title><form method=post action=/order><button id={name}>Order</button></form>"


@pytest.fixture
def counting() -> Iterator[PageSite]:
    """Run a site that counts its orders until it is reset."""
    orders = [0]

    def order(_asked: Asked) -> Answer:
        orders[0] += 1
        return Answer(body=f"<!doctype html><title>Order</title><p>Order number {orders[0]}</p>")

    def forget(_asked: Asked) -> Answer:
        orders[0] = 0
        return Answer(body="forgotten")

    with serve_pages() as site:
        site.answers.update({"/": Answer(body=FORM.format(name="go")), "/order": order, "/forget": forget})
        yield site


async def _order(folder: Path, url: str) -> None:
    async with open_recorder(folder, mission_text="Order", mission_id="order") as mission, mission.subgoal("Order"):
        await mission.perform(Navigate(url=url))
        await mission.perform(Click(target=css("#go")))


def test_a_mission_that_orders_needs_a_reset_of_the_site(counting: PageSite, tmp_path: Path) -> None:
    """Without a reset command the second order has another number and the repair is refused; with one, it succeeds."""
    asyncio.run(_order(tmp_path / "order", counting.url))
    counting.answers["/"] = Answer(body=FORM.format(name="send"))
    options = RepairOptions(runs=2, output=tmp_path / "mended")

    kept = asyncio.run(repair_trace(tmp_path / "order", options))
    command = f"'{sys.executable}' -c '{ASK}' {counting.url}/forget"
    again = asyncio.run(repair_trace(tmp_path / "order", replace(options, reset_command=command)))

    assert kept.status == "refused"
    assert f"The mission writes to the site (POST {counting.url}/order" in kept.refusal
    assert "--reset-cmd COMMAND" in kept.refusal
    assert (again.status, again.refusal) == ("repaired", "")
    assert counting.paths()[-5:] == ("GET /forget", "GET /", "GET /forget", "GET /", "POST /order")


def test_a_site_that_cannot_be_reset_is_not_visited(tmp_path: Path) -> None:
    """The error names the command and its last output, without any secret."""
    options = RepairOptions(reset_command="echo no such host hunter2 >&2; exit 7", secrets={"WORD": "hunter2"})

    with pytest.raises(FixError, match="exit status 7: no such host", check=has_code("fix-refused")) as refused:
        reset_site(options)

    assert "hunter2" not in refused.value.message
    with pytest.raises(UsageError, match="visits no site"):
        asyncio.run(repair_trace(tmp_path, RepairOptions(reset_command="true", against="recording")))
