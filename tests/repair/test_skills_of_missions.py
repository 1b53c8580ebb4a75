"""A mission with skills is repaired like any other: skills read the current page and must find what they found."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from eikon_engine.record import open_recorder
from eikon_engine.repair.options import RepairOptions
from eikon_engine.repair.repair import repair_trace
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.masks import Mask, SelectorPart
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.missions.shop import css
from tests.repair.test_five_missions import clicked

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

PAGE: Final = (
    "<!doctype html><title>Prices</title><table><tr><th>Fruit<th>Price<tr><td>Plum<td>{price}</table>"
    "<form method=post action=/buy><button id={button}>Buy it</button></form>"
)
MASK: Final = Mask(name="prices", reason="they change daily", part=SelectorPart(selector="table"))


async def _buy(folder: Path, url: str) -> None:
    async with open_recorder(folder, mission_text="Buy", mission_id="buy") as mission, mission.subgoal("Buy"):
        await mission.perform(Navigate(url=url))
        await mission.skill("extract_table", parameters={"selector": "table"})
        await mission.perform(Click(target=css("#buy")))


def test_a_skill_must_return_its_recorded_output_on_the_live_site(tmp_path: Path) -> None:
    """A mask hides a changed price from the page comparison but not from skills; accepting it is reported."""
    bundle, options = tmp_path / "buy", RepairOptions(runs=2, output=tmp_path / "repaired")
    with serve_pages() as site:
        site.answers["/"] = Answer(body=PAGE.format(price=3, button="buy"))
        site.answers["/buy"] = Answer(body="<!doctype html><title>Done</title><p>Thank you</p>")
        asyncio.run(_buy(bundle, site.url))
        write_trace(read_trace(bundle).model_copy(update={"masks": (MASK,)}), bundle / TRACE_FILE)
        site.answers["/"] = Answer(body=PAGE.format(price=4, button="purchase"))

        refused = asyncio.run(repair_trace(bundle, options))
        taken = asyncio.run(repair_trace(bundle, replace(options, accept_baseline=True)))

    assert refused.status == "refused"
    assert "skill extract_table (" in refused.refusal
    assert '{"Fruit": "Plum", "Price": "4"}' in refused.refusal.partition(", got ")[2]
    assert (taken.status, taken.refusal) == ("repaired", "")
    assert [each.partition(" (")[0] for each in taken.accepted] == ["skill extract_table"]
    repaired = read_trace(tmp_path / "repaired")
    (usage,) = repaired.subgoal_traces[0].skills_used
    assert isinstance(usage.output, dict)
    assert usage.output["rows"] == [{"Fruit": "Plum", "Price": "4"}]
    assert repaired.masks == (MASK,)
    assert clicked(tmp_path / "repaired").selector == "#purchase"
