"""Measures the overhead of recording an agent: the same script on the same live site, alone and recorded, alternately.

Run: `python -m benchmarks.recording [RUNS]` in the environment of scripts/test. Synchronous Playwright orders in the
shop at full speed, with nothing between its calls, unlike an agent with a planner; one of the missions reads and
expects more than it acts. Prints the medians of the script's own time, of what recording adds to it, and of what the
block takes before and after it, once per mission; certifying comes afterwards and is not included. Exits with 1 if
recording adds more than 25 % to any mission.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect, sync_playwright

from benchmarks.table import table
from eikon_engine.browser.executable import find_browser
from eikon_engine.record import record_mission
from eikon_engine.record.options import AttachOptions
from tests.missions.agents import buy, order
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

ALLOWED = 0.25
RUNS = 9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=int, nargs="?", default=RUNS)
    runs: int = parser.parse_args().runs
    rows = []
    with serve_shop() as shop, sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        for name, mission in (("order", order), ("buy", buy), ("read", read)):
            alone, recorded, around = [], [], []
            for number in range(runs + 1):
                shop.restart()
                plain, _ = _time(browser, shop.url, mission, None)
                shop.restart()
                watched, rest = _time(browser, shop.url, mission, Path(folder) / f"{name}-{number}")
                if number:  # the first one warms up
                    alone.append(plain)
                    recorded.append(watched)
                    around.append(rest)
            rows.append((name, statistics.median(alone), statistics.median(recorded), statistics.median(around)))
        browser.close()
    shown = [
        (name, f"{plain:.3f}", f"{watched:.3f}", f"{watched / plain - 1:+.0%}", f"{rest:.3f}")
        for name, plain, watched, rest in rows
    ]
    sys.stdout.write(table(("mission", "alone, s", "recorded, s", "added", "before and after, s"), shown))
    sys.exit(int(any(watched / plain - 1 > ALLOWED for _, plain, watched, _ in rows)))


def read(page: Page, url: str) -> None:
    """Compare a product with its line in the cart: four actions, nine reads, five expectations."""
    page.goto(f"{url}/product/1")
    expect(page).to_have_title(re.compile("Banana"))
    name = page.locator("h1").inner_text()
    expect(page.get_by_role("button", name="Add to cart")).to_be_enabled()
    page.locator("#cart-badge").is_visible()
    page.get_by_label("Quantity").input_value()
    page.get_by_label("Quantity").fill("2")
    page.get_by_role("button", name="Add to cart").click()
    expect(page.locator("#cart-badge")).to_have_text("2")
    page.goto(f"{url}/cart")
    line = page.locator("#cart-lines tr[data-id]")
    expect(line).to_have_count(1)
    expect(line).to_contain_text(name)
    line.count()
    line.first.text_content()
    line.locator("td").all_inner_texts()
    line.get_attribute("data-id")
    page.evaluate("document.title")
    page.content()


def _time(
    browser: Browser, url: str, mission: Callable[[Page, str], None], directory: Path | None
) -> tuple[float, float]:
    """Return the wall time of a mission, and separately that of the surrounding block."""
    page = browser.new_page()
    options = AttachOptions(certify=None)
    block = (
        nullcontext()
        if directory is None
        else record_mission(page, mission_text=mission.__name__, directory=directory, options=options)
    )
    begin = time.perf_counter()
    with block:
        begun = time.perf_counter()
        mission(page, url)
        taken = time.perf_counter() - begun
    rest = time.perf_counter() - begin - taken
    page.context.close()
    return taken, rest


if __name__ == "__main__":
    main()
