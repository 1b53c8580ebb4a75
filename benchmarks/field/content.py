"""Wikis, issue trackers and comments."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.async_api import Page as AsyncPage
from playwright.async_api import expect as async_expect
from playwright.sync_api import Page, expect

from benchmarks.field.application import Application, Place


def _start_trac(place: Place) -> Sequence[str]:
    folder = str(place.home / "env")
    place.run(place.script("trac-admin"), folder, "initenv", "Garden", "sqlite:db/trac.db")
    place.run(place.script("trac-admin"), folder, "permission", "add", "anonymous", "TRAC_ADMIN")
    return [place.script("tracd"), "-s", "--hostname", "127.0.0.1", "-p", str(place.port), folder]


def file_a_ticket(page: Page, url: str) -> None:
    """File a ticket, preview it, and comment on it."""
    page.goto(url)
    page.get_by_role("link", name="New Ticket").click()
    page.get_by_label("Summary").fill("The gate squeaks")
    page.get_by_label("Description").fill("Since '''Monday'''.")
    page.get_by_label("Priority").select_option("minor")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#ticket").get_by_text("Monday")).to_be_visible()
    page.get_by_role("button", name="Create ticket").click()
    expect(page.get_by_role("heading", name="The gate squeaks")).to_be_visible()
    page.locator("#comment").fill("Oil helps.")
    page.get_by_role("button", name="Submit changes").click()
    expect(page.get_by_text("Oil helps.").first).to_be_visible()
    page.get_by_role("link", name="View Tickets").click()
    page.get_by_role("link", name="Active Tickets").first.click()
    expect(page.get_by_role("link", name="The gate squeaks").first).to_be_visible()


async def write_a_page(page: AsyncPage, url: str) -> None:
    """Write a wiki page, change it, and compare the versions."""
    await page.goto(f"{url}/wiki/Roses")
    await page.get_by_role("button", name="Create this page").click()
    await page.locator("#text").fill("= Roses =\n * red\n")
    await page.get_by_role("button", name="Submit changes").first.click()
    await async_expect(page.get_by_role("heading", name="Roses")).to_be_visible()
    await page.get_by_role("button", name="Edit this page").click()
    await page.locator("#text").fill("= Roses =\n * red\n * white\n")
    await page.get_by_role("button", name="Submit changes").first.click()
    await page.get_by_role("link", name="History").click()
    await page.get_by_role("button", name="View changes").first.click()
    await async_expect(page.get_by_text("white").first).to_be_visible()
    await page.get_by_role("link", name="Timeline").click()
    await async_expect(page.get_by_role("link", name="Roses").first).to_be_visible()


def _start_tiddlywiki(place: Place) -> Sequence[str]:
    command, folder = str(place.node_modules / ".bin" / "tiddlywiki"), str(place.home / "wiki")
    place.run(command, folder, "--init", "server")
    return [command, folder, "--listen", f"port={place.port}", "host=127.0.0.1"]


def write_a_tiddler(page: Page, url: str) -> None:
    """Write a tiddler, tag it, and find it."""
    page.goto(url)
    page.get_by_role("button", name="new tiddler").click()
    page.locator("input.tc-titlebar").fill("Tomatoes")
    page.frame_locator("iframe").get_by_placeholder("Type the text for this tiddler").fill("Water them ''daily''.")
    page.get_by_placeholder("tag name").fill("garden")
    page.get_by_role("button", name="add", exact=True).first.click()
    page.get_by_role("button", name="Confirm changes to this tiddler").click()
    expect(page.get_by_role("heading", name="Tomatoes")).to_be_visible()
    expect(page.locator("strong", has_text="daily")).to_be_visible()
    page.get_by_role("searchbox").fill("water")
    expect(page.locator(".tc-search-results").get_by_role("link", name="Tomatoes")).to_be_visible()
    expect(page.get_by_role("button", name="Server status")).to_be_visible()


async def arrange_tiddlers(page: AsyncPage, url: str) -> None:
    """Open the control panel, look at recent changes, and close all."""
    await page.goto(url)
    await page.get_by_role("button", name="control panel").click()
    await async_expect(page.get_by_role("heading", name="$:/ControlPanel")).to_be_visible()
    await page.get_by_role("tab", name="Appearance").click()
    await page.get_by_role("tab", name="Recent").click()
    await page.get_by_role("tab", name="More").click()
    await page.get_by_role("tab", name="Tags").click()
    await page.get_by_role("tab", name="Open").click()
    await page.get_by_role("button", name="close all").click()
    await async_expect(page.get_by_role("article")).to_have_count(0)


APPLICATIONS = (
    Application(
        name="trac",
        kind="issues",
        python=("trac==1.6", "setuptools==75.8.0"),
        start=_start_trac,
        missions=(file_a_ticket, write_a_page),
    ),
    Application(
        name="tiddlywiki",
        kind="wiki",
        npm=("tiddlywiki@5.4.1",),
        start=_start_tiddlywiki,
        missions=(write_a_tiddler, arrange_tiddlers),
    ),
)
