"""How long heavy pages take in a sealed replay: 100 small subresources, and one body of 20 MB next to small ones.

Run: `python -m benchmarks.heavy_pages [--rounds 7]` in the environment of scripts/test. A local site is recorded
and stopped. Prints medians of the rounds, without launch: how long a plain script takes to load the page of 100
images of 5 kB from the live site, and the sealed replay of that step; how long the step takes that fetches 20 MB and
twenty small bodies, and how long without the large one; and the longest time that the replay's event loop was blocked.
Exits with 1 if the 100 images take longer than 0.35 s.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from playwright.async_api import async_playwright

from benchmarks.table import table
from eikon_engine.browser.executable import find_browser
from eikon_engine.record import open_recorder
from eikon_engine.replay.engine import replay_many
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.actions import Navigate, SelectorCondition, WaitFor
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.target import Target

SUB_RESOURCES = 100
SMALL = 5_000
LARGE = 20_000_000
LONGEST_S = 0.35
PAGES = ("many", "large", "small")
FETCHES = """<!doctype html><title>Fetches</title><p id=out>waits<script>
const urls = {urls};
Promise.all(urls.map(url => fetch(url).then(answer => answer.arrayBuffer()))).then(bodies => {{
  out.textContent = bodies.reduce((sum, body) => sum + body.byteLength, 0);
  out.dataset.state = 'done';
}});
</script>"""


@dataclass(slots=True)
class Measured:
    """Seconds of each round, by measurement."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Add one value."""
        self.seconds.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        """Return the median."""
        return statistics.median(self.seconds[name])


def _page(name: str) -> str:
    if name == "many":
        images = "".join(f"<img src=/image/{number}>" for number in range(SUB_RESOURCES))
        return f"<!doctype html><title>Many</title><p id=out data-state=done>{images}"
    urls = [f"/body/{number}" for number in range(20)]
    return FETCHES.format(urls=urls if name == "small" else ["/large", *urls])


async def _serve() -> tuple[web.AppRunner, str]:
    picture = f"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><!--{'x' * SMALL}--></svg>".encode()
    noise = os.urandom(LARGE)

    async def image(_request: web.Request) -> web.Response:
        return web.Response(body=picture, content_type="image/svg+xml")

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=_page(request.path.strip("/")), content_type="text/html")

    async def body(request: web.Request) -> web.Response:
        return web.Response(body=noise if request.path == "/large" else noise[:SMALL])

    app = web.Application()
    app.add_routes([web.get(f"/{name}", page) for name in PAGES])
    app.add_routes([web.get("/image/{number}", image), web.get("/body/{number}", body), web.get("/large", body)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


async def _record(folder: Path, url: str) -> None:
    async with open_recorder(folder, mission_text="Load heavy pages", mission_id="heavy_pages") as mission:
        for name in PAGES:
            async with mission.subgoal(name, subgoal_id=name):
                await mission.perform(Navigate(url=f"{url}/{name}"))
                done = SelectorCondition(target=Target(selector="#out[data-state=done]"), state="visible")
                await mission.perform(WaitFor(condition=done))


async def _plain(url: str, rounds: int, measured: Measured) -> None:
    binary = find_browser(None, environ=os.environ)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(binary.path), chromium_sandbox=os.geteuid() != 0)
        for _ in range(rounds):
            context = await browser.new_context()
            page = await context.new_page()
            begin = time.perf_counter()
            await page.goto(f"{url}/many")
            measured.add("plain", time.perf_counter() - begin)
            await context.close()
        await browser.close()


async def _longest_stop(measured: Measured) -> None:
    """Return the longest time for which the event loop was blocked, measured until cancelled."""
    longest = 0.0
    try:
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.002)
            longest = max(longest, time.perf_counter() - begin)
    finally:
        measured.add("stop", longest)


async def _sealed(bundle: Path, scratch: Path, rounds: int, measured: Measured) -> bool:
    chosen = [ReplayOptions(artifacts_dir=scratch / str(number), reports=()) for number in range(rounds + 1)]
    watch = asyncio.ensure_future(_longest_stop(measured))
    runs = await replay_many(open_bundle(bundle), chosen, parallel=1)
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    for run in runs[1:]:  # the first one warms up
        for subgoal in run.outcome.subgoals:
            measured.add(subgoal.subgoal_id, sum(step.duration_ms for step in subgoal.steps) / 1000)
    return all(run.outcome.verdict == "faithful" for run in runs)


async def _measure(rounds: int) -> int:
    measured = Measured()
    with tempfile.TemporaryDirectory(prefix="eikon-heavy-") as scratch:
        runner, url = await _serve()
        bundle = Path(scratch) / "bundle"
        await _record(bundle, url)
        await _plain(url, rounds, measured)
        await runner.cleanup()
        faithful = await _sealed(bundle, Path(scratch), rounds, measured)
    rows = [
        ("plain script, live: 100 images of 5 kB", f"{measured.median('plain'):.2f}"),
        ("sealed: the same, with the observation", f"{measured.median('many'):.2f}"),
        ("sealed: 20 bodies of 5 kB", f"{measured.median('small'):.2f}"),
        ("sealed: the same and 20 MB", f"{measured.median('large'):.2f}"),
        ("longest stop of the event loop", f"{measured.median('stop'):.2f}"),
    ]
    sys.stdout.write(table(("what", "seconds"), rows))
    sys.stdout.write(f"all faithful: {faithful}\n")
    return 0 if faithful and measured.median("many") <= LONGEST_S else 1


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Measure heavy pages in a sealed replay.")
    parser.add_argument("--rounds", type=int, default=7)
    return asyncio.run(_measure(parser.parse_args().rounds))


if __name__ == "__main__":
    sys.exit(main())
