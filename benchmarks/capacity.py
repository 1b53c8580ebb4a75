"""What a day of 10,000 or 1,000,000 missions needs: measured costs of a mission, and a simulation of the rest.

Run: `python -m benchmarks.capacity [--from FILE] [--save FILE] [--picture FILE]` in the environment of scripts/test, on
Linux. Missions on three sites are recorded, and replayed with the bundled ones by `eikon suite run` on this machine:
durations, processor time, memory of a worker, and bytes of bundles and artifacts. Where other processes were busy
meanwhile, replays took longer than they do alone: then durations are scaled so that the two replays that a core makes
at once take as long as the processor time of both. `--save` keeps what was measured, `--from` takes it from such a
file.

The durations are then drawn again for the missions of a day, by `--seed`, and handed out as `eikon suite run` does
(`benchmarks/simulated_suite.py`) to as few machines of `--cores` cores as reach a goal: all missions at once, to end
within an hour, or a day; or evenly over the day, of which 95 % are to end within a minute. `--lost` is the share of
replays that lose their browser, `--failing` that of missions whose artifacts have a report.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import product
from math import ceil
from pathlib import Path
from random import Random  # noqa: TID251 - seeded
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.chart import Axis, Line, draw
from benchmarks.collecting import link_bundle
from benchmarks.engines import write_samples
from benchmarks.resources import ResourceSamples
from benchmarks.simulated_suite import Distribution, Fleet, Mission, SimulatedRun, simulate
from benchmarks.table import table
from eikon_engine.suite.missions import recorded_seconds
from eikon_engine.suite.results import read_suite
from eikon_engine.suite.runner import REPLAYS_AT_ONCE, default_workers
from tests.missions.shop import SHOP_PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MEASURED = ("dispatch", "shop-order", "shop_failing", "shop_passing", "shop_diverging")
"""Bundles that are replayed, beside those of MiniWoB++."""
HOUR, DAY = 3600.0, 86_400.0
SOON_S, SOON_SHARE = 60.0, 0.95
GIGABYTE = 1e9
RETENTION_DAYS = 30
GROWTH = 1.02
"""By how much a fleet that is too small is enlarged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What replays of a suite cost."""

    workers: int
    missions: int
    seconds: float
    """From the start of the first replay to the end of the last."""
    machine_share: float
    """Share of the suite in all processor time that was used meanwhile."""
    start_s: float
    """From the start of the suite to that of the first replay."""
    processor_s: float
    """Of a mission, in all processes."""
    worker_mb: float
    """Memory (PSS) of a worker with its driver and its browser, the largest sample."""
    suite_mb: float
    bundle_bytes: float
    faithful_bytes: float
    """Artifacts of a faithful replay."""
    failed_bytes: float
    """Artifacts of another one, with its report."""
    durations_s: tuple[tuple[float, float], ...]
    """Of the recording and of the replay, by mission."""

    @property
    def scale(self) -> float:
        """Return by what durations are multiplied: less than 1 if replays waited for other processes."""
        replayed_s = mean([replayed for _, replayed in self.durations_s])
        return min(1.0, REPLAYS_AT_ONCE * self.processor_s / replayed_s)

    @property
    def idle_start_s(self) -> float:
        """Return the seconds until a worker makes replays, on an idle machine."""
        return self.start_s * self.scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Missions of a day, and when they should be done."""

    missions: int
    arrival: str
    distribution: Distribution
    text: str
    least_s: float
    """Time within which a fleet must be able to make all replays, at least."""
    is_reached: Callable[[Sequence[Mission], SimulatedRun], bool]


