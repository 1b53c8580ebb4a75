"""The commands that are killed, and the folder in which they run: bundles, scripts, a scenario, a project."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Fill, Navigate
from tests.fix.loop.projects import ASSERTS, GOOD_FIX, PRICE_PROJECT, make_project
from tests.missions.shop import css
from tests.sites.model_server import serve_model
from tests.sites.shop import serve_shop
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.sites.shop import ShopServer

EIKON: Final = ("-m", "eikon_engine")
PYTEST_INTERRUPTED: Final = 2
"""Exit status of pytest itself, which Ctrl-C may meet before the plugin is loaded."""
INPUT: Final = "input"
"""Folder of what no command may change."""
PROJECT: Final = "project"
AGENT: Final = """
from playwright.sync_api import sync_playwright
from eikon_engine import launch_browser

with sync_playwright() as playwright:
    browser = launch_browser(playwright)
    page = browser.new_page()
    page.goto("{shop}/product/1")
    page.click("#add-to-cart")
    page.wait_for_selector("#cart-badge")
    browser.close()
"""
SCENARIO: Final = """
id: look
goal: Look at the releases
start_url: "{site}/index.html"
allowed_tools: [count]
subgoals:
  - id: look
    steps:
      - action: {{type: select_option, target: {{selector: "#year"}}, options: ["2026"]}}
      - skill: extract_table
        as: releases
      - tool: count
        args: {{text: "one two"}}
        as: words
"""
TOOL: Final = '''
def count(text: str) -> int:
    """Count words."""
    return len(text.split())
'''


@dataclass(frozen=True, slots=True)
class Case:
    """One command."""

    name: str
    words: tuple[str, ...]
    """Arguments; `{shop}`, `{other}`, `{site}` and `{model}` are the addresses of servers."""
    again: tuple[str, ...] = ()
    """Further arguments where an earlier run left output."""
    program: tuple[str, ...] = EIKON
    """Arguments of the interpreter that run it."""
    folder: str = "."
    seconds: float | None = None
    """After how long a command is stopped that does not end by itself, which Ctrl-C may end with 0 or 1."""

    def arguments(self, addresses: dict[str, str], *, is_again: bool) -> list[str]:
        """Return the command line."""
        words = (*self.words, *(self.again if is_again else ()))
        return [sys.executable, *self.program, *(word.format(**addresses) for word in words)]

    def statuses(self, usual: int) -> set[int]:
        """Return with which exit statuses it may end, besides those of the signal."""
        own = {PYTEST_INTERRUPTED} if "pytest" in self.program else set()
        return own | ({usual} if self.seconds is None else {usual, 0, 1, 143})


_BUNDLE: Final = f"{INPUT}/bundle"
_OTHER: Final = f"{INPUT}/other"
_RUN: Final = f"{INPUT}/run"
_FORCE: Final = ("--force",)
CASES: Final = tuple(
    Case(*values)
    for values in (
        ("replay", ("replay", _BUNDLE, "--artifacts-dir", "out")),
        ("replay live", ("replay", _BUNDLE, "--artifacts-dir", "out", "--network", "live")),
        ("certify", ("certify", "bundle", "--runs", "2", "--parallel", "2")),
        ("certify --accept", ("certify", "bundle", "--runs", "2", "--accept")),
        ("record --script", ("record", "--script", "agent.py", "-o", "recorded", "--no-certify"), _FORCE),
        ("record --script, certified", ("record", "--script", "agent.py", "-o", "recorded"), _FORCE),
        ("record --trace", ("record", _BUNDLE, "-o", "recorded"), _FORCE),
        ("suite run", ("suite", "run", _BUNDLE, f"{INPUT}/skills", "-j", "2", "--artifacts-dir", "out")),
        ("suite record", ("suite", "record", "agent.py", "-o", "recorded", "--no-certify"), _FORCE),
        ("pytest", (_BUNDLE, "--eikon", "-q", "-p", "no:cacheprovider"), (), ("-m", "pytest")),
        ("run", ("run", "scenario.yaml", "--tools", "tools:count", "--no-certify")),
        ("run, certified", ("run", "scenario.yaml", "--tools", "tools:count")),
        (
            "run --mode replay",
            ("run", "scenario.yaml", "--mode", "replay", "--fixtures-dir", f"{INPUT}/runs/first/fixtures"),
        ),
        ("fix trace", ("fix", "trace", _BUNDLE, "--against", "recording", "--runs", "2", "-o", "repaired"), _FORCE),
        (
            "fix loop",
            (
                "fix",
                "loop",
                "--test-cmd",
                ASSERTS,
                "--target-file",
                "price.py",
                "--model",
                "m",
                "--base-url",
                "{model}",
            ),
            ("--allow-dirty",),
            EIKON,
            PROJECT,
        ),
        ("compare", ("compare", _BUNDLE, "--base", "{shop}", "--head", "{other}", "--runs", "2")),
        ("learn", ("learn", _BUNDLE, _OTHER)),
        ("export bundle", ("export", "bundle", _BUNDLE, "-o", "out.zip"), _FORCE),
        ("export har", ("export", "har", _BUNDLE, "-o", "out.har"), _FORCE),
        ("export playwright", ("export", "playwright", _BUNDLE, "-o", "test_out.py"), _FORCE),
        ("export trace", ("export", "trace", _BUNDLE, "-o", "out.zip"), _FORCE),
        ("import", ("import", "browser-use", f"{INPUT}/history.json", "-o", "imported"), _FORCE),
        ("triage", ("triage", _RUN, "-o", "triage.json", "--json"), _FORCE),
        ("skills rerun", ("skills", "rerun", f"{INPUT}/skills", "--json")),
        ("scan", ("scan", _BUNDLE)),
        ("report", ("report", _RUN, "--format", "html", "-o", "report.html"), _FORCE),
        ("diff", ("diff", _BUNDLE, _OTHER)),
        ("trace set", ("trace", "set", _BUNDLE, "mission_text=Buy", "-o", "edited"), _FORCE),
        ("history", ("history",)),
        ("debug start", ("debug", "start", _BUNDLE, "--run"), (), EIKON, ".", 6.0),
        (
            "record --url",
            ("record", "--url", "{shop}/", "-o", "recorded", "--headless", "--no-certify"),
            _FORCE,
            EIKON,
            ".",
            6.0,
        ),
        ("show", ("show", _RUN, "--port", "0"), (), EIKON, ".", 3.0),
        ("demo", ("demo", "--port", "0"), (), EIKON, ".", 3.0),
    )
)
PREPARED: Final = (
    ("replay", "diverging", "--artifacts-dir", _RUN),
    (
        *("run", "scenario.yaml", "--tools", "tools:count", "--no-certify"),
        "--runs-dir",
        f"{INPUT}/runs",
        "--run-id",
        "first",
    ),
)
"""Commands that make input of others."""


@contextmanager
def served(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the shop twice, a site and a model, and write the folder that each command gets a copy of."""
    site = folder.with_name("site")
    shutil.copytree("scenarios/site", site)
    with serve_shop() as shop, serve_shop() as other, serve_folder(site) as url, serve_model() as model:
        model.reply = lambda _: GOOD_FIX
        addresses = {"shop": shop.url, "other": other.url, "site": url, "model": f"{model.url}"}
        _write(folder, shop, addresses)
        yield addresses


