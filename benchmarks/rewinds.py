"""Proves that rewinds restore everything: random rewinds of several missions are equal to the observations, and fast.

Run: `python -m benchmarks.rewinds [--rewinds 100] [--seed 7] [--speed 10]` in the environment of scripts/test. The
bundled shop missions, Django's admin, a control room, and a page with a counter in a closure are stepped through once;
then they are rewound to random iterations, from parked pages or from the start, depending on the state. Each layer of
each replayed step is compared with what was observed; on the counter page, the closure is read as well. Then a rewind
over 20 steps of the shop mission is timed, from the start and from a parked page. Exits with 1 if a rewind is not
faithful, or a median exceeds its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random  # noqa: TID251 - seeded: the same rewinds each time
from typing import TYPE_CHECKING, Final

from benchmarks.subjects import Subject, subject
from benchmarks.table import table
from eikon_engine.debug.context_pool import ContextOptions, PoolSlot, open_context_pool
from eikon_engine.errors import EikonError
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from tests.missions.counter import ANSWER, COUNTER, COUNTER_PAGE, SECRET, count_up
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.debug.context_pool import ContextPool
    from eikon_engine.debug.history import History
    from eikon_engine.debug.replay_context import ReplayContext

NAMES: Final = ("shop_passing", "shop_failing", "shop_diverging", "django-admin", "dispatch")
OVER: Final = 20
SHARE_PARKED: Final = 0.4
"""Share of the rewinds before which the session pauses."""
LIMITS_MS: Final = {"reexecuted": 2500.0, "parked": 300.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The results of the rewinds of one mission."""

    name: str
    steps: int
    equal: int
    rewinds: int
    parked: int
    """Number of rewinds that began at a parked page."""
    digests: int
    """Number of digests that were compared and equal."""
    faults: tuple[str, ...]


async def asked(line: ReplayContext) -> JsonValue:
    """Read the closure of the counter page, if that page is open."""
    page = line.session.page(0)
    return None if page is None else await page.evaluate("() => window.asked ? window.asked() : null")


async def do_all(line: ReplayContext) -> Mapping[int, JsonValue]:
    """Step through a mission to its end; return the value of its closure after each step."""
    said = {0: await asked(line)}
    while line.next_step is not None:
        async for _ in line.advance():
            pass
        said[line.iteration] = await asked(line)
    return said


async def rewind(lines: ContextPool, way: History, iteration: int, said: JsonValue) -> tuple[str, int, str]:
    """Rewind to an iteration once; return the method, the number of equal digests, and any failure."""
    try:
        arrived = await lines.restore(way.until(iteration), iteration)
    except EikonError as error:
        return "", 0, f"{iteration}: {error.message}"
    now = await asked(arrived.context)
    lines.parking.discard(arrived.context)
    return arrived.method, arrived.verified, "" if now == said else f"{iteration}: the closure says {now}, not {said}"


async def prove(chosen: Subject, rewinds: int, chance: Random) -> Told:
    """Rewind one mission the given number of times, sometimes after a pause in which pages are parked."""
    bundle = open_bundle(chosen.bundle)
    options = ContextOptions(replay=ReplayOptions(secrets=chosen.secrets))
    results = []
    async with open_context_pool(bundle, options) as lines:
        line = await lines.open(bundle)
        said = await do_all(line)
        for _ in range(rewinds):
            iteration = chance.randint(0, line.step_count)
            if chance.random() < 0.3:
                lines.parking.start([PoolSlot(history=line.history, iteration=chance.randint(0, iteration))])
                await lines.parking.wait()
            results.append(await rewind(lines, line.history, iteration, said[iteration]))
        steps = line.step_count
    return Told(
        name=chosen.name,
        steps=steps,
        equal=sum(not fault for _, _, fault in results),
        rewinds=len(results),
        parked=sum(how == "parked" for how, _, _ in results),
        digests=sum(digests for _, digests, _ in results),
        faults=tuple(fault for _, _, fault in results if fault),
    )


async def time_rewinds(often: int) -> dict[str, float]:
    """Return the median milliseconds of a rewind over 20 steps, by method."""
    chosen = await subject("shop_passing", Path())
    bundle = open_bundle(chosen.bundle)
    took: dict[str, list[float]] = {"reexecuted": [], "parked": []}
    async with open_context_pool(bundle, ContextOptions()) as lines:
        line = await lines.open(bundle)
        await do_all(line)
        for _ in range(often):
            for parked in (False, True):
                if parked:
                    lines.parking.start([PoolSlot(history=line.history, iteration=OVER)])
                    await lines.parking.wait()
                arrived = await lines.restore(line.history.until(OVER), OVER)
                took[arrived.method].append(arrived.duration_ms)
                await arrived.context.close()
    return {how: statistics.median(times) for how, times in took.items()}


async def record_counter(folder: Path) -> Subject:
    """Record the counter page."""
    site = folder / "counter-site"
    site.mkdir()
    (site / COUNTER).write_text(COUNTER_PAGE)
    (site / ANSWER[0]).write_text(ANSWER[1])
    with serve_folder(site) as url:
        options = RecordOptions(secrets={SECRET: "Ada"})
        async with open_recorder(folder / "counter", mission_text="Count", options=options) as mission:
            await count_up(mission, url)
    return Subject(name="counter", bundle=folder / "counter")


async def run(rewinds: int, seed: int, often: int) -> bool:
    """Run and print everything; return whether all rewinds were faithful and fast."""
    chance = Random(seed)  # noqa: S311 - no secret hangs on it
    rows: list[Told] = []
    with tempfile.TemporaryDirectory(prefix="eikon-rewinds-") as scratch:
        folder = Path(scratch)
        subjects = [*[await subject(name, folder) for name in NAMES], await record_counter(folder)]
        for place, each in enumerate(subjects):
            share = rewinds // len(subjects) + (place < rewinds % len(subjects))
            rows.append(await prove(each, share, chance))
    heads = ("mission", "steps", "rewinds", "equal", "from a parked page", "digests compared")
    cells = [(each.name, each.steps, each.rewinds, each.equal, each.parked, each.digests) for each in rows]
    sys.stdout.write(table(heads, cells))
    sys.stdout.writelines(f"{each.name}, {fault}\n" for each in rows for fault in each.faults)
    medians = await time_rewinds(often)
    limits = [(how, milliseconds, LIMITS_MS[how]) for how, milliseconds in medians.items()]
    sys.stdout.write("\n" + table((f"over {OVER} steps", "median ms", "at most"), limits))
    return all(each.equal == each.rewinds for each in rows) and all(ms <= LIMITS_MS[how] for how, ms in medians.items())


def main() -> int:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rewinds", type=int, default=100, help="in all, over all missions")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--speed", type=int, default=10, help="how often a rewind is timed")
    chosen = parser.parse_args()
    return 0 if asyncio.run(run(chosen.rewinds, chosen.seed, chosen.speed)) else 1


if __name__ == "__main__":
    sys.exit(main())
