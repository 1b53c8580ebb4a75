"""Measure the cost of breakpoints: fifty patterns before and after each action, and selectors, which query the pages.

Run with ``python -m benchmarks.breakpoints [--bundle PATH] [--browser PATH]``. The limit for breakpoints that do not
query a page is 1 ms per action.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.table import table
from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.worker import open_worker
from eikon_engine.debug.breakpoint_hits import hits_after, hits_before
from eikon_engine.debug.breakpoints import BreakpointTable, BreakpointTargets, parse_breakpoint, parse_condition
from eikon_engine.debug.selector_watch import find_changes, read_selectors
from eikon_engine.outcome.events import ObservationMade
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.outcome.events import Event
    from eikon_engine.replay.plan import Plan, PlannedStep

BUNDLE = Path(__file__).parents[1] / "tests" / "data" / "traces" / "shop_passing"
COUNT = 50
ROUNDS = 20
SELECTORS = ("#cart-lines .card", "li:nth-child(3)", "[data-testid=total]", "text=Nothing of the kind", "main")
ROWS = 300


def fifty(plan: Plan) -> BreakpointTable:
    """Return fifty breakpoints that never match, because a search without a match takes longest."""
    texts = [f"pattern:(nothing|of) the kind {number}.*here" for number in range(COUNT - 20)]
    texts += [f"request:*/none/{number}/*" for number in range(COUNT - 30 - 6)]
    texts += ["error", "divergence", "tool:drag", "tool:go_back", "tool:hover", "tool:scroll"]
    made = BreakpointTable()
    places = BreakpointTargets.from_plan(plan, ())
    for text in texts:
        made, _ = made.add(parse_condition(parse_breakpoint(text), places))
    return made


def events_of(planned: PlannedStep) -> Sequence[Event]:
    """Return the events of a step, as its recording emits them."""
    seen = planned.step.observation if isinstance(planned.step, ActionTrace) else None
    return [] if seen is None else [ObservationMade(subgoal="s", sequence=1, observation=seen)]


def measure_patterns(plan: Plan) -> Sequence[object]:
    """Return the row of the breakpoints that query no page; times are processor time of both checks of an action."""
    made = fifty(plan)
    steps = [step for subgoal in plan.subgoals for step in subgoal.steps]
    times = []
    for _ in range(ROUNDS):
        for planned in steps:
            events = events_of(planned)
            seen = events[0].observation if events and isinstance(events[0], ObservationMade) else None
            begin = time.process_time()
            hits_before(made, planned, seen)
            hits_after(made, planned, events)
            times.append((time.process_time() - begin) * 1000)
    return _row(f"{len(made.breakpoints)} breakpoints that ask no page", times)


async def measure_selectors(browser_path: Path | None) -> Sequence[object]:
    """Return the row of five selectors in a page of the given size."""
    markup = "".join(
        f"<li class=card><a href='/{each}'>Article {each}</a><b>{each}.00</b></li>" for each in range(ROWS)
    )
    async with launch_browser(LaunchOptions(browser_path=browser_path)) as launched:
        environment = Environment(
            browser_version="", playwright_version="", platform="", clock_start_ms=0, random_seed=1
        )
        async with open_worker(launched.browser, SessionOptions(environment=environment), LiveTraffic()) as worker:
            page = worker.session.page(0)
            if page is None:
                message = "a session opens with a page"
                raise RuntimeError(message)
            await page.set_content(f"<main><ul id=cart-lines>{markup}</ul></main>")
            before = await read_selectors(worker.session, SELECTORS)
            times = []
            for _ in range(ROUNDS):
                begin = time.perf_counter()
                now = await read_selectors(worker.session, SELECTORS)
                find_changes(before, now)
                times.append((time.perf_counter() - begin) * 1000)
    return _row(f"{len(SELECTORS)} selectors, a page of {ROWS} rows", times)


def _row(name: str, times: Sequence[float]) -> Sequence[object]:
    return (
        name,
        f"{statistics.median(times):.3f}",
        f"{statistics.quantiles(times, n=20)[-1]:.3f}",
        f"{max(times):.3f}",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description="Measure breakpoints.")
    parser.add_argument("--bundle", type=Path, default=BUNDLE)
    parser.add_argument("--browser", type=Path, help="path of a Chromium")
    asked = parser.parse_args(arguments)
    plan = plan_replay(open_bundle(asked.bundle), ReplayOptions())
    rows = [measure_patterns(plan)]
    rows.append(asyncio.run(measure_selectors(asked.browser)))
    sys.stdout.write(table(("", "median ms", "95 % ms", "longest ms"), rows))


if __name__ == "__main__":
    main()
