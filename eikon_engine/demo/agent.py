"""The agent of the tutorial: a script that uses Playwright as any other does."""

from __future__ import annotations

from typing import Final

_AGENT: Final = """\
from playwright.sync_api import expect, sync_playwright

from eikon_engine import launch_browser

with sync_playwright() as playwright:
    browser = launch_browser(playwright)
    page = browser.new_page()
    page.goto("{url}")
    page.get_by_label("Search").fill("tea")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Green tea").click()
    page.get_by_role("button", name="Add to cart").click()
    page.get_by_role("link", name="Cart (1)").click()
    print("total:", page.locator("#total").inner_text())
    page.get_by_role("button", name="Place order").click()
    expect(page.get_by_role("status")).to_have_text("packed")
    browser.close()
"""


def render_agent(url: str) -> str:
    """Return a script that orders tea in the shop at this address."""
    return _AGENT.format(url=url)
