"""Missions of plain Playwright scripts on the ordinary sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from playwright.sync_api import expect

from tests.sites.ordinary import serve_board, serve_helpdesk, serve_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from playwright.sync_api import Page

    from tests.sites.ordinary import OrdinarySite

HELPDESK_PASSWORD: Final = "never-mind-42"


def report_a_fault(page: Page, url: str) -> None:
    """Sign in, read the tickets, write one, comment on it and close it."""
    page.goto(f"{url}/login")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(HELPDESK_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#summary")).to_have_text("3 tickets are open.")
    page.get_by_role("link", name="New ticket").click()
    page.get_by_label("Subject").fill("Window is stuck")
    page.get_by_label("Priority").select_option("high")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("Comment").fill("It rains in.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#comments li")).to_have_count(1)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Close ticket").click()
    expect(page.locator("#state")).to_have_text("closed")


def deploy_a_service(page: Page, url: str) -> None:
    """Sign in, deploy a service, wait for its approval and write a message."""
    page.goto(url)
    page.get_by_label("User").fill("ada")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#presence")).to_have_text("Grace is online")
    page.get_by_label("New version").fill("2.0.0")
    page.get_by_role("button", name="Deploy search").click()
    expect(page.locator("#state")).to_have_text("search 2.0.0 is approved by Barbara.")
    page.get_by_label("Message").fill("done")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#messages li")).to_have_text("Grace: done? Yes!")


def order_mugs(page: Page, url: str) -> None:
    """Search, put two mugs into the cart and order them."""
    page.goto(url)
    page.get_by_label("Search").fill("m")
    page.locator("#sort").select_option("price")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="Blue mug").click()
    expect(page.locator("#stock")).to_have_text("12 in stock")
    page.get_by_label("Amount").fill("2")
    page.get_by_role("button", name="Add to cart").click()
    expect(page.locator("#badge")).to_have_text("2")
    page.locator("#cart-link").click()
    expect(page.locator("#total")).to_have_text("15.00 EUR")
    page.get_by_label("Address").fill("12 St James's Square")
    page.get_by_role("button", name="Order").click()
    assert page.locator("#sum").inner_text() == "You pay 15.00 EUR."


ORDINARY: Final[
    Mapping[str, tuple[Callable[..., AbstractContextManager[OrdinarySite]], Callable[[Page, str], None]]]
] = {
    "helpdesk": (serve_helpdesk, report_a_fault),
    "board": (serve_board, deploy_a_service),
    "store": (serve_store, order_mugs),
}
"""The sites with their missions, by name."""
