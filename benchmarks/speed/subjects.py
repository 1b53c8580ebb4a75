"""The missions that are timed: the bundled one, a site of many pages, and a large single-page application."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.async_api import Error, Page

from benchmarks.field.application import Mission
from benchmarks.field.catalogue import find

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SHOP_BUNDLE: Final = ROOT / "tests" / "data" / "traces" / "shop_passing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A mission in an application."""

    name: str
    mission: Mission
    """Performed by hand, and recorded unless there is a bundle."""
    application: str = ""
    """Application of the field; the shop of the tests if empty."""

    @property
    def flow(self) -> Path:
        """The same actions for @puppeteer/replay, in the format of the Recorder of Chrome's DevTools."""
        return Path(__file__).parent / "flows" / f"{self.name}.json"

    @contextmanager
    def served(self, folder: Path) -> Iterator[str]:
        """Serve the application on fresh state."""
        from benchmarks.field.install import default_cache, install
        from benchmarks.field.serve import serve
        from tests.sites.shop import serve_shop

        if not self.application:
            with serve_shop() as shop:
                yield shop.url
            return
        application = find(self.application)
        with serve(application, install(application, default_cache()), folder) as url:
            yield url

    def bundle(self, url: str, folder: Path) -> Path:
        """Return the bundle: the recorded one, or one that is recorded and certified now.

        Raises:
            subprocess.CalledProcessError: recording failed.
        """
        if not self.application:
            return SHOP_BUNDLE
        command = [sys.executable, "-m", "benchmarks.field.perform", self.application, self.mission.__name__, url]
        result, bundle = folder / "result.json", folder / "bundle"
        subprocess.run([*command, str(result), str(bundle)], check=True, capture_output=True, cwd=ROOT)
        return bundle


def _mission_of(application: str, name: str) -> Mission:
    (mission,) = (each for each in find(application).missions if each.__name__ == name)
    return mission


async def buy_bananas(page: Page, url: str) -> None:
    """Run the bundled mission."""
    await page.goto(f"{url}/prices")
    async with page.expect_download() as download:
        await page.click("#sample-invoice")
    await (await download.value).path()
    await page.goto(f"{url}/")
    await page.keyboard.press("/")
    await page.locator("#search").press_sequentially("banana")
    await page.press("#search", "Enter")
    await page.wait_for_load_state()
    await page.click("article.card h2 a")
    await page.fill("#quantity", "3")
    await page.check("#gift")
    await page.check("#wrap-green")
    await page.click('rating-stars .star[data-stars="4"]')
    reviews = page.frame_locator("#reviews")
    await reviews.locator("#author").fill("Ada")
    await reviews.locator("#review").fill("Sweet & ripe")
    await reviews.locator("#post-review").click()
    await page.click("#add-to-cart")
    await page.wait_for_function("document.querySelector('#cart-badge').textContent.trim() === '3'")
    await page.click("#cart-link")
    await page.wait_for_selector("#cart-lines tr[data-id]")
    page.once("dialog", lambda dialog: dialog.dismiss())
    await page.click("#cart-lines .remove")
    await page.click("#tab-coupon")
    page.once("dialog", lambda dialog: dialog.accept("SAVE10"))
    await page.click("#enter-coupon")
    async with page.expect_popup() as popup:
        await page.click("#open-help")
    with suppress(Error):  # the page may be gone before the click is acknowledged
        await (await popup.value).click("#close-help")
    await page.screenshot()


SUBJECTS: Final = (
    Subject(name="shop", mission=buy_bananas),
    Subject(name="tables", mission=_mission_of("datasette", "filter_books"), application="datasette"),
    Subject(name="editor", mission=_mission_of("monaco-editor", "use_the_palette"), application="monaco-editor"),
)
"""The bundled mission, a site of many pages, and an editor that loads several megabytes of scripts."""


def find_subject(name: str) -> Subject:
    """Return the subject with this name.

    Raises:
        KeyError: there is none.
    """
    return {each.name: each for each in SUBJECTS}[name]
