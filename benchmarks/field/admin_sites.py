"""Admin sites generated from models."""

from __future__ import annotations

from playwright.async_api import Page as AsyncPage
from playwright.async_api import expect as async_expect
from playwright.sync_api import Page, expect

from benchmarks.field.application import Application, script


def create_an_order(page: Page, url: str) -> None:
    """Create an order for a customer, and find it."""
    page.goto(f"{url}/admin/")
    page.get_by_role("link", name="Order").click()
    page.get_by_role("link", name="Create").click()
    page.get_by_label("Item").fill("Damson")
    page.get_by_label("Amount").fill("7")
    page.get_by_label("Is Paid").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Record was successfully created.")).to_be_visible()
    page.get_by_role("textbox", name="item").fill("dams")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("link", name="List (1)")).to_be_visible()
    assert "7" in page.get_by_role("row", name="Damson").inner_text()


async def edit_in_the_list(page: AsyncPage, url: str) -> None:
    """Sort, edit a cell in place, and delete an order."""
    page.on("dialog", lambda dialog: dialog.accept())
    await page.goto(f"{url}/admin/order/")
    await page.get_by_role("link", name="Amount").click()
    await page.get_by_role("link", name="Banana").click()
    await page.locator(".editable-input input").fill("Blackberry")
    await page.locator(".editable-submit").click()
    await async_expect(page.get_by_role("link", name="Blackberry")).to_be_visible()
    await page.get_by_role("row", name="Cherry").get_by_role("button").click()
    await async_expect(page.get_by_text("Record was successfully deleted.")).to_be_visible()
    assert await page.get_by_role("row").count() == 3


def add_a_customer(page: Page, url: str) -> None:
    """Add a customer, and look at the details."""
    page.goto(f"{url}/admin/")
    page.get_by_role("link", name="Customers").click()
    page.get_by_role("link", name="New Customer").click()
    page.get_by_role("textbox", name="Name").fill("Edsger")
    page.get_by_role("textbox", name="City").fill("Austin")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("row", name="Edsger").get_by_role("link", name="View").click()
    expect(page.get_by_role("cell", name="Austin")).to_be_visible()
    page.get_by_role("link", name="Go Back").click()
    expect(page.get_by_role("row")).to_have_count(4)


async def delete_a_customer(page: AsyncPage, url: str) -> None:
    """Search, change a city, and delete another customer in a dialog."""
    await page.goto(f"{url}/admin/customer/list")
    await page.get_by_placeholder("Search: name").fill("ada")
    await page.get_by_role("button", name="Search").click()
    await async_expect(page.get_by_role("row")).to_have_count(2)
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_role("textbox", name="City").fill("Paris")
    await page.get_by_role("button", name="Save", exact=True).click()
    await async_expect(page.get_by_role("cell", name="Paris")).to_be_visible()
    await page.get_by_role("link", name="Customers").click()
    await page.get_by_role("row", name="Grace").get_by_role("link", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await async_expect(page.get_by_role("row", name="Grace")).to_have_count(0)


APPLICATIONS = (
    Application(
        name="flask-admin",
        kind="admin",
        python=("flask-admin==2.2.1", "flask-sqlalchemy==3.1.1", "wtforms==3.3.2"),
        start=script("flask_admin_app.py"),
        ready="/admin/",
        missions=(create_an_order, edit_in_the_list),
    ),
    Application(
        name="sqladmin",
        kind="admin",
        python=("sqladmin==0.32.0", "uvicorn==0.54.0", "aiosqlite==0.22.1", "greenlet==3.5.6"),
        start=script("sqladmin_app.py"),
        ready="/admin/",
        missions=(add_a_customer, delete_a_customer),
    ),
)
