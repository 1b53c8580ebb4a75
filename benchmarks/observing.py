"""The cost of binding, observing and explaining on a small and on a large page.

Run: `python -m benchmarks.observing [--rounds 15]` in the environment of scripts/test. A page with a given number of
elements is open and idle in a session like that of a replay. Prints medians in milliseconds: of Playwright's own click
for comparison, which changes a text and an attribute; of binding to an element (finding it, reading its identity,
checking that a pointer would hit it, and verifying that it is the recorded one); of observing everything afterwards; of
both together, which is the overhead of an action; of the first observation of a page; and of explaining that the
element is missing, with the difference of the documents, the elements it may have become and the later steps that
depend on it. Exits with 1 if a figure exceeds its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.dom_snapshot import markup
from benchmarks.table import table
from eikon_engine.browser.actions.targets import Readiness, bind
from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.observation import observe
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.worker import open_worker
from eikon_engine.divergence.candidates import find_candidates
from eikon_engine.divergence.dependents import find_dependents
from eikon_engine.divergence.dom_diff import diff_snapshots, render_diff
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.target import Target
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import Browser

    from eikon_engine.browser.worker import BrowserWorker
    from eikon_engine.dom import PageSnapshot

ALLOWED = {600: 15.0, 9_000: 60.0}
"""Limit in milliseconds for binding and observing during an action, by elements of the page."""
EXPLAINED = 300.0
"""Limit in milliseconds for an explanation."""
HEADS = ("elements", "click", "bind", "observe", "bind + observe", "allowed", "first look", "explain", "allowed")
SHOWN = ("click", "bind", "observe", "both")
FIRST_LOOKS = 5
CHANGES = """<script>document.onclick = (event) => {
  const row = event.target.closest(".row");
  row.dataset.clicks = 1 + (row.dataset.clicks | 0);
  row.querySelector("b").textContent += "!";
}</script>"""
"""What a click does to the page."""
LATER = 20
"""Number of steps of the mission after the one that diverged."""


async def measure(worker: BrowserWorker, url: str, elements: int, rounds: int) -> dict[str, float]:
    """Return the medians for one page."""
    await worker.execute(Navigate(url=f"{url}/{elements}.html"))
    session = worker.session
    page = session.page(0)
    assert page is not None
    target = Target(selector=f"#r{elements // 8} span")
    bound = await bind(page, target, session, Readiness(pointer=True), 0)
    known = target.model_copy(update={"identity": bound.identity})
    times: dict[str, list[float]] = {"click": [], "bind": [], "observe": [], "both": [], "explain": []}
    for _ in range(rounds):
        begin = time.perf_counter()
        await page.locator(target.selector).click()
        clicked = time.perf_counter()
        bound = await bind(page, known, session, Readiness(pointer=True), 0)
        found = time.perf_counter()
        sight = await observe(session, bound)
        seen = time.perf_counter()
        recorded = sight.snapshots[0]
        changed = _without(recorded, elements // 8)
        ready = time.perf_counter()
        _explain(known, recorded, changed)
        told = time.perf_counter()
        for name, seconds in (
            ("click", clicked - begin),
            ("bind", found - clicked),
            ("observe", seen - found),
            ("both", seen - clicked),
            ("explain", told - ready),
        ):
            times[name].append(seconds * 1000)
    return {name: statistics.median(each) for name, each in times.items()}


async def first_look(browser: Browser, environment: Environment, url: str) -> float:
    """Return the milliseconds of the first observation of a page."""
    async with open_worker(browser, SessionOptions(environment=environment), LiveTraffic()) as worker:
        page = worker.session.page(0)
        assert page is not None
        await page.goto(url)
        await worker.session.stabilizer.wait_until_idle()
        begin = time.perf_counter()
        await observe(worker.session, None)
        return (time.perf_counter() - begin) * 1000


def _without(page: PageSnapshot, row: int) -> PageSnapshot:
    """Return the page without one row."""
    frame = page.main
    body = frame.root.children[-1]
    main = body.children[0]
    rows = replace(main, children=tuple(each for place, each in enumerate(main.children) if place != row))
    root = replace(frame.root, children=(*frame.root.children[:-1], replace(body, children=(rows,))))
    return replace(page, frames=(replace(frame, root=root),))


def _explain(target: Target, recorded: PageSnapshot, observed: PageSnapshot) -> None:
    """Explain a missing target, as a replay does."""
    assert target.identity is not None
    steps = [
        ActionTrace(id=f"later {number}", sequence=number, action=Click(target=target), result=Succeeded())
        for number in range(1, LATER + 1)
    ]
    changes = diff_snapshots(recorded, observed)
    assert "removed" in render_diff(changes)
    assert find_candidates(target.identity, observed) is not None
    assert len(list(find_dependents(steps, 0, recorded, observed))) == 1


async def run(rounds: int) -> int:
    """Print the table."""
    environment = Environment(browser_version="", playwright_version="", platform="", clock_start_ms=0, random_seed=1)
    found: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="eikon-observing-") as folder:
        for elements in ALLOWED:
            (Path(folder) / f"{elements}.html").write_text(markup(elements) + CHANGES, encoding="utf-8")
        with serve_folder(Path(folder)) as url:
            async with launch_browser(LaunchOptions()) as launched:
                for elements in ALLOWED:
                    options = SessionOptions(environment=environment)
                    async with open_worker(launched.browser, options, LiveTraffic()) as worker:
                        found[elements] = await measure(worker, url, elements, rounds)
                    page = f"{url}/{elements}.html"
                    looks = [await first_look(launched.browser, environment, page) for _ in range(FIRST_LOOKS)]
                    found[elements]["first"] = statistics.median(looks)
    rows = [
        (
            elements,
            *(round(each[name], 1) for name in SHOWN),
            ALLOWED[elements],
            *(round(each[name], 1) for name in ("first", "explain")),
            EXPLAINED,
        )
        for elements, each in found.items()
    ]
    sys.stdout.write(table(HEADS, rows))
    return int(any(each["both"] > ALLOWED[n] or each["explain"] > EXPLAINED for n, each in found.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    return asyncio.run(run(parser.parse_args(arguments).rounds))


if __name__ == "__main__":
    sys.exit(main())
