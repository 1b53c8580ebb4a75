"""Measure DOM snapshots of a small and a large page, next to plain `outerHTML`.

Run with ``python benchmarks/dom_snapshot.py [--browser PATH]``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.browser.executable import find_browser
from eikon_engine.browser.observation import capture_page
from eikon_engine.browser.page_scripts.loader import join_scripts, load_script
from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.dom import encode_snapshot, page_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import Page

SIZES = (600, 9000)
RUNS = 7
PER_ROW = 4


def markup(elements: int) -> str:
    """Return the markup of a page with about the given number of elements."""
    row = (
        '<div class="row r{0}" id="r{0}"><span title="t{0}">Label {0}</span><a href="/x/{0}">go <b>there</b></a></div>'
    )
    return f"<!doctype html><main>{''.join(row.format(number) for number in range(elements // PER_ROW))}</main>"


async def measure(page: Page, elements: int) -> str:
    """Return one line of the table; each capture but the first has one label changed since the last one."""
    await page.set_content(markup(elements))
    times: dict[str, list[float]] = {"outer": [], "capture": [], "digest": [], "encode": [], "diff": []}
    size = 0
    begin = time.perf_counter()
    before = await capture_page(page)
    first = (time.perf_counter() - begin) * 1000
    for number in range(RUNS):
        await page.evaluate("(text) => { document.querySelector('#r7 span').textContent = text }", f"changed {number}")
        marks = [time.perf_counter()]
        await page.evaluate("() => document.documentElement.outerHTML")
        marks.append(time.perf_counter())
        snapshot = await capture_page(page)
        marks.append(time.perf_counter())
        page_digest(snapshot)
        marks.append(time.perf_counter())
        size = len(encode_snapshot(snapshot))
        marks.append(time.perf_counter())
        diff_snapshots(before, snapshot)
        marks.append(time.perf_counter())
        for name, start, stop in zip(times, marks, marks[1:], strict=False):
            times[name].append((stop - start) * 1000)
    middle = {name: statistics.median(values) for name, values in times.items()}
    ratio = middle["capture"] / middle["outer"]
    return (
        f"{elements:>8} {first:>8.1f} {middle['capture']:>10.1f} {middle['outer']:>10.1f} {ratio:>6.1f} "
        f"{middle['digest']:>9.1f} {middle['encode']:>9.1f} {middle['diff']:>7.1f} {size / 1000:>8.1f}"
    )


async def run(browser_path: Path) -> None:
    """Measure and print the table."""
    from playwright.async_api import async_playwright

    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=browser_path, args=flags)
        context = await browser.new_context()
        await context.add_init_script(join_scripts(map(load_script, ("init_natives.js", "init_dom_access.js"))))
        page = await context.new_page()
        head = "elements first ms capture ms   outer ms  ratio digest ms encode ms diff ms  zstd kB\n"
        sys.stdout.write(head)
        for elements in SIZES:
            sys.stdout.write(f"{await measure(page, elements)}\n")
        await browser.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description="Measure DOM snapshots.")
    parser.add_argument("--browser", type=Path, help="path of a Chromium")
    binary = find_browser(parser.parse_args(arguments).browser, environ=os.environ)
    asyncio.run(run(binary.path))


if __name__ == "__main__":
    main()
