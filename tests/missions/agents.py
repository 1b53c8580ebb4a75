"""The order of tests/missions/foreign.py, as scripts that drive Playwright directly."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from playwright.sync_api import Error

from tests.missions.shop import SHOP_PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Page as AsyncPage
    from playwright.sync_api import Page


def order(page: Page, url: str) -> None:
    """Order a banana."""
    page.goto(f"{url}/product/1")
    page.get_by_role("button", name="Add to cart").click()
    page.locator("#cart-badge", has_text="1").wait_for()
    page.goto(f"{url}/login?next=/checkout")
    page.get_by_label("User name").fill("ada")
    page.locator("#password").fill(SHOP_PASSWORD)
    page.keyboard.press("Enter")
    page.locator("#name").fill("Ada Lovelace")
    page.locator("#address").fill("12 St James's Square")
    page.select_option("#delivery", "express")
    page.check("#pay-invoice")
    page.locator("#date").fill("2026-12-24")
    page.get_by_role("button", name="Place order").click()
    page.wait_for_url("**/order/*")


def buy(page: Page, url: str) -> None:
    """Search for a banana, add it to the cart and view the cart, in two pages."""
    page.goto(f"{url}/")
    page.get_by_label("Search").fill("banana")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Banana").first.click()
    page.get_by_label("Quantity").fill("2")
    page.locator("#add-to-cart").click()
    page.locator("#cart-badge", has_text="2").wait_for()
    page.locator("#cart-link").click()
    page.locator("#cart-lines tr[data-id]").first.wait_for()
    page.once("dialog", lambda dialog: dialog.accept("SAVE10"))
    page.click("#tab-coupon")
    page.click("#enter-coupon")
    with page.expect_popup() as opened:
        page.click("#open-help")
    with suppress(Error):  # the page may close before the click is acknowledged
        opened.value.click("#close-help")


async def order_asynchronously(page: AsyncPage, url: str) -> None:
    """Order a banana with the asynchronous API."""
    await page.goto(f"{url}/product/1")
    await page.click("#add-to-cart")
    await page.locator("#cart-badge", has_text="1").wait_for()
    await page.goto(f"{url}/login?next=/checkout")
    await page.fill("#username", "ada")
    field = await page.wait_for_selector("#password")
    if field is not None:
        await field.type(SHOP_PASSWORD)
    await page.click("#sign-in")
    await page.wait_for_url("**/checkout")
    await page.locator("#name").press_sequentially("Ada Lovelace")
    await page.fill("#address", "12 St James's Square")
    await page.select_option("#delivery", index=1)
    await page.locator("#pay-invoice").check()
    await page.fill("#date", "2026-12-24")
    await page.click("#place-order")
    await page.wait_for_url("**/order/*")


SCRIPT = """
import sys
from playwright.sync_api import sync_playwright
from tests.missions.agents import order

with sync_playwright() as playwright:
    browser = playwright.chromium.launch()
    order(browser.new_page(), sys.argv[1])
    browser.close()
"""

TEST = """
import os
from tests.missions.agents import order

def test_order(page):
    order(page, os.environ["SHOP"])
"""


def write_script(folder: Path) -> Path:
    """Write the mission as a script that takes the shop's address as an argument."""
    path = folder / "order.py"
    path.write_text(SCRIPT)
    return path


def write_test(folder: Path) -> Path:
    """Write the mission as a pytest test that reads the shop's address from its environment."""
    path = folder / "test_order.py"
    path.write_text(TEST)
    return path
