"""The memory, the open files and the temporary files of one worker over a thousand missions.

Run: `python -m benchmarks.worker_memory [--missions 1000] [--minutes 25] [--picture FILE]` in the environment of
scripts/test, on Linux. `eikon suite run -j 1` repeats three short missions, two at once, in one browser. Prints
samples of the worker, its driver and its browsers by the number of missions before: PSS, which divides shared memory
between processes; RSS, which counts it for each; and file descriptors. Its folder for temporary files is its own.
After `--minutes` the suite ends with what it has. Exits with 1 if a replay is not faithful, the median of the last
quarter is more than a tenth above that of the second one, in PSS of all or in file descriptors, or a temporary file
is left.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.chart import Axis, Line, draw
from benchmarks.collecting import FAILING, link_bundle
from benchmarks.resources import ResourceSamples
from benchmarks.table import table
from eikon_engine.suite.results import read_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.resources import Sample

KINDS = ("worker", "driver", "browser")
BUNDLES = 3
INTERVAL_S = 5.0
ROWS = 11
GROWTH = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Samples of a suite, each with the number of missions that had ended before."""

    samples: Sequence[tuple[int, Sample]]
    missions: int
    seconds: float
    are_faithful: bool
    left: tuple[str, ...]
    """Names of the temporary files at the end."""


def measure(missions: int, minutes: float) -> Measured:
    """Run the suite, and sample its processes."""
    with tempfile.TemporaryDirectory(prefix="eikon-memory-") as made:
        project = Path(made)
        source = shutil.copytree(FAILING, project / "sample")
        for number in range(BUNDLES):
            link_bundle(source, project / "traces" / f"voucher_{number}")
        command = [sys.executable, "-m", "eikon_engine", "suite", "run", "traces", "-j", "1"]
        options = ["--repeat", str(-(-missions // BUNDLES)), "--suite-timeout", str(minutes * 60)]
        temporary = project / "tmp"
        temporary.mkdir()
        environment = {**os.environ, "EIKON_HISTORY": "off", "TMPDIR": str(temporary)}
        begin = time.time()
        with (
            subprocess.Popen([*command, *options], cwd=project, env=environment, stdout=subprocess.DEVNULL) as process,
            ResourceSamples(process.pid, INTERVAL_S) as used,
        ):
            process.wait()
        suite = read_suite(project / "suite_artifacts")
        left = tuple(sorted(each.name for each in temporary.iterdir()))
    ends = sorted(each.started_at.timestamp() + each.duration_ms / 1000 - begin for each in suite.results)
    whole = [each for each in used.samples if all(each.processes.get(kind) for kind in KINDS)]
    return Measured(
        samples=[(bisect(ends, each.after_s), each) for each in whole if each.after_s < ends[-1]],
        missions=len(suite.results),
        seconds=ends[-1],
        are_faithful=all(each.verdict == "faithful" for each in suite.results),
        left=left,
    )


def total(sizes: Mapping[str, float]) -> float:
    """Return the sum of the worker, its driver and its browsers."""
    return sum(sizes.get(kind, 0) for kind in KINDS)


def growth(measured: Measured, value: Callable[[Sample], float]) -> float:
    """Return the median of the last quarter divided by that of the second one."""
    quarter = max(1, len(measured.samples) // 4)
    second, last = measured.samples[quarter : 2 * quarter], measured.samples[-quarter:]
    return median(value(each) for _, each in last) / median(value(each) for _, each in second)


def print_samples(measured: Measured) -> None:
    """Print some of the samples: that at the end of each tenth."""
    wanted = [round((len(measured.samples) - 1) * place / (ROWS - 1)) for place in range(ROWS)]
    rows = []
    for count, each in (measured.samples[place] for place in wanted):
        sizes = [each.pss_mb[kind] for kind in KINDS]
        files = "/".join(str(each.files[kind]) for kind in KINDS)
        rows.append((count, *map(round, sizes), round(total(each.pss_mb)), round(total(each.rss_mb)), files))
    heads = ("missions", "worker PSS MB", "driver", "browser", "all", "all RSS", "files of each")
    sys.stdout.write(table(heads, rows))


def draw_picture(measured: Measured) -> str:
    """Draw the memory by the number of missions."""
    lines = [Line(name=kind, points=[(count, each.pss_mb[kind]) for count, each in measured.samples]) for kind in KINDS]
    lines.insert(0, Line(name="all", points=[(count, total(each.pss_mb)) for count, each in measured.samples]))
    title = "Memory of one worker, which makes two replays at once"
    return draw(title, Axis(title="missions"), Axis(title="PSS, MB"), lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missions", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--picture", type=Path, help="SVG file")
    chosen = parser.parse_args()
    measured = measure(chosen.missions, chosen.minutes)
    print_samples(measured)
    memory = growth(measured, lambda each: total(each.pss_mb))
    files = growth(measured, lambda each: total(each.files))
    sys.stdout.write(f"{measured.missions} missions in {measured.seconds / 60:.1f} min; ")
    sys.stdout.write(f"last quarter by second quarter: PSS {memory:.2f}, files {files:.2f}; ")
    sys.stdout.write(f"temporary files left: {', '.join(measured.left) or 'none'}\n")
    if chosen.picture:
        chosen.picture.write_text(draw_picture(measured), encoding="utf-8")
    return 0 if measured.are_faithful and not measured.left and max(memory, files) <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
