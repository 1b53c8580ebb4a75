"""The same suite three ways: `pytest --eikon -n 2`, `eikon suite run`, `eikon suite run --engine ray`.

Run: `python -m benchmarks.engines [--times 1] [--workers 2] [--overhead-missions 20] [--rounds 3]` in the environment
of scripts/test, on Linux. Missions on three sites are recorded, and copied with the bundled ones under more than a
hundred mission ids; some copies are changed so that they diverge, cannot be compared, or cannot be read. Each way
replays them all; printed are the verdicts by way, and each mission whose verdicts differ. Ray is started on this
machine.

Then the engines `local` and `ray` replay copies of the bundled mission, which takes more than a second, by turns.
Printed are the medians of `--rounds` of both: of the command, and from the start of the first replay to the end of the
last; and the ratios. Exits with 1 if a verdict differs, a kind of verdict does not occur, or Ray takes more than a
tenth longer between the first start and the last end. `--rounds 0` compares only the verdicts, `--no-verdicts` measures
only the overhead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.collecting import FAILING, link_bundle
from benchmarks.many import PASSING
from benchmarks.subjects import MINIWOB, subject
from benchmarks.table import counted, table
from eikon_engine.suite.results import read_suite
from eikon_engine.trace.trace_file import TRACE_FILE
from tests.missions.shop import SHOP_PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.outcome.suite_results import SuiteResult

RECORDED = (*MINIWOB, "dispatch", "shop-order")
COPIES: Mapping[str, int] = {
    **dict.fromkeys(MINIWOB, 8),
    "dispatch": 6,
    "shop-order": 6,
    "shop_failing": 24,
    "shop_passing": 4,
    "shop_diverging": 6,
    "other-title": 8,
    "not-observed": 6,
    "not-json": 2,
    "no-network": 2,
}
"""Missions of each kind, by the bundle that they are copies of."""
KINDS = frozenset({"faithful", "diverged", "unverifiable", "failed"})
MAX_RATIO = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How all missions were replayed."""

    name: str
    seconds: float
    verdicts: Mapping[str, str]
    """By bundle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a suite took, in seconds."""

    command: float
    replays: float
    """From the start of the first replay to the end of the last one."""
    each: float
    """Of a replay, the median."""


async def write_samples(folder: Path) -> Mapping[str, Path]:
    """Record the missions, and change copies of bundled ones; return the bundles by the names in `COPIES`."""
    samples = {name: (await subject(name, folder / "recorded")).bundle for name in RECORDED}
    for name in ("shop_failing", "shop_passing", "shop_diverging"):
        samples[name] = shutil.copytree(PASSING.parent / name, folder / name)
    for name, change in CHANGES.items():
        samples[name] = shutil.copytree(FAILING, folder / name)
        change(samples[name])
    return samples


def _change_title(bundle: Path) -> None:
    def change(trace: dict[str, Any]) -> None:
        trace["subgoal_traces"][0]["actions_taken"][0]["observation"]["pages"][0]["title"] = "Other Shop"

    _edit(bundle, change)


def _drop_observation(bundle: Path) -> None:
    def change(trace: dict[str, Any]) -> None:
        trace["subgoal_traces"][-1]["actions_taken"][-1]["observation"] = None

    _edit(bundle, change)


def _edit(bundle: Path, change: Callable[[dict[str, Any]], None]) -> None:
    trace = json.loads((bundle / TRACE_FILE).read_text(encoding="utf-8"))
    change(trace)
    (bundle / TRACE_FILE).write_text(json.dumps(trace, indent=1), encoding="utf-8")


CHANGES: Mapping[str, Callable[[Path], object]] = {
    "other-title": _change_title,
    "not-observed": _drop_observation,
    "not-json": lambda bundle: (bundle / TRACE_FILE).write_text("{", encoding="utf-8"),
    "no-network": lambda bundle: shutil.rmtree(bundle / "network"),
}


def replay_with_pytest(project: Path, workers: int) -> Way:
    """Replay all with the plugin of pytest, in processes of pytest-xdist."""
    report = project / "pytest.xml"
    options = ["--eikon", "-q", "-n", str(workers), f"--junitxml={report}", "-p", "no:cacheprovider"]
    seconds = run(project, "pytest", "traces", *options)
    verdicts = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - our own
        of_case = {each.get("name"): each.get("value") or "" for each in case.iter("property")}
        verdicts[str(case.get("classname")).rpartition(".")[2]] = of_case.get("eikon_verdict", "none")
    return Way(name=f"pytest --eikon -n {workers}", seconds=seconds, verdicts=verdicts)


