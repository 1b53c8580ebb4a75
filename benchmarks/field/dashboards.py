"""Dashboards whose servers push what they show."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.async_api import Page as AsyncPage
from playwright.async_api import expect as async_expect
from playwright.sync_api import Page, expect

from benchmarks.field.application import Application, Place, script


def compare_cities(page: Page, url: str) -> None:
    """Choose a city and a kind of chart, and compare with a target, while a timer polls."""
    page.goto(url)
    expect(page.locator("#ticks")).not_to_have_text("Updated 0 times")
    page.get_by_role("button", name="Berlin").click()
    page.get_by_role("option", name="Paris").click()
    expect(page.get_by_role("cell", name="9")).to_be_visible()
    page.get_by_role("radio", name="line").check()
    page.get_by_role("spinbutton").fill("20")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("17 of 20")).to_be_visible()
    expect(page.locator("#graph .gtitle")).to_have_text("Paris")


async def sort_the_months(page: AsyncPage, url: str) -> None:
    """Sort the table, and zoom into the graph with the mouse."""
    await page.goto(url)
    await page.locator(".column-header--sort").nth(1).click()
    await page.locator(".column-header--sort").nth(1).click()
    await async_expect(page.get_by_role("row").nth(1)).to_contain_text("8")
    await page.get_by_role("button", name="Zoom in").click()
    await page.get_by_role("button", name="Reset axes").click()
    graph = await page.locator("#graph .nsewdrag").bounding_box()
    assert graph is not None
    await page.mouse.move(graph["x"] + 50, graph["y"] + 50)
    await page.mouse.down()
    await page.mouse.move(graph["x"] + 200, graph["y"] + 150, steps=4)
    await page.mouse.up()
    await page.get_by_role("button", name="Compare").click()
    await async_expect(page.get_by_text("16 of 10")).to_be_visible()


def keep_tasks(page: Page, url: str) -> None:
    """Add tasks, and do one."""
    page.goto(url)
    for task in ("Sow", "Water", "Harvest"):
        page.get_by_label("Task").fill(task)
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_role("checkbox", name=task)).to_be_visible()
    page.get_by_role("checkbox", name="Water").click()
    expect(page.get_by_text("One is done")).to_be_visible()
    assert page.get_by_text("3 tasks").is_visible()


async def change_the_level(page: AsyncPage, url: str) -> None:
    """Open a tab, move a slider, and choose a colour."""
    await page.goto(url)
    await page.get_by_role("tab", name="Settings").click()
    await async_expect(page.get_by_text("Level 3")).to_be_visible()
    await page.get_by_role("slider").click()
    await async_expect(page.get_by_text("Level 5")).to_be_visible()
    await page.get_by_role("combobox", name="Colour").click()
    await page.get_by_role("option", name="green").click()
    await async_expect(page.get_by_text("Chosen green")).to_be_visible()
    await page.get_by_role("tab", name="Plan").click()
    await async_expect(page.get_by_text("Plan the week")).to_be_visible()


def _start_streamlit(place: Place) -> Sequence[str]:
    return [
        *(place.script("streamlit"), "run", str(place.copy("streamlit_app.py"))),
        *("--server.address", "127.0.0.1", "--server.port", str(place.port)),
        *("--server.headless", "true", "--browser.gatherUsageStats", "false"),
    ]


def compute_a_loan(page: Page, url: str) -> None:
    """Enter an amount and a kind, and compute."""
    page.goto(url)
    expect(page.get_by_text("Nothing computed")).to_be_visible()
    page.get_by_label("Amount").fill("6000")
    page.keyboard.press("Enter")
    page.get_by_role("slider").press("ArrowLeft")
    page.get_by_role("combobox").click()
    page.get_by_role("option", name="falling").click()
    page.get_by_role("button", name="Compute").click()
    expect(page.get_by_text("125.00 a month, falling")).to_be_visible()


async def agree_to_a_loan(page: AsyncPage, url: str) -> None:
    """Open the details with their chart, and agree."""
    await page.goto(url)
    await page.get_by_text("Details").click()
    await async_expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    await page.get_by_role("button", name="Compute").click()
    await async_expect(page.get_by_text("16.67 a month, flat")).to_be_visible()
    await page.get_by_text("Agree", exact=True).click()
    await async_expect(page.get_by_text("Agreed")).to_be_visible()
    await page.get_by_text("Details").click()
    await async_expect(page.get_by_test_id("stVegaLiteChart")).to_be_hidden()


def greet_somebody(page: Page, url: str) -> None:
    """Fill the form, submit it, and clear it."""
    page.goto(url)
    page.get_by_role("textbox", name="Name").fill("Ada")
    page.get_by_role("spinbutton").fill("2")
    page.get_by_role("spinbutton").press("Tab")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("textbox", name="Greeting")).to_have_value("Hello Ada Hello Ada")
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("")
    assert page.get_by_role("textbox", name="Greeting").input_value() == ""


async def greet_loudly(page: AsyncPage, url: str) -> None:
    """Greet loudly, then quietly, and look at the settings."""
    await page.goto(url)
    await page.get_by_role("textbox", name="Name").press_sequentially("Grace")
    await page.get_by_role("checkbox", name="Loud").check()
    await page.get_by_role("button", name="Submit").click()
    await async_expect(page.get_by_role("textbox", name="Greeting")).to_have_value("HELLO GRACE")
    await page.get_by_role("checkbox", name="Loud").uncheck()
    await page.get_by_role("button", name="Submit").click()
    await async_expect(page.get_by_role("textbox", name="Greeting")).to_have_value("Hello Grace")
    await page.get_by_role("button", name="Settings").click()
    await async_expect(page.get_by_text("Display Theme")).to_be_visible()


def _start_glances(place: Place) -> Sequence[str]:
    return [
        *(place.script("glances"), "-w", "-B", "127.0.0.1", "-p", str(place.port)),
        *("--disable-check-update", "--disable-autodiscover"),
    ]


def watch_the_machine(page: Page, url: str) -> None:
    """Sort the processes, and switch parts off and on by keyboard, while the page polls."""
    page.goto(url)
    expect(page.get_by_role("columnheader", name="CPU").first).to_be_visible()
    page.keyboard.press("m")
    page.keyboard.press("c")
    expect(page.get_by_role("columnheader", name="LOAD")).to_be_visible()
    page.keyboard.press("l")
    page.keyboard.press("n")
    expect(page.get_by_role("columnheader", name="NETWORK")).to_have_count(0)
    page.keyboard.press("n")
    expect(page.get_by_role("columnheader", name="NETWORK").first).to_be_visible()


async def read_the_help(page: AsyncPage, url: str) -> None:
    """Open the help, close it, and read the load."""
    await page.goto(url)
    await async_expect(page.get_by_role("columnheader", name="LOAD")).to_be_visible()
    await page.keyboard.press("h")
    await async_expect(page.get_by_role("columnheader", name="SORT PROCESSES")).to_be_visible()
    await page.keyboard.press("h")
    await async_expect(page.get_by_role("columnheader", name="SORT PROCESSES")).to_have_count(0)
    await page.keyboard.press("f")
    assert "core" in await page.get_by_role("columnheader", name="LOAD").locator("..").inner_text()


APPLICATIONS = (
    Application(
        name="dash",
        kind="dashboard",
        python=("dash==4.4.1",),
        start=script("dash_app.py"),
        missions=(compare_cities, sort_the_months),
    ),
    Application(
        name="nicegui",
        kind="dashboard",
        python=("nicegui==3.18.0",),
        start=script("nicegui_app.py"),
        missions=(keep_tasks, change_the_level),
    ),
    Application(
        name="streamlit",
        kind="dashboard",
        python=("streamlit==1.67.0",),
        start=_start_streamlit,
        ready="/_stcore/health",
        missions=(compute_a_loan, agree_to_a_loan),
        never_the_same={
            "compute_a_loan": "the agent acts while the script of the page runs, which ends wherever it is: in three "
            "recordings, the server answered the third message of the page with 8, 11 and 15 messages"
        },
    ),
    Application(
        name="gradio",
        kind="dashboard",
        python=("gradio==6.31.0",),
        start=script("gradio_app.py"),
        variables={"GRADIO_ANALYTICS_ENABLED": "False"},
        missions=(greet_somebody, greet_loudly),
    ),
    Application(
        name="glances",
        kind="live numbers",
        python=("glances[web]==4.5.8",),
        start=_start_glances,
        ready="/api/4/status",
        missions=(watch_the_machine, read_the_help),
        never_the_same=dict.fromkeys(
            ("watch_the_machine", "read_the_help"), "the page shows processes, loads and temperatures of the machine"
        ),
    ),
)
