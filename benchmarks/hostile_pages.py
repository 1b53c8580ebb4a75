"""Missions on hostile pages: recorded, replayed sealed and replayed live; each ends in time, as what it is.

Run: `python -m benchmarks.hostile_pages [--only NAME ...] [--keep FOLDER] [--list]` in the environment of
scripts/test. An agent navigates, clicks, reads and clicks again, with a timeout of 6 s for each action; it is recorded
and certified with the defaults, then replayed in both ways. Each page has a process of its own, so that one that does
not end is found.

A page is lost if an action of the agent, or of a replay, takes much longer than its timeout; if anything but an
`EikonError`, or Playwright's own error to the agent, is raised; if an action that the page did not perform is missing
in the recording; if a mission is called faithful although its page hung or crashed; if a process is left.
Exits with 1 if a page is lost, with 2 if a name is unknown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import psutil

from benchmarks.table import table
from eikon_engine import EikonError, ReplayEngine, ReplayOptions, launch_browser, record_mission
from eikon_engine.errors import BrowserDiedError, PageCrashedError, PageUnresponsiveError
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import serve_pages
from tests.sites.hostile import HOSTILE, put_hostile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from playwright.sync_api import Page

ACTION_TIMEOUT_S = 6
ALLOWED_S = ACTION_TIMEOUT_S + 5
"""The longest that an action may take: a page has at least 5 s to answer after its action."""
REPLAY_LIMIT_S = 4 * ALLOWED_S + 20
"""The longest that a replay of the four actions may take, with launch and artifacts."""
PAGE_LIMIT_S = 600
CUT_OFF = (PageUnresponsiveError.code, PageCrashedError.code, BrowserDiedError.code)
"""Codes of an action that its page did not survive; after any other failure, a mission goes on."""
WAYS: Final[tuple[Literal["sealed", "live"], ...]] = ("sealed", "live")
HEADS = ("page", "agent", "recording", "s", "sealed", "s", "live", "s", "")


def perform(page: Page, url: str) -> Iterator[tuple[str, str, float]]:
    """Perform the actions of the agent; yield the name of each, its error and its seconds."""
    actions: tuple[tuple[str, Callable[[], object]], ...] = (
        ("goto", lambda: page.goto(url)),
        ("click", lambda: page.click("#go")),
        ("read", lambda: page.locator("#out").inner_text()),
        ("click again", lambda: page.click("#go")),
    )
    for name, action in actions:
        began = time.monotonic()
        error = ""
        try:
            action()
        except Exception as raised:  # noqa: BLE001 - an agent goes on after any error
            error = first_line(raised)
        yield name, error, time.monotonic() - began


def first_line(error: BaseException) -> str:
    """Return an error as one line."""
    named = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"{error.code}: {error.message.splitlines()[0]}" if isinstance(error, EikonError) else named


def try_page(name: str, folder: Path) -> dict[str, Any]:
    """Record a mission on a page, and replay it; return what happened, as JSON values."""
    with serve_pages() as site, ended_processes() as left:
        seen: dict[str, Any] = {"foreign": ""}
        url = put_hostile(site, name)
        with timed(seen, "recording"):
            seen["actions"], seen["recording"] = _record(url, folder / "bundle")
        for network in WAYS:
            with timed(seen, network):
                options = ReplayOptions(network=network, artifacts_dir=folder / network, on_divergence="continue")
                seen[network] = ReplayEngine(options).replay(folder / "bundle").verdict
        with suppress(EikonError):
            steps = [
                step for part in open_bundle(folder / "bundle").trace.subgoal_traces for step in part.actions_taken
            ]
            seen["steps"] = [(step.action.type, getattr(step.result, "code", "")) for step in steps]
    seen["left"] = left
    return seen


def _record(url: str, bundle: Path) -> tuple[list[tuple[str, str, float]], str]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch_browser(playwright)
        page = browser.new_page()
        page.set_default_timeout(ACTION_TIMEOUT_S * 1000)
        page.on("dialog", lambda dialog: dialog.accept())
        with record_mission(page, mission_text="Try the page", directory=bundle) as mission:
            performed = list(perform(page, url))
        with suppress(Exception):
            browser.close()
    return performed, mission.report.status if mission.report else "not certified"


@contextmanager
def timed(seen: dict[str, Any], name: str) -> Iterator[None]:
    """Add the seconds of the block, and the error that it ends with."""
    began = time.monotonic()
    try:
        yield
    except Exception as error:  # noqa: BLE001 - all others are findings
        seen[name] = first_line(error)
        if not isinstance(error, EikonError):
            seen["foreign"] = traceback.format_exc()
    seen[f"{name}_s"] = time.monotonic() - began


@contextmanager
def ended_processes() -> Iterator[list[str]]:
    """Yield a list that has the names of all processes below this one when the block has ended, after 5 s."""
    left: list[str] = []
    yield left
    _ended, alive = psutil.wait_procs(psutil.Process().children(recursive=True), timeout=5)
    left.extend(each.name() for each in alive if each.is_running())


def findings(seen: dict[str, Any]) -> list[str]:
    """Return why a page is lost; nothing if it is not."""
    found = [line for line in str(seen["foreign"]).splitlines()[-1:] if line]
    performed = seen.get("actions", [])
    found += [f"{name} took {seconds:.0f} s" for name, _error, seconds in performed if seconds > ALLOWED_S]
    found += [f"{each} took {seen[f'{each}_s']:.0f} s" for each in WAYS if seen[f"{each}_s"] > REPLAY_LIMIT_S]
    recorded = seen.get("steps", [])
    if len(recorded) < len(performed):
        found.append(f"{len(recorded)} of {len(performed)} actions recorded")
    found += [
        f"{name} failed, and is recorded as done"
        for (name, error, _seconds), (_type, code) in zip(performed, recorded, strict=False)
        if error and not code
    ]
    if any(code in CUT_OFF for _type, code in recorded):
        found += [f"{each} replay faithful" for each in WAYS if seen[each] == "faithful"]
    found += [f"left: {name}" for name in seen["left"]]
    return found


def examine(name: str, folder: Path) -> dict[str, Any]:
    """Try a page in a process of its own; return what happened."""
    command = [sys.executable, "-m", "benchmarks.hostile_pages", "--only", name, "--inside", str(folder)]
    try:
        done = subprocess.run(command, timeout=PAGE_LIMIT_S, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return {"foreign": f"did not end within {PAGE_LIMIT_S} s"}
    if done.returncode:
        return {"foreign": done.stderr.strip() or f"ended with {done.returncode}"}
    return cast("dict[str, Any]", json.loads(done.stdout.splitlines()[-1]))


def row(name: str, seen: dict[str, Any]) -> tuple[object, ...]:
    """Return the row of a page."""
    if "left" not in seen:
        return (name, "", "", 0.0, "", 0.0, "", 0.0, f"LOST: {seen['foreign'].splitlines()[-1]}")
    failed = [f"{name} {error}" for name, error, _seconds in seen.get("actions", []) if error]
    ways = (part for each in ("recording", *WAYS) for part in (str(seen[each])[:60], seen[f"{each}_s"]))
    lost = findings(seen)
    return (name, "; ".join(failed)[:60] or "done", *ways, f"LOST: {'; '.join(lost)}" if lost else "")


def main() -> int:
    """Try the chosen pages, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile_pages", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=HOSTILE, help="these pages")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep bundles and artifacts there")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [name for name in options.only if name not in HOSTILE]:
        parser.error(f"unknown pages: {', '.join(unknown)}; --list shows all")
    if options.list:
        sys.stdout.write("".join(f"{name}\n" for name in HOSTILE))
        return 0
    if options.inside:
        sys.stdout.write(json.dumps(try_page(options.only[0], options.inside)) + "\n")
        return 0
    return report(options.only, options.keep)


def report(names: Sequence[str], keep: Path | None) -> int:
    """Try pages, print the table, and return the exit status."""
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory(prefix="eikon-hostile-") as scratch:
        for number, name in enumerate(names):
            rows.append(row(name, examine(name, (keep or Path(scratch)) / f"{number:02d}")))
            sys.stderr.write(table(HEADS, rows[-1:]).splitlines()[-1] + "\n")
    sys.stdout.write(table(HEADS, rows))
    lost = sum(bool(each[-1]) for each in rows)
    sys.stdout.write(f"{len(rows)} pages x recording, sealed and live: {lost} lost\n")
    return min(lost, 1)


if __name__ == "__main__":
    sys.exit(main())
