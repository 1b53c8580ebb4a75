"""How many missions a minute `eikon suite run` replays, beside single commands and plain Playwright scripts.

Run: `python -m benchmarks.suite [--missions 100] [--singles 10] [--workers N]` in the environment of scripts/test, on
Linux. The bundled mission is copied under that many mission ids. Prints missions a minute of the suite; of single
`eikon replay` commands, one after the other; and of the same mission as a plain Playwright script on the live site, one
after the other in one browser; with the ratios of the suite to both. The last two are measured on `--singles` missions,
half before and half after the suite. Then the memory of the browsers (PSS, MB) during the suite. Exits with 1 if a
replay is not faithful.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import async_playwright

from benchmarks.many import PASSING, browser_memory
from benchmarks.speed.subjects import buy_bananas
from benchmarks.table import table
from eikon_engine.browser.executable import find_browser
from eikon_engine.suite.results import read_suite
from tests.sites.shop import serve_shop

SAMPLE_S = 5.0


@dataclass(slots=True)
class MemorySamples:
    """Memory of the browsers and workers below a process, while a block runs."""

    process: int
    samples: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since the beginning, and PSS in MB."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        """Sample until `end`."""
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def end(self) -> None:
        """Stop."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _sample(self) -> None:
        begin = time.perf_counter()
        while not self._ended.wait(SAMPLE_S):
            self.samples.append((time.perf_counter() - begin, browser_memory(self.process).pss))


def copy_missions(folder: Path, count: int) -> Path:
    """Copy the bundled mission under other ids."""
    for number in range(count):
        bundle = folder / f"mission_{number:04d}"
        shutil.copytree(PASSING, bundle)
        trace = bundle / "trace.json"
        text = trace.read_text()
        trace.write_text(text.replace('"mission_id": "shop_passing"', f'"mission_id": "{bundle.name}"', 1))
    return folder


def run_suite(traces: Path, folder: Path, workers: str) -> tuple[float, MemorySamples, bool]:
    """Return the seconds of the suite, its memory, and whether all was faithful."""
    command = [sys.executable, "-m", "eikon_engine", "suite", "run", str(traces), "--artifacts-dir", str(folder)]
    begin = time.perf_counter()
    with subprocess.Popen([*command, "-j", workers], env=environment(), stdout=subprocess.DEVNULL) as process:
        memory = MemorySamples(process.pid)
        memory.begin()
        process.wait()
        memory.end()
    seconds = time.perf_counter() - begin
    return seconds, memory, read_suite(folder).exit_status == 0


def run_singles(traces: Path, folder: Path, count: int) -> float:
    """Return the seconds of single commands, one after the other."""
    begin = time.perf_counter()
    for bundle in sorted(traces.iterdir())[:count]:
        command = [
            sys.executable,
            "-m",
            "eikon_engine",
            "replay",
            str(bundle),
            "--artifacts-dir",
            str(folder / bundle.name),
        ]
        subprocess.run(command, check=True, env=environment(), capture_output=True)
    shutil.rmtree(folder)
    return time.perf_counter() - begin


def run_scripts(count: int) -> float:
    """Return the seconds of the mission as a plain script, one after the other in one browser."""

    async def perform(url: str) -> float:
        path = find_browser(None, environ=os.environ).path
        async with async_playwright() as playwright:
            begin = time.perf_counter()
            browser = await playwright.chromium.launch(executable_path=path)
            for _ in range(count):
                context = await browser.new_context()
                await buy_bananas(await context.new_page(), url)
                await context.close()
            await browser.close()
            return time.perf_counter() - begin

    with serve_shop() as shop:
        return asyncio.run(perform(shop.url))


def environment() -> dict[str, str]:
    """Return the environment of the commands, without a history."""
    return {**os.environ, "EIKON_HISTORY": "off"}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missions", type=int, default=100)
    parser.add_argument("--singles", type=int, default=10)
    parser.add_argument("--workers", default="auto")
    chosen = parser.parse_args()
    half = max(1, chosen.singles // 2)
    with tempfile.TemporaryDirectory(prefix="eikon-suite-") as made:
        scratch = Path(made)
        traces = copy_missions(scratch / "traces", chosen.missions)
        singles, scripts = run_singles(traces, scratch / "single", half), run_scripts(half)
        seconds, memory, is_faithful = run_suite(traces, scratch / "suite", chosen.workers)
        singles += run_singles(traces, scratch / "single", half)
        scripts += run_scripts(half)
    rates = {
        "eikon suite run": chosen.missions / seconds * 60,
        "single eikon replay": half * 2 / singles * 60,
        "Playwright scripts, one browser": half * 2 / scripts * 60,
    }
    ours = rates["eikon suite run"]
    rows = [(name, f"{rate:.1f}", f"{ours / rate:.2f}") for name, rate in rates.items()]
    sys.stdout.write(table(("way", "missions a minute", "ratio of the suite"), rows))
    step = max(1, len(memory.samples) // 12)
    shown = [(f"{after:.0f}", f"{pss:.0f}") for after, pss in memory.samples[::step]]
    sys.stdout.write("\n" + table(("seconds", "PSS MB of browsers"), shown))
    return 0 if is_faithful else 1


if __name__ == "__main__":
    sys.exit(main())