def measure(copies: int, workers: int) -> Measured:
    """Record missions, replay them as a suite, and return what that cost."""
    with tempfile.TemporaryDirectory(prefix="eikon-capacity-") as made:
        project = Path(made)
        samples = asyncio.run(write_samples(project / "samples"))
        bundles = {}
        for name, sample in samples.items():
            for number in range(copies if name in MEASURED or name.startswith("miniwob") else 0):
                bundle = project / "traces" / f"{name}_{number:02d}"
                link_bundle(sample, bundle)
                bundles[f"traces/{bundle.name}"] = bundle
        command = [sys.executable, "-m", "eikon_engine", "suite", "run", "traces", "-j", str(workers)]
        environment = {**os.environ, "EIKON_HISTORY": "off", "EIKON_SECRET_PASSWORD": SHOP_PASSWORD}
        with (
            subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.DEVNULL) as process,
            ResourceSamples(process.pid, 2.0) as used,
        ):
            process.wait()
        folder = project / "suite_artifacts"
        suite = read_suite(folder)
        begin = min(each.started_at for each in suite.results)
        ends = [each.started_at.timestamp() + each.duration_ms / 1000 for each in suite.results]
        sizes = {True: list[int](), False: list[int]()}
        for each in suite.results:
            sizes[each.verdict == "faithful"].append(size_of(folder / each.artifacts))
        worker_mb = [sum(s.pss_mb.get(kind, 0) for kind in ("worker", "driver", "browser")) for s in used.samples]
        return Measured(
            workers=workers,
            missions=len(suite.results),
            seconds=max(ends) - begin.timestamp(),
            machine_share=used.own_s / used.machine_s,
            start_s=(begin - suite.started_at).total_seconds(),
            processor_s=used.own_s / len(suite.results),
            worker_mb=max(worker_mb) / workers,
            suite_mb=max(sample.pss_mb.get("suite", 0) for sample in used.samples),
            bundle_bytes=mean([size_of(each) for each in bundles.values()]),
            faithful_bytes=mean(sizes[True]),
            failed_bytes=mean(sizes[False]),
            durations_s=tuple(
                (recorded_seconds(bundles[each.name]), each.duration_ms / 1000) for each in suite.results
            ),
        )


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 without values."""
    return sum(values) / len(values) if values else 0.0


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def missions_of_a_day(measured: Measured, count: int, arrival: str, chance: Random) -> list[Mission]:
    """Draw missions from those that were measured; they arrive at once, or evenly over the day."""
    return [
        Mission(
            recorded_s=recorded,
            duration_s=replayed * measured.scale,
            arrival_s=number * DAY / count if arrival == "evenly" else 0.0,
        )
        for number, (recorded, replayed) in enumerate(chance.choices(measured.durations_s, k=count))
    ]


def goals(counts: Sequence[int]) -> tuple[Goal, ...]:
    """Return what is simulated."""

    def ends_within(limit_s: float) -> Callable[[Sequence[Mission], SimulatedRun], bool]:
        return lambda _, run: run.makespan_s <= limit_s

    def ends_soon(missions: Sequence[Mission], run: SimulatedRun) -> bool:
        return latencies(missions, run)[ceil(SOON_SHARE * len(missions)) - 1] <= SOON_S

    def goals_of(count: int) -> Iterator[Goal]:
        for (text, limit_s), distribution in product((("within an hour", HOUR), ("within a day", DAY)), DISTRIBUTIONS):
            yield Goal(
                missions=count,
                arrival="at once",
                distribution=distribution,
                text=text,
                least_s=limit_s,
                is_reached=ends_within(limit_s),
            )
        yield Goal(
            missions=count,
            arrival="evenly",
            distribution="queue",
            text="95 % within a minute",
            least_s=DAY,
            is_reached=ends_soon,
        )

    return tuple(goal for count in counts for goal in goals_of(count))


DISTRIBUTIONS: tuple[Distribution, ...] = ("queue", "shards")


def latencies(missions: Sequence[Mission], run: SimulatedRun) -> list[float]:
    """Return the times from the arrival of each mission to its end, sorted."""
    return sorted(end - mission.arrival_s for mission, end in zip(missions, run.ended_s, strict=True))


def smallest_fleet(
    measured: Measured, goal: Goal, chosen: argparse.Namespace
) -> tuple[int, Fleet, Sequence[Mission], SimulatedRun]:
    """Return the least possible number of machines, a fleet that reaches a goal, and its run."""
    missions = missions_of_a_day(measured, goal.missions, goal.arrival, Random(chosen.seed))  # noqa: S311 - no secret
    total_s = sum(each.duration_s for each in missions)
    least = machines = ceil(total_s / (goal.least_s * chosen.cores * REPLAYS_AT_ONCE))
    while True:
        fleet = Fleet(
            machines=machines,
            workers=chosen.cores,
            start_s=measured.idle_start_s,
            distribution=goal.distribution,
            lost_share=chosen.lost,
        )
        run = simulate(missions, fleet, Random(chosen.seed))  # noqa: S311 - no secret
        if goal.is_reached(missions, run):
            return least, fleet, missions, run
        machines = max(machines + 1, ceil(machines * GROWTH))


def row_of(measured: Measured, goal: Goal, chosen: argparse.Namespace) -> tuple[object, ...]:
    """Return the row of a goal."""
    least, fleet, missions, run = smallest_fleet(measured, goal, chosen)
    times = latencies(missions, run)
    busy = sum(each.duration_s for each in missions) / (fleet.slots * run.makespan_s)
    return (
        f"{goal.missions:,}",
        goal.arrival,
        goal.distribution,
        goal.text,
        least,
        fleet.machines,
        _time(times[ceil(0.95 * len(times)) - 1]),
        _time(times[-1]),
        f"{busy:.0%}",
        run.replays - goal.missions,
        run.lost_twice,
    )


HEADS = (
    "missions",
    "arrive",
    "distribution",
    "goal",
    "least",
    "machines",
    "95 % after",
    "all after",
    "slots busy",
    "again",
    "lost",
)


def storage_rows(measured: Measured, counts: Sequence[int], failing: float) -> list[tuple[object, ...]]:
    """Return what is stored of each number of missions: gigabytes of a day, and of all days that are kept."""
    rows: list[tuple[object, ...]] = []
    for count in counts:
        bundles = count * measured.bundle_bytes / GIGABYTE
        failed = count * failing * measured.failed_bytes / GIGABYTE
        whole = failed + count * (1 - failing) * measured.faithful_bytes / GIGABYTE
        rows.append((f"{count:,}", bundles, whole, failed, whole * RETENTION_DAYS, failed * RETENTION_DAYS))
    return rows


def draw_picture(measured: Measured, count: int, chosen: argparse.Namespace) -> str:
    """Draw how long a fleet takes for all missions of a day at once, by its size."""
    missions = missions_of_a_day(measured, count, "at once", Random(chosen.seed))  # noqa: S311 - no secret
    total_s, longest_s = sum(each.duration_s for each in missions), max(each.duration_s for each in missions)
    hour = ceil(total_s / (HOUR * chosen.cores * REPLAYS_AT_ONCE))
    sizes = sorted({max(1, round(hour * factor)) for factor in (0.1, 0.3, 1, 3, 10, 30, 100, 200)})
    lines: dict[str, list[tuple[float, float]]] = {"queue": [], "shards": [], "least possible": []}
    for machines in sizes:
        for distribution in DISTRIBUTIONS:
            fleet = Fleet(
                machines=machines,
                workers=chosen.cores,
                start_s=measured.idle_start_s,
                distribution=distribution,
                lost_share=chosen.lost,
            )
            run = simulate(missions, fleet, Random(chosen.seed))  # noqa: S311 - no secret
            lines[distribution].append((machines, run.makespan_s / 60))
        least_s = max(longest_s, total_s / (machines * chosen.cores * REPLAYS_AT_ONCE))
        lines["least possible"].append((machines, least_s / 60))
    return draw(
        f"{count:,} missions at once: minutes until the last one has ended",
        Axis(title=f"machines of {chosen.cores} cores", is_logarithmic=True),
        Axis(title="minutes", is_logarithmic=True),
        [Line(name=name, points=points) for name, points in lines.items()],
    )


def print_measured(measured: Measured, cores: int) -> None:
    """Print the costs of a mission."""
    replayed = sorted(seconds * measured.scale for _, seconds in measured.durations_s)
    rows: Mapping[str, str] = {
        "suite": f"{measured.missions} missions, {measured.workers} workers",
        "seconds": f"{measured.seconds:.1f}, with {measured.machine_share:.0%} of the processor time that was used",
        "durations": f"multiplied by {measured.scale:.2f}",
        "replay": f"mean {mean(replayed):.2f} s, median {median(replayed):.2f} s, longest {replayed[-1]:.2f} s",
        "missions": f"{60 * REPLAYS_AT_ONCE / mean(replayed):.1f} a minute and core",
        "processor time": f"{measured.processor_s:.2f} s a mission",
        "start of a worker": f"{measured.idle_start_s:.2f} s",
        "memory of a worker": f"{measured.worker_mb:.0f} MB; a machine of {cores} cores: "
        f"{(measured.worker_mb * cores + measured.suite_mb) / 1024:.1f} GB",
        "bundle": f"{measured.bundle_bytes / 1000:.0f} kB",
        "artifacts": f"{measured.faithful_bytes / 1000:.0f} kB, {measured.failed_bytes / 1000:.0f} kB if not faithful",
    }
    sys.stdout.write(table(("measured", ""), list(rows.items())) + "\n")


def main() -> int:
    """Measure, simulate, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=Path, help="what was measured before")
    parser.add_argument("--save", type=Path, help="file for what is measured")
    parser.add_argument("--picture", type=Path, help="SVG file")
    parser.add_argument("--copies", type=int, default=3, help="of each measured mission")
    parser.add_argument("--missions", type=int, nargs="+", default=[10_000, 1_000_000], help="a day")
    parser.add_argument("--cores", type=int, default=16, help="of a machine")
    parser.add_argument("--lost", type=float, default=0.005)
    parser.add_argument("--failing", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    measured = _read(chosen.source) if chosen.source else measure(chosen.copies, default_workers())
    if chosen.save:
        chosen.save.write_text(json.dumps(asdict(measured), indent=1) + "\n", encoding="utf-8")
    print_measured(measured, chosen.cores)
    begin = time.perf_counter()
    rows = [row_of(measured, goal, chosen) for goal in goals(chosen.missions)]
    sys.stdout.write(table(HEADS, rows) + "\n")
    heads = ("missions", "bundles GB", "artifacts a day GB", "of failures", "30 days", "of failures")
    sys.stdout.write(table(heads, storage_rows(measured, chosen.missions, chosen.failing)) + "\n")
    hours = ", ".join(f"{count:,}: {count * measured.processor_s / HOUR:,.0f}" for count in chosen.missions)
    sys.stdout.write(f"hours of a core a day: {hours}\n")
    if chosen.picture:
        chosen.picture.write_text(draw_picture(measured, max(chosen.missions), chosen), encoding="utf-8")
    sys.stdout.write(f"simulated in {time.perf_counter() - begin:.0f} s\n")
    return 0


def _read(path: Path) -> Measured:
    data = json.loads(path.read_text(encoding="utf-8"))
    return Measured(**{**data, "durations_s": tuple((first, second) for first, second in data["durations_s"])})


def _time(seconds: float) -> str:
    if seconds < 2 * 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} h"


if __name__ == "__main__":
    sys.exit(main())
