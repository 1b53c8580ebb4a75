"""A person performs missions in the shop; the recordings are certified, and replay without the shop."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Error

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.trace.actions import Action, Fill, SecretRef
from tests.missions.shop import SHOP_PASSWORD
from tests.record.interactive.person import actions_of, begin_subgoal, record, type_into
from tests.replay.conftest import replay
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Dialog, Page

pytestmark = pytest.mark.browser

TWICE = CertifyOptions(runs=2, parallel=2)


def kinds(actions: list[Action]) -> list[str]:
    """Return the types of the actions."""
    return [action.type for action in actions]


def is_faithful(bundle: Path, artifacts: Path) -> bool:
    """Replay sealed, with the password."""
    return replay(bundle, artifacts).verdict == "faithful"


async def order(page: Page) -> None:
    """Order a banana, as in `tests.missions.foreign`."""
    await page.locator("#add-to-cart").click()
    await page.wait_for_function("document.querySelector('#cart-badge').textContent === '1'")
    await begin_subgoal(page, "Sign in")
    await page.goto(page.url.replace("/product/1", "/login?next=/checkout"))
    await type_into(page, "#username", "ada")
    await page.keyboard.press("Tab")
    await page.keyboard.type(SHOP_PASSWORD)
    await page.keyboard.press("Enter")
    await page.locator("#name").wait_for()
    await begin_subgoal(page, "Place the order")
    await type_into(page, "#name", "Ada Lovelace")
    await type_into(page, "#address", "12 St James's Square")
    await page.locator("#address").press("Enter")
    await page.keyboard.type("London")
    await page.locator("#delivery").focus()
    await page.keyboard.press("ArrowDown")
    await page.locator("label", has_text="Invoice").click()
    await page.locator("#place-order").click()
    await page.wait_for_function("!document.querySelector('#place-order')")


def test_an_interactive_order_is_certified_and_replays_sealed(tmp_path: Path) -> None:
    """Subgoals, fields and keys are recorded, the password is in no file, and the shop may be stopped."""
    with serve_shop() as shop:
        report = record(tmp_path / "order", f"{shop.url}/product/1", order, certify=TWICE)

    actions = actions_of(tmp_path / "order")
    assert kinds(actions) == [
        *("navigate", "click", "navigate", "fill", "press", "fill", "press"),
        *("fill", "fill", "select_option", "check", "click"),
    ]
    assert [action.text for action in actions if isinstance(action, Fill)] == [
        "ada",
        SecretRef(secret="PASSWORD"),
        "Ada Lovelace",
        "12 St James's Square\nLondon",
    ]
    assert list(report.counts.items()) == [("Order a banana", 2), ("Sign in", 5), ("Place the order", 5)]
    assert report.weak_targets == ()
    assert report.certification is not None
    assert (report.certification.status, report.exit_status) == ("certified", 0), report.certification.findings
    assert not any(SHOP_PASSWORD.encode() in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert is_faithful(tmp_path / "order", tmp_path / "replay")


async def shop_around(page: Page) -> None:
    """Use the shop's other features: a download, a frame, a shadow root, dialogs, the history."""
    page.on("dialog", _answer)
    await page.keyboard.press("/")
    await page.goto(f"{page.url.partition('/prices')[0]}/prices")
    await page.locator("#sample-invoice").click()
    await page.goto(page.url.replace("/prices", "/product/1"))
    await page.locator('rating-stars .star[data-stars="4"]').click()
    await page.locator("#gift-note").dblclick()
    await page.keyboard.type("For Bob")
    await page.keyboard.press("Enter")
    reviews = page.frame_locator("#reviews")
    await reviews.locator("#author").click()
    await page.keyboard.type("Ada")
    await reviews.locator("#review").click()
    await page.keyboard.type("Sweet & ripe")
    await reviews.locator("#post-review").click()
    await page.locator("#add-to-cart").click()
    await page.wait_for_function("document.querySelector('#cart-badge').textContent === '1'")
    await page.locator("#cart-link").click()
    await page.locator("#cart-lines .remove").click()
    await page.locator("#tab-coupon").click()
    await page.locator("#enter-coupon").click()
    await begin_subgoal(page, "Leave")  # later actions are not caused by the previous click
    await page.go_back()
    await page.reload()


async def _answer(dialog: Dialog) -> None:
    if dialog.type == "prompt":
        await dialog.accept("SAVE10")
    else:
        await dialog.dismiss()


def test_the_shop_features_are_recorded(tmp_path: Path) -> None:
    """Downloads, frames, shadow roots, dialogs and the history become actions that replay sealed."""
    with serve_shop() as shop:
        report = record(tmp_path / "shop", f"{shop.url}/prices", shop_around, certify=TWICE)

    actions = actions_of(tmp_path / "shop")
    assert kinds(actions) == [
        *("navigate", "press", "navigate", "download", "navigate", "click", "double_click", "fill", "press"),
        *("fill", "fill", "click", "click", "click", "click", "click", "answer_dialog", "click"),
        *("go_back", "reload"),
    ]
    assert [action.target.frames for action in actions if isinstance(action, Fill)] == [(), *[("#reviews",)] * 2]
    assert report.certification is not None
    assert report.exit_status == 0, report.certification.findings
    assert is_faithful(tmp_path / "shop", tmp_path / "replay")


async def ask_for_help(page: Page) -> None:
    """Open a popup and close it from inside."""
    async with page.expect_popup() as opening:
        await page.locator("#open-help").click()
    popup = await opening.value
    await popup.wait_for_load_state("networkidle")  # a person needs that time to read it
    async with popup.expect_event("close"):
        with suppress(Error):  # the click closes its own page
            await popup.locator("#close-help").click()


def test_a_popup_is_awaited_before_actions_in_it(tmp_path: Path) -> None:
    """An action in a popup that a click opened follows a switch to the popup, with the number of its page.

    It is not certified: both clients of the browser hold the popup, and the second one releases it too early.
    """
    with serve_shop() as shop:
        record(tmp_path / "help", f"{shop.url}/prices", ask_for_help)

    actions = actions_of(tmp_path / "help")
    assert [(action.type, action.page) for action in actions] == [
        *(("navigate", 0), ("click", 0), ("switch_page", 1), ("click", 1)),
    ]
