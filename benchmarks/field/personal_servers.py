"""Servers that people run for themselves: calendars, accounts, processes."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.async_api import Page as AsyncPage
from playwright.async_api import expect as async_expect
from playwright.sync_api import Page, expect

from benchmarks.field.application import Application, Place

_PASSWORD = "correct-horse-battery"


def _start_radicale(place: Place) -> Sequence[str]:
    return [
        *(place.python, "-m", "radicale", "--server-hosts", f"127.0.0.1:{place.port}", "--auth-type", "none"),
        *("--storage-filesystem-folder", str(place.home / "collections")),
    ]


def create_a_calendar(page: Page, url: str) -> None:
    """Sign in, create a calendar, and rename it."""
    page.goto(url)
    page.get_by_placeholder("Username").fill("ada")
    page.get_by_placeholder("Password").fill(_PASSWORD)
    page.get_by_role("button", name="Next").click()
    page.get_by_title("Create a new addressbook or calendar").click()
    page.locator("#create_displayname").fill("Birthdays")
    page.locator("#create_description").fill("Of the family")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("Birthdays")).to_be_visible()
    page.get_by_role("article").filter(has_text="Birthdays").hover()
    page.get_by_role("article").filter(has_text="Birthdays").get_by_title("Edit", exact=True).click()
    page.locator("#displayname").fill("Anniversaries")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Anniversaries")).to_be_visible()


async def upload_contacts(page: AsyncPage, url: str) -> None:
    """Sign in, and upload a file of contacts."""
    card = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:1\r\nFN:Grace\r\nN:Hopper;Grace;;;\r\nEND:VCARD\r\n"
    await page.goto(url)
    await page.get_by_placeholder("Username").fill("grace")
    await page.get_by_placeholder("Password").fill(_PASSWORD)
    await page.keyboard.press("Enter")
    await page.get_by_title("Upload an addressbook or calendar").click()
    await page.locator("input[type=file]").set_input_files(
        {"name": "friends.vcf", "mimeType": "text/vcard", "buffer": card.encode()}
    )
    await page.get_by_role("button", name="Upload").click()
    await async_expect(page.get_by_text("Uploaded Successfully!").filter(visible=True)).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    await async_expect(page.get_by_text("friends").first).to_be_visible()


def _start_fava(place: Place) -> Sequence[str]:
    return [place.script("fava"), str(place.copy("ledger.beancount")), "-H", "127.0.0.1", "-p", str(place.port)]


def book_an_expense(page: Page, url: str) -> None:
    """Add a transaction, and find it in the journal."""
    page.goto(url)
    page.get_by_role("link", name="+", exact=True).click()
    entry = page.get_by_role("dialog")
    entry.get_by_placeholder("Payee").fill("Grocer")
    entry.get_by_placeholder("Narration").fill("Apples")
    entry.get_by_placeholder("Account").nth(0).fill("Expenses:Food")
    entry.get_by_placeholder("Amount").nth(0).fill("3.50 EUR")
    entry.get_by_placeholder("Account").nth(1).fill("Assets:Bank")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Journal").click()
    expect(page.get_by_text("Apples")).to_be_visible()
    page.get_by_role("link", name="Balance Sheet").click()
    expect(page.get_by_role("heading", name="Balance Sheet")).to_be_visible()


async def query_the_ledger(page: AsyncPage, url: str) -> None:
    """Filter the income, go through reports, and run a query."""
    await page.goto(url)
    await page.get_by_placeholder("Time").fill("2026-02")
    await page.keyboard.press("Enter")
    await async_expect(page).to_have_url(f"{url}/household/income_statement/?time=2026-02")
    await page.get_by_role("link", name="Trial Balance").click()
    await async_expect(page.get_by_text("Expenses").first).to_be_visible()
    await page.get_by_role("link", name="Query").click()
    await page.locator(".cm-content").first.click()
    await page.keyboard.type("select account, sum(position) group by account")
    await page.get_by_role("button", name="Submit").click()
    await async_expect(page.get_by_role("cell", name="Expenses:Food")).to_be_visible()


def _start_supervisor(place: Place) -> Sequence[str]:
    return [
        *("env", f"FIELD_PORT={place.port}", place.script("supervisord")),
        *("-c", str(place.copy("supervisord.conf"))),
    ]


def start_a_process(page: Page, url: str) -> None:
    """Start a process, stop another one, and refresh."""
    page.goto(url)
    page.get_by_role("row", name="mailer").get_by_role("link", name="Start").click()
    expect(page.get_by_text("Process mailer started")).to_be_visible()
    page.get_by_role("row", name="worker").get_by_role("link", name="Stop").click()
    expect(page.get_by_text("Process worker stopped")).to_be_visible()
    page.get_by_role("link", name="Refresh").click()
    expect(page.get_by_role("row", name="worker")).to_contain_text("stopped")
    assert "running" in page.get_by_role("row", name="mailer").inner_text()


async def read_a_log(page: AsyncPage, url: str) -> None:
    """Read the log of a process in the window that opens, and restart all."""
    await page.goto(url)
    async with page.expect_popup() as opened:
        await page.get_by_role("link", name="worker", exact=True).click()
    log = await opened.value
    await async_expect(log.get_by_text("ready")).to_be_visible()
    await log.get_by_role("link", name="Refresh").click()
    await async_expect(log.get_by_text("ready")).to_be_visible()
    await log.close()
    await page.get_by_role("link", name="Restart All").click()
    await async_expect(page.get_by_text("All restarted")).to_be_visible()
    await async_expect(page.get_by_role("row", name="mailer")).to_contain_text("running")


APPLICATIONS = (
    Application(
        name="radicale",
        kind="calendar",
        python=("radicale==3.9.0",),
        start=_start_radicale,
        ready="/.web/",
        missions=(create_a_calendar, upload_contacts),
        secrets={"PASSWORD": _PASSWORD},
    ),
    Application(
        name="fava",
        kind="accounts",
        python=("fava==1.30.16", "beancount==3.2.3"),
        start=_start_fava,
        missions=(book_an_expense, query_the_ledger),
    ),
    Application(
        name="supervisor",
        kind="processes",
        python=("supervisor==4.3.0", "setuptools==75.8.0"),
        start=_start_supervisor,
        missions=(start_a_process, read_a_log),
        never_the_same=dict.fromkeys(
            ("start_a_process", "read_a_log"), "the page shows process ids and how long each has been running"
        ),
    ),
)
