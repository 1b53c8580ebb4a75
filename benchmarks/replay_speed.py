"""The speed of a sealed replay, compared with a plain Playwright script that does the same actions on the live site.

Run: `python -m benchmarks.replay_speed [ROUNDS]` in the environment of scripts/test. Both use the same browser and
are warm; each round runs both; medians and their ratio are printed. Also measured: `--help` of the command, and the
whole command on the bundled mission.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from playwright.async_api import Browser, Error, async_playwright

from eikon_engine.browser.executable import find_browser
from eikon_engine.replay import ReplayEngine, ReplayOptions
from tests.sites.shop import serve_shop

ROOT = Path(__file__).resolve().parent.parent
PASSING = ROOT / "tests" / "data" / "traces" / "shop_passing"
ROUNDS = 5


async def by_hand(browser: Browser, url: str) -> None:
    """Run the bundled mission as a plain Playwright script."""
    context = await browser.new_context()
    page = await context.new_page()
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
    await context.close()


async def by_hand_with_launch(url: str) -> None:
    """Launch a browser and run the script in it."""
    binary = find_browser(None, environ=os.environ)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(binary.path), chromium_sandbox=os.geteuid() != 0)
        await by_hand(browser, url)
        await browser.close()


def sealed(folder: Path) -> None:
    """Replay the bundled mission, with all its artifacts."""
    ReplayEngine(ReplayOptions(artifacts_dir=folder / "run")).replay(PASSING)


def seconds(*command: str) -> float:
    """Run a command and time it."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - begin


def main() -> None:
    """Print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=ROUNDS)
    rounds: int = parser.parse_args().rounds
    scripts, replays, helps, commands = [], [], [], []
    with tempfile.TemporaryDirectory() as scratch, serve_shop() as shop:
        for index in range(rounds + 1):  # the first round warms up
            shop.restart()
            begin = time.perf_counter()
            asyncio.run(by_hand_with_launch(shop.url))
            middle = time.perf_counter()
            sealed(Path(scratch) / str(index))
            end = time.perf_counter()
            if index:
                scripts.append(middle - begin)
                replays.append(end - middle)
                helps.append(seconds("eikon_engine.replay", "--help"))
                run = str(Path(scratch) / f"command{index}")
                commands.append(seconds("eikon_engine.replay", "--trace", str(PASSING), "--artifacts-dir", run))
    plain, replayed = statistics.median(scripts), statistics.median(replays)
    sys.stdout.write(
        f"plain script, live site, with launch   {plain:.2f} s\n"
        f"sealed replay, artifacts, with launch  {replayed:.2f} s   ratio {replayed / plain:.2f}\n"
        f"python -m eikon_engine.replay --help   {statistics.median(helps):.2f} s\n"
        f"python -m eikon_engine.replay          {statistics.median(commands):.2f} s wall\n"
    )


if __name__ == "__main__":
    main()