def replay_with_suite(project: Path, workers: int, engine: str) -> Way:
    """Replay all with the command `suite`."""
    seconds, suite = run_suite(project, "traces", workers, engine)
    verdicts = {each.name.rpartition("/")[2]: each.verdict for each in suite.results}
    return Way(name=f"eikon suite run --engine {engine} -j {workers}", seconds=seconds, verdicts=verdicts)


def run_suite(project: Path, traces: str, workers: int, engine: str) -> tuple[float, SuiteResult]:
    """Run a suite; return its seconds and results."""
    folder = project / f"results_{engine}"
    shutil.rmtree(folder, ignore_errors=True)
    options = ["--engine", engine, "-j", str(workers), "--artifacts-dir", folder.name]
    seconds = run(project, "eikon_engine", "suite", "run", traces, *options)
    return seconds, read_suite(folder)


def run(project: Path, module: str, *arguments: str) -> float:
    """Run a module as a command, whatever its exit status; return its seconds."""
    environment = {**os.environ, "EIKON_HISTORY": "off", "EIKON_SECRET_PASSWORD": SHOP_PASSWORD}
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=project,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return time.perf_counter() - begin


def measure_overhead(project: Path, workers: int, rounds: int) -> Mapping[str, list[Timing]]:
    """Return the times of both engines, by turns."""
    timings: dict[str, list[Timing]] = {"local": [], "ray": []}
    for turn in range(rounds):
        for engine in ("local", "ray") if turn % 2 == 0 else ("ray", "local"):
            seconds, suite = run_suite(project, "long", workers, engine)
            ends = [each.started_at + timedelta(milliseconds=each.duration_ms) for each in suite.results]
            replays = max(ends) - min(each.started_at for each in suite.results)
            each_s = median(each.duration_ms for each in suite.results) / 1000
            timings[engine].append(Timing(command=seconds, replays=replays.total_seconds(), each=each_s))
            sys.stderr.write(f"{engine}: {seconds:.1f} s, replays {replays.total_seconds():.1f} s\n")
    return timings


def print_verdicts(ways: list[Way]) -> bool:
    """Print the verdicts of each way; return whether they are the same, and of every kind."""
    rows = [(way.name, way.seconds, len(way.verdicts), counted(Counter(way.verdicts.values()))) for way in ways]
    sys.stdout.write(table(("way", "seconds", "missions", "verdicts"), rows))
    names = sorted(frozenset().union(*(way.verdicts for way in ways)))
    different = [name for name in names if len({way.verdicts.get(name, "missing") for way in ways}) > 1]
    for name in different:
        found = ", ".join(f"{way.verdicts.get(name, 'missing')} ({way.name})" for way in ways)
        sys.stdout.write(f"{name}: {found}\n")
    sys.stdout.write(f"{len(names)} missions, {len(different)} with different verdicts\n")
    return not different and all(set(way.verdicts.values()) >= KINDS for way in ways)


def print_overhead(timings: Mapping[str, list[Timing]]) -> bool:
    """Print the medians of both engines; return whether Ray's replays take at most `MAX_RATIO` times as long."""
    commands = {engine: median(run.command for run in runs) for engine, runs in timings.items()}
    replays = {engine: median(run.replays for run in runs) for engine, runs in timings.items()}
    each = {engine: median(run.each for run in runs) for engine, runs in timings.items()}
    rows = [(engine, commands[engine], replays[engine], each[engine]) for engine in timings]
    sys.stdout.write("\n" + table(("engine", "seconds of the command", "of all replays", "of each"), rows))
    ratio = replays["ray"] / replays["local"]
    sys.stdout.write(f"ratio of ray: {commands['ray'] / commands['local']:.2f}, of the replays {ratio:.2f}\n")
    return ratio <= MAX_RATIO


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1, help="multiplies the number of copies")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--overhead-missions", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-verdicts", action="store_true", help="measure only the overhead of Ray")
    chosen = parser.parse_args()
    is_equal, is_fast = True, True
    with tempfile.TemporaryDirectory(prefix="eikon-engines-") as made:
        project = Path(made)
        if not chosen.no_verdicts:
            for name, sample in asyncio.run(write_samples(project / "samples")).items():
                for number in range(COPIES[name] * chosen.times):
                    link_bundle(sample, project / "traces" / f"{name}_{number:03d}")
            ways = [replay_with_pytest(project, chosen.workers)]
            ways += [replay_with_suite(project, chosen.workers, engine) for engine in ("local", "ray")]
            is_equal = print_verdicts(ways)
        if chosen.rounds:
            sample = shutil.copytree(PASSING, project / "sample")
            for number in range(chosen.overhead_missions):
                link_bundle(sample, project / "long" / f"banana_{number:03d}")
            is_fast = print_overhead(measure_overhead(project, chosen.workers, chosen.rounds))
    return 0 if is_equal and is_fast else 1


if __name__ == "__main__":
    sys.exit(main())
