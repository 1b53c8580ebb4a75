"""Measures `report.html`: seconds to render it, its size without pictures, and seconds until a browser has opened it.

Run: `python -m benchmarks.reports [--actions 100 1000] [--keep FOLDER]` in the environment of scripts/test. The shop
mission of the tests that diverges is replayed; its steps are repeated until there are so many actions, and each tenth
of them is the one that diverged, with its pictures. A page is opened from disk in a headless Chromium:
the time is that until its `load` event; then that until a filter has left the steps that diverged.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from playwright.sync_api import expect, sync_playwright

from eikon_engine.browser.executable import find_browser
from eikon_engine.replay.engine import run_replay
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.report.html_report import render_report
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser

    from eikon_engine.outcome.outcomes import ReplayOutcome

BUNDLE: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "traces" / "shop_diverging"
REPEATS: Final = 5
DIVERGED_EACH: Final = 10


def repeat_steps(outcome: ReplayOutcome, actions: int) -> ReplayOutcome:
    """Return an outcome of one subgoal with so many steps."""
    steps = [step for subgoal in outcome.subgoals for step in subgoal.steps]
    diverged = next(step for step in steps if step.divergences)
    others = cycle(step for step in steps if not step.divergences)
    many = tuple(
        (diverged if place % DIVERGED_EACH == 0 else next(others)).model_copy(update={"sequence": place})
        for place in range(1, actions + 1)
    )
    subgoal = outcome.subgoals[0].model_copy(update={"steps": many, "steps_recorded": len(many), "verdict": "diverged"})
    return outcome.model_copy(update={"subgoals": (subgoal,)})


def measure(outcome: ReplayOutcome, folder: Path, browser: Browser, actions: int) -> str:
    """Render and open the page of so many actions; return a line of figures."""
    many = repeat_steps(outcome, actions)
    rendered, opened, filtered = list[float](), list[float](), list[float]()
    for _ in range(REPEATS):
        begin = time.perf_counter()
        html = render_report(many, folder)
        rendered.append(time.perf_counter() - begin)
        path = folder / f"report_{actions}.html"
        path.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        begin = time.perf_counter()
        page.goto(path.as_uri())
        opened.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        page.get_by_role("checkbox", name="faithful").first.uncheck()
        expect(page.locator("details.step:visible")).to_have_count(actions // DIVERGED_EACH)
        filtered.append(time.perf_counter() - begin)
        page.close()
    size = len(re.sub(r"data:image/png;base64,[^\"']*", "", html).encode())
    return (
        f"{actions:<8} {median(rendered):<9.2f} {size / 1e6:<18.2f} {len(html) / 1e6:<8.1f} "
        f"{median(opened):<8.2f} {median(filtered):.2f}\n"
    )


def main(counts: Sequence[int], keep: Path | None) -> None:
    """Replay once, then print a line for each number of actions."""
    with tempfile.TemporaryDirectory(prefix="eikon-reports-") as made:
        folder = keep or Path(made)
        options = ReplayOptions(artifacts_dir=folder, on_divergence="continue", reports=())
        outcome = asyncio.run(run_replay(open_bundle(BUNDLE), options, ())).outcome
        sys.stdout.write("actions  render s  MB beside images   MB all   open s   filter s\n")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            for actions in counts:
                sys.stdout.write(measure(outcome, folder, browser, actions))
            browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, nargs="+", default=[100, 1000], help="numbers of actions")
    parser.add_argument("--keep", type=Path, help="new folder for the artifacts and the pages")
    given = parser.parse_args()
    main(given.actions, given.keep)
