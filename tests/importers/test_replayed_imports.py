"""Imported Playwright recordings replay sealed after the site has stopped."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from playwright.async_api import Error

from eikon_engine.browser.executable import find_browser
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.trace.actions import AnswerDialog, Download
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from tests.replay.conftest import replay
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser, Dialog, Page

pytestmark = pytest.mark.browser


class Recorded(NamedTuple):
    """Traces of a mission in a shop that has stopped."""

    whole: Path
    """With the bodies of scripts."""
    usual: Path
    """As Playwright writes it by default: without them."""
    har: Path
    """The network of the same run as `usual`."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Trace the mission twice with Playwright, and stop the shop."""
    folder = tmp_path_factory.mktemp("traces")
    found = Recorded(folder / "whole.zip", folder / "usual.zip", folder / "usual.har")
    with serve_shop() as shop:
        asyncio.run(_trace(shop.url, found.whole, None))
        shop.restart()
        asyncio.run(_trace(shop.url, found.usual, found.har))
    return found


async def _trace(url: str, path: Path, har: Path | None) -> None:
    from playwright.async_api import async_playwright

    binary = find_browser(None, environ=os.environ, headless=True).path
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=binary)
        await _mission(browser, url, path, har)
        await browser.close()


async def _mission(browser: Browser, url: str, path: Path, har: Path | None) -> None:
    options: dict[str, Any] = {} if har is None else {"record_har_path": har}
    context = await browser.new_context(viewport={"width": 1200, "height": 800}, locale="de-DE", **options)
    await context.tracing.start(screenshots=True, snapshots=True, sources=True, live=har is None)
    page = await context.new_page()
    await context.tracing.group("Find a banana")
    await page.goto(f"{url}/")
    await page.keyboard.press("/")
    await page.locator("#search").press_sequentially("banana")
    await page.locator("#search").press("Enter")
    await page.get_by_role("link", name="Banana").click()
    await context.tracing.group_end()
    await context.tracing.group("Put it into the cart")
    await page.get_by_label("Quantity").fill("3")
    await page.locator("#gift").check()
    await page.frame_locator("#reviews").locator("#author").fill("Ada")
    await page.frame(name="reviews").locator("#review").fill("Sweet & ripe")  # type: ignore[union-attr] # it is there
    await page.frame_locator("#reviews").locator("#post-review").click()
    await page.locator("#add-to-cart").click()
    await context.tracing.group_end()
    await _look_at_the_cart(page, url)
    await context.tracing.stop(path=path)
    await context.close()


async def _look_at_the_cart(page: Page, url: str) -> None:
    async def keep(dialog: Dialog) -> None:
        await dialog.dismiss()

    await page.locator("#cart-link").click()
    await page.locator("#cart-lines tr[data-id]").wait_for()
    page.once("dialog", keep)
    await page.locator("#cart-lines .remove").click()
    async with page.expect_popup() as popup:
        await page.locator("#open-help").click()
    with suppress(Error):  # the page may close before it has reported the click
        await (await popup.value).locator("#close-help").click()
    await page.goto(f"{url}/prices")
    async with page.expect_download():
        await page.locator("#sample-invoice").click()


def _eikon(*arguments: str) -> int:
    return run_command(eikon, list(arguments), "eikon")


def test_a_trace_replays_sealed_after_its_server_has_gone(recorded: Recorded, tmp_path: Path) -> None:
    """A complete trace gives a bundle with actions and network; once certified, it replays faithfully."""
    bundle = tmp_path / "bundle"

    imported = _eikon("import", str(recorded.whole), "-o", str(bundle))
    certified = _eikon("certify", str(bundle), "--accept", "--runs", "2", "--parallel", "2")
    outcome = replay(bundle, tmp_path / "run")

    trace = open_bundle(bundle).trace
    actions = [step.action for subgoal in trace.subgoal_traces for step in subgoal.actions_taken]
    assert (imported, certified) == (0, 0)
    assert (bundle / CERTIFICATE_FILE).is_file()
    assert (outcome.verdict, outcome.network_mode, outcome.network.misses) == ("faithful", "sealed", ())
    assert [each.description for each in trace.subgoal_traces] == ["Find a banana", "Put it into the cart", "whole"]
    assert trace.environment is not None
    assert (trace.environment.viewport.width, trace.environment.locale) == (1200, "de-DE")
    assert [type(each) for each in actions if isinstance(each, AnswerDialog | Download)] == [AnswerDialog, Download]
    assert [each.target.frames for each in actions if getattr(each, "text", None) == "Sweet & ripe"] == [  # type: ignore[union-attr] # it has a target
        ('iframe[id="reviews"]',)
    ]


def test_a_trace_without_scripts_is_reported(
    recorded: Recorded, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By default Playwright omits script bodies; a note reports it with the remedy."""
    code = _eikon("import", str(recorded.usual), "-o", str(tmp_path / "bundle"))

    printed = capfd.readouterr()
    assert code == 0
    assert "live=True" in printed.err
    assert "next: eikon record --trace" in printed.out


def test_a_har_of_the_same_run_makes_up_for_scripts(recorded: Recorded, tmp_path: Path) -> None:
    """Together with a HAR of the same run, a trace without scripts replays sealed too."""
    bundle = tmp_path / "bundle"

    imported = _eikon("import", str(recorded.usual), "--har", str(recorded.har), "-o", str(bundle))
    certified = _eikon("certify", str(bundle), "--accept", "--runs", "2", "--parallel", "2")
    outcome = replay(bundle, tmp_path / "run")

    assert (imported, certified, outcome.verdict) == (0, 0, "faithful")


def test_a_har_alone_replays_its_first_document(recorded: Recorded, tmp_path: Path) -> None:
    """A HAR becomes one navigation that is served from it."""
    bundle = tmp_path / "bundle"

    imported = _eikon("import", "har", str(recorded.har), "-o", str(bundle))
    certified = _eikon("certify", str(bundle), "--accept", "--runs", "2", "--parallel", "2")
    outcome = replay(bundle, tmp_path / "run")

    assert (imported, certified, outcome.verdict) == (0, 0, "faithful")
    assert len(open_bundle(bundle).trace.subgoal_traces[0].actions_taken) == 1