def _write(folder: Path, shop: ShopServer, addresses: dict[str, str]) -> None:
    given = folder / INPUT
    given.mkdir(parents=True)
    for name in ("bundle", "other"):
        shop.restart()
        asyncio.run(_record(given / name, shop.url))
    shutil.copytree(given / "bundle", folder / "bundle")
    shutil.copytree("tests/data/traces/shop_passing", given / "skills")
    shutil.copytree("tests/data/traces/shop_diverging", folder / "diverging")
    shutil.copy("tests/data/histories/browser_use.json", given / "history.json")
    (folder / "agent.py").write_text(AGENT.format(**addresses), encoding="utf-8")
    (folder / "scenario.yaml").write_text(SCENARIO.format(**addresses), encoding="utf-8")
    (folder / "tools.py").write_text(TOOL, encoding="utf-8")
    make_project(folder / PROJECT, PRICE_PROJECT)
    for words in PREPARED:
        subprocess.run([sys.executable, *EIKON, *words], cwd=folder, check=False, capture_output=True, timeout=180)


async def _record(folder: Path, url: str) -> None:
    recorder = open_recorder(folder, mission_text="Put a banana into the cart", mission_id="banana")
    async with recorder as mission, mission.subgoal("Buy", subgoal_id="buy"):
        await mission.perform(Navigate(url=f"{url}/product/1"))
        await mission.perform(Fill(target=css("#quantity"), text="3"))
        await mission.perform(Click(target=css("#add-to-cart")))
        await mission.perform(Navigate(url=f"{url}/cart"))
