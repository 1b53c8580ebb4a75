"""Missions in our own shop, as an agent would drive them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import ActionError
from eikon_engine.trace.actions import (
    AnswerDialog,
    Assert,
    AssertText,
    Check,
    Click,
    Download,
    Fill,
    Navigate,
    Press,
    Screenshot,
    SelectOption,
    SelectorCondition,
    SetInputFiles,
    SwitchPage,
    TypeText,
    WaitFor,
)
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.record import MissionRecorder

SHOP_PASSWORD = "correct-horse-battery"


def css(selector: str, *frames: str) -> Target:
    """Build a target from a selector and the frames that lead to it."""
    return Target(selector=selector, frames=frames)


async def buy_a_banana(mission: MissionRecorder, url: str) -> None:
    """Compare prices, find a banana, add it to the cart, view the cart: four subgoals, no sign-in."""
    async with mission.subgoal("Compare the prices", subgoal_id="compare_prices"):
        await mission.perform(Navigate(url=f"{url}/prices"))
        prices = await mission.skill("extract_table", parameters={"selector": "#price-table"})
        mission.extraction("prices", prices)
        await mission.perform(Download(target=css("#sample-invoice")))
    async with mission.subgoal("Find a banana", subgoal_id="find_banana"):
        await mission.perform(Navigate(url=f"{url}/"))
        await mission.perform(Press(key="/"))
        await mission.perform(TypeText(target=css("#search"), text="banana"))
        await mission.perform(Press(target=css("#search"), key="Enter"))
        await mission.skill("extract_listing", parameters={"selector": "article.card"})
        await mission.perform(Click(target=css("article.card h2 a")))
    async with mission.subgoal("Put it into the cart", subgoal_id="add_to_cart"):
        await mission.perform(Fill(target=css("#quantity"), text="3"))
        await mission.perform(Check(target=css("#gift")))
        await mission.perform(Check(target=css("#wrap-green")))
        await mission.perform(Click(target=css('rating-stars .star[data-stars="4"]')))
        await mission.perform(Fill(target=css("#author", "#reviews"), text="Ada"))
        await mission.perform(Fill(target=css("#review", "#reviews"), text="Sweet & ripe"))
        await mission.perform(Click(target=css("#post-review", "#reviews")))
        await mission.perform(Click(target=css("#add-to-cart")))
        await mission.perform(Assert(expectation=AssertText(target=css("#cart-badge"), text="3")))
    async with mission.subgoal("Look at the cart", subgoal_id="check_cart"):
        await mission.perform(Click(target=css("#cart-link")))
        await mission.perform(WaitFor(condition=SelectorCondition(target=css("#cart-lines tr[data-id]"))))
        await mission.perform(AnswerDialog(accept=False))
        await mission.perform(Click(target=css("#cart-lines .remove")))
        await mission.perform(Click(target=css("#tab-coupon")))
        await mission.perform(AnswerDialog(accept=True, text="SAVE10"))
        await mission.perform(Click(target=css("#enter-coupon")))
        await mission.perform(Click(target=css("#open-help")))
        await mission.perform(SwitchPage(page=1))
        await mission.perform(Click(page=1, target=css("#close-help")))
        await mission.perform(Screenshot())


async def order(mission: MissionRecorder, url: str) -> None:
    """Add a banana to the cart, sign in and place an order."""
    async with mission.subgoal("Look at the prices", subgoal_id="prices"):
        await mission.perform(Navigate(url=f"{url}/prices"))
        await mission.skill("extract_table", parameters={"selector": "#price-table"})
    async with mission.subgoal("Put a banana into the cart", subgoal_id="add_to_cart"):
        await mission.perform(Navigate(url=f"{url}/product/1"))
        await mission.perform(Click(target=css("#add-to-cart")))
    async with mission.subgoal("Sign in", subgoal_id="sign_in"):
        await mission.perform(Navigate(url=f"{url}/login?next=/checkout"))
        await mission.perform(Fill(target=css("#username"), text="ada"))
        await mission.perform(Fill(target=css("#password"), text=SHOP_PASSWORD))
        await mission.perform(Click(target=css("#sign-in")))
    async with mission.subgoal("Place the order", subgoal_id="check_out"):
        await mission.perform(Fill(target=css("#name"), text="Ada Lovelace"))
        await mission.perform(Fill(target=css("#address"), text="12 St James's Square\nLondon"))
        await mission.perform(SelectOption(target=css("#delivery"), options=("express",)))
        await mission.perform(Check(target=css("#pay-invoice")))
        await mission.perform(Fill(target=css("#date"), text="2026-12-24"))
        await mission.perform(Click(target=css("#place-order")))


async def look_for_a_voucher(mission: MissionRecorder, url: str) -> None:
    """Fail in the middle of the mission: the shop has no voucher button."""
    async with mission.subgoal("Open the catalogue", subgoal_id="open_catalogue"):
        await mission.perform(Navigate(url=f"{url}/"))
    try:
        async with mission.subgoal("Redeem a voucher", subgoal_id="redeem_voucher"):
            await mission.perform(Click(target=css("#redeem-voucher"), timeout_ms=1000))
    except ActionError:
        mission.finish("failed")


async def import_a_file(mission: MissionRecorder, url: str, file: Path) -> None:
    """Upload a file."""
    async with mission.subgoal("Import a file", subgoal_id="import"):
        await mission.perform(Navigate(url=f"{url}/import"))
        upload = mission.attach_file(file)
        await mission.perform(SetInputFiles(target=css("#file"), files=(upload,)))
        await mission.perform(Click(target=css("#upload")))
