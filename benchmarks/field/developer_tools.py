"""Tools of developers: descriptions of APIs, load tests, notebooks, flows, development servers."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from playwright.async_api import Page as AsyncPage
from playwright.async_api import expect as async_expect
from playwright.sync_api import Page, expect

from benchmarks.field.application import Application, Place


def _start_swagger(place: Place) -> Sequence[str]:
    place.copy("swagger-ui-dist.html", "index.html")
    place.copy("shop_api.json")
    place.write("orders.json", '[{"id": 1, "item": "Apple"}, {"id": 2, "item": "Banana"}]')
    place.write("orders/1", '{"id": 1, "item": "Apple"}')
    (place.home / "node_modules").symlink_to(place.node_modules)
    return [sys.executable, "-m", "http.server", str(place.port), "--bind", "127.0.0.1", "-d", str(place.home)]


def try_an_operation(page: Page, url: str) -> None:
    """Open an operation, try it out, and read the response."""
    page.goto(url)
    page.get_by_role("button", name="GET /orders/{id} Read one order").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_placeholder("id").fill("1")
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table").get_by_role("cell", name="200", exact=True)).to_be_visible()
    page.get_by_placeholder("id").fill("9")
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table").get_by_role("cell", name="404", exact=True)).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".live-responses-table")).to_have_count(0)


async def list_the_orders(page: AsyncPage, url: str) -> None:
    """List the orders, and look at the schemas."""
    await page.goto(url)
    await page.get_by_role("button", name="GET /orders.json List the orders").click()
    await page.get_by_role("button", name="Try it out").click()
    await page.get_by_role("button", name="Execute").click()
    body = page.locator(".live-responses-table .highlight-code").first
    await async_expect(body).to_contain_text("Banana")
    await page.get_by_role("button", name="Cancel").click()
    await page.get_by_role("button", name="Collapse operation").click()
    await async_expect(page.get_by_role("button", name="GET /orders.json")).to_be_hidden()


def _start_vite(place: Place) -> Sequence[str]:
    folder = place.copy("vite")
    (folder / "node_modules").symlink_to(place.node_modules)
    command = str(place.node_modules / ".bin" / "vite")
    return [command, str(folder), "--host", "127.0.0.1", "--port", str(place.port), "--strictPort"]


def count_up(page: Page, url: str) -> None:
    """Count, whose log is imported then, and reload."""
    page.goto(url)
    for _ in range(3):
        page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Count: 3")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Count: 3")).to_be_visible()
    page.get_by_role("button", name="Reset").click()
    assert page.locator("#shown").inner_text() == "Count: 0"


async def count_in_two_tabs(page: AsyncPage, url: str) -> None:
    """Count in two tabs, which do not share their counter."""
    await page.goto(url)
    await page.get_by_role("button", name="Add").click()
    await async_expect(page.get_by_role("listitem")).to_have_text(["Counted 1"])
    other = await page.context.new_page()
    await other.goto(url)
    await async_expect(other.get_by_text("Count: 0")).to_be_visible()
    await other.get_by_role("button", name="Add").dblclick()
    await async_expect(other.get_by_text("Count: 2")).to_be_visible()
    await other.close()
    await page.get_by_role("button", name="Add").click()
    await async_expect(page.get_by_text("Count: 2")).to_be_visible()


def _start_locust(place: Place) -> Sequence[str]:
    return [
        *(place.script("locust"), "-f", str(place.copy("locustfile.py")), "--host", "http://localhost"),
        *("--web-host", "127.0.0.1", "--web-port", str(place.port)),
    ]


def run_a_load_test(page: Page, url: str) -> None:
    """Start users, look at charts, and stop, while the page polls."""
    page.goto(url)
    page.get_by_label("Number of users").fill("3")
    page.get_by_label("Ramp up").fill("3")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("cell", name="LOOK")).to_be_visible(timeout=30_000)
    page.get_by_role("tab", name="Charts").click()
    page.get_by_role("tab", name="Failures").click()
    page.get_by_role("tab", name="Statistics").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="New")).to_be_visible()


async def look_at_the_tabs(page: AsyncPage, url: str) -> None:
    """Start one user, look at the current ratio and the logs, and stop."""
    await page.goto(url)
    await page.get_by_label("Number of users").fill("1")
    await page.get_by_role("button", name="Start").click()
    await page.get_by_role("tab", name="Current ratio").click()
    await async_expect(page.get_by_text("Visitor").first).to_be_visible()
    await page.get_by_role("tab", name="Download data").click()
    await async_expect(page.get_by_role("link", name="Download requests CSV")).to_be_visible()
    await page.get_by_role("tab", name="Logs").click()
    await page.get_by_role("button", name="Stop").click()
    await async_expect(page.get_by_role("button", name="New")).to_be_visible()


def _start_node_red(place: Place) -> Sequence[str]:
    settings = str(place.copy("node-red-settings.js"))
    command = str(place.node_modules / ".bin" / "node-red")
    return [command, "-s", settings, "-p", str(place.port), "-u", str(place.home / "flows")]


def wire_a_flow(page: Page, url: str) -> None:
    """Drag two nodes onto the canvas, and deploy."""
    page.goto(url)
    for height, kind in ((250, "inject"), (350, "debug")):
        page.locator(f".red-ui-palette-node[data-palette-type='{kind}']").hover()
        page.mouse.down()
        page.mouse.move(400, height, steps=6)
        page.mouse.up()
    expect(page.locator(".red-ui-flow-node-group")).to_have_count(2)
    page.locator(".red-ui-flow-node-group", has_text="debug 1").locator("rect.red-ui-flow-node").dblclick()
    page.locator("#node-input-name").fill("Shown")
    page.get_by_role("button", name="Done").click()
    page.get_by_role("link", name="Deploy").click()
    expect(page.get_by_text("Successfully deployed")).to_be_visible()


def _start_jupyterlab(place: Place) -> Sequence[str]:
    place.write("work/prices.csv", "fruit,price\nApple,120\nBanana,80\n")
    return [
        *(place.python, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--allow-root"),
        *(f"--port={place.port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={place.home / 'work'}"),
        *("--IdentityProvider.token=", "--ServerApp.password=", "--LabApp.news_url="),
        *("--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.extension_manager=readonly"),
    ]


def run_a_cell(page: Page, url: str) -> None:
    """Open a notebook, compute a product, and save it.

    JupyterLab ignores cells that are run before their kernel is ready.
    """
    page.goto(f"{url}/lab")
    page.locator(".jp-LauncherCard[data-category='Notebook']").click()
    cell = page.locator(".jp-NotebookPanel .jp-CodeCell .cm-content").first
    expect(cell).to_be_visible()
    expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle", timeout=60_000)
    cell.click()
    page.keyboard.type("6 * 7")
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".jp-OutputArea-output pre").first).to_have_text("42", timeout=60_000)
    page.keyboard.press("Control+s")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


async def read_a_table(page: AsyncPage, url: str) -> None:
    """Open a CSV file from the file browser, look at the View menu, and open the file as a text."""
    await page.goto(f"{url}/lab")
    file = page.get_by_role("listitem", name="prices.csv")
    await file.dblclick()
    await async_expect(page.get_by_role("tab", name="prices.csv")).to_be_visible()
    await page.get_by_role("menuitem", name="View", exact=True).click()
    await async_expect(page.get_by_role("menu")).to_be_visible()
    await page.keyboard.press("Escape")
    await file.click(button="right")
    await page.get_by_text("Open With", exact=True).hover()
    await page.get_by_role("menuitem", name="Editor", exact=True).click()
    await async_expect(page.locator(".jp-FileEditor .cm-content")).to_contain_text("Banana,80")


APPLICATIONS = (
    Application(
        name="swagger-ui-dist",
        kind="API pages",
        npm=("swagger-ui-dist@5.35.0",),
        start=_start_swagger,
        missions=(try_an_operation, list_the_orders),
    ),
    Application(
        name="vite",
        kind="development server",
        npm=("vite@7.1.7",),
        start=_start_vite,
        missions=(count_up, count_in_two_tabs),
    ),
    Application(
        name="locust",
        kind="load test",
        python=("locust==2.47.0",),
        start=_start_locust,
        missions=(run_a_load_test, look_at_the_tabs),
    ),
    Application(
        name="jupyterlab",
        kind="notebooks",
        python=("jupyterlab==4.6.6",),
        start=_start_jupyterlab,
        ready="/api",
        missions=(run_a_cell, read_a_table),
    ),
    Application(
        name="node-red",
        kind="flows",
        npm=("node-red@4.1.0",),
        start=_start_node_red,
        missions=(wire_a_flow,),
    ),
)
