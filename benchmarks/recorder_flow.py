"""What a flow of Chrome's DevTools Recorder and a live replay each find of changes of a site.

Run: `python -m benchmarks.recorder_flow [CHANGE ...]` in the environment of scripts/test, with npm on the path. The
bundled mission is repeated on our shop, unchanged and after each of its changes that the mission meets
(`tests/sites/shop/changes.py`): by @puppeteer/replay from `benchmarks/speed/flows/shop.json`, which asserts what the
Recorder writes by itself, and by `eikon replay --network live`. A flow that fails is tried again twice, since it fails
on the unchanged shop, too, now and then; a replay is made once. Prints which of them passed. Ends with 1 if either
fails on the unchanged shop.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.speed.__main__ import install_puppeteer
from benchmarks.table import table
from eikon_engine.browser.executable import find_browser
from tests.missions.shop import SHOP_PASSWORD
from tests.sites.shop import serve_shop
from tests.sites.shop.changes import CHANGE_TABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[1]
PORT: Final = 8642
"""Where the bundled mission was recorded."""
MET: Final = frozenset(
    {"GET /", "GET /prices", "GET /product/1", "GET /static/cart.js", "GET /static/shop.js", "POST /api/cart"}
)
"""Requests of the mission that changes of the shop concern."""
FLOW_TRIES: Final = 3
TIMEOUT_S: Final = 120


def main() -> int:
    """Repeat the mission on each variant of the shop, and print a table."""
    met = [change.name for change in CHANGE_TABLE if MET.intersection(change.where)]
    parser = argparse.ArgumentParser(description="Compare a Recorder flow and a live replay on changes of a shop.")
    parser.add_argument("changes", nargs="*", metavar="CHANGE", help=f"by default all: {', '.join(met)}")
    changes: list[str] = parser.parse_args().changes or met
    what = {change.name: change.what for change in CHANGE_TABLE}
    rows = []
    with serve_shop(port=PORT) as shop, tempfile.TemporaryDirectory() as artifacts:
        for change in (None, *changes):
            for _ in range(FLOW_TRIES):
                shop.restart(change)
                flow = _passes(_flow_command(shop.url), install_puppeteer())
                if flow == "passed":
                    break
            shop.restart(change)
            replay = _passes(_replay_command(Path(artifacts) / (change or "none")), ROOT)
            rows.append((change or "none", flow, replay, what.get(change or "", "the unchanged shop")))
    sys.stdout.write(table(("change", "@puppeteer/replay", "eikon replay", "what"), rows))
    passed = [sum(row[column] == "passed" for row in rows[1:]) for column in (1, 2)]
    sys.stdout.write(f"{len(changes)} changes: @puppeteer/replay passed {passed[0]}, eikon replay {passed[1]}\n")
    return int(rows[0][1:3] != ("passed", "passed"))


def _flow_command(url: str) -> tuple[str, ...]:
    speed = ROOT / "benchmarks" / "speed"
    browser = str(find_browser(None, environ=os.environ).path)
    return ("node", str(speed / "replay_flow.mjs"), str(speed / "flows" / "shop.json"), url, browser)


def _replay_command(artifacts: Path) -> tuple[str, ...]:
    options = ("--network", "live", "--secret", f"PASSWORD={SHOP_PASSWORD}", "--artifacts-dir", str(artifacts))
    return (sys.executable, "-m", "eikon_engine", "replay", "tests/data/traces/shop_passing", *options)


def _passes(command: Sequence[str], folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "EIKON_HISTORY": "off"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    return "passed" if done.returncode == 0 else "failed"


if __name__ == "__main__":
    sys.exit(main())
