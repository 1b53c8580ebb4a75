"""Proves that one browser serves many replays: eight at a time are faster than one at a time, and memory stays steady.

Run: `python -m benchmarks.many [--runs 50] [--parallel 8] [--trace BUNDLE]` in the environment of scripts/test, on
Linux. The bundle is replayed that often in one browser, one at a time, and again several at a time. Prints replays per
second and the ratio of both; and after each tenth replay the memory of the browser's processes from /proc: PSS
divides shared memory between processes, RSS counts it for each. Exits with 1 if a replay is not faithful, several at
a time are not faster, or PSS grew by more than a fifth from the tenth replay to the last, one at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.table import counted, table
from eikon_engine.replay.engine import replay_many
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.replay.engine import Run

PASSING = Path(__file__).resolve().parent.parent / "tests" / "data" / "traces" / "shop_passing"
EACH = 10
"""Number of replays between two samples of the memory."""
GROWTH = 1.2
MEGABYTE = 1024
"""Kilobytes per megabyte; /proc reports kilobytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory of the browser's processes, in megabytes."""

    processes: int
    pss: float
    rss: float


@dataclass(slots=True, kw_only=True)
class Pass:
    """Replays of one bundle in one browser."""

    verdicts: dict[str, int] = field(default_factory=dict)
    samples: dict[int, Memory] = field(default_factory=dict)
    """Samples by the number of earlier replays."""
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Return replays per second, including the launch of the browser."""
        return sum(self.verdicts.values()) / self.seconds


async def replay_all(source: Path, *, runs: int, parallel: int) -> Pass:
    """Run the given number of replays, with the given parallelism."""
    done = Pass()

    def ended(_place: int, run: Run) -> None:
        done.verdicts[run.outcome.verdict] = done.verdicts.get(run.outcome.verdict, 0) + 1
        shutil.rmtree(run.folder)
        if (count := sum(done.verdicts.values())) % EACH == 0 or count == runs:
            done.samples[count] = browser_memory(os.getpid())

    with tempfile.TemporaryDirectory(prefix="eikon-many-") as scratch:
        chosen = [ReplayOptions(artifacts_dir=Path(scratch) / str(run), reports=()) for run in range(runs)]
        begin = time.perf_counter()
        await replay_many(open_bundle(source), chosen, parallel=parallel, on_run_end=ended)
        done.seconds = time.perf_counter() - begin
    return done


def browser_memory(root: int) -> Memory:
    """Return the memory of the browsers below a process; the driver in between is excluded."""
    sizes = [sizes for process in _below(root) if not _is_driver(process) and (sizes := _sizes(process))]
    return Memory(
        processes=len(sizes),
        pss=sum(each["Pss"] for each in sizes) / MEGABYTE,
        rss=sum(each["Rss"] for each in sizes) / MEGABYTE,
    )


def _below(root: int) -> Iterator[int]:
    """Yield the descendants of a process."""
    for tasks in Path(f"/proc/{root}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, tasks.read_text().split()):
                yield child
                yield from _below(child)


def _is_driver(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/exe").readlink().name.startswith(("node", "python"))
    return True


def _sizes(process: int) -> dict[str, int]:
    """Return Pss and Rss in kilobytes; an empty dictionary for a process that is gone."""
    with suppress(OSError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
        return {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return {}


def main() -> int:
    """Print rates, their ratio, and the samples."""
    parser = argparse.ArgumentParser(description="Replay a bundle in one browser, one and several at a time.")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--trace", type=Path, default=PASSING)
    chosen = parser.parse_args()
    asyncio.run(replay_all(chosen.trace, runs=2, parallel=2))  # warms up caches
    single, several = (
        asyncio.run(replay_all(chosen.trace, runs=chosen.runs, parallel=parallel)) for parallel in (1, chosen.parallel)
    )
    rows = [
        (parallel, counted(each.verdicts), each.seconds, f"{each.rate:.2f}")
        for parallel, each in ((1, single), (chosen.parallel, several))
    ]
    sys.stdout.write(table(("at a time", "verdicts", "seconds", "replays a second"), rows))
    ratio = several.rate / single.rate
    sys.stdout.write(f"ratio {ratio:.2f}\n\n")
    memory = [
        (parallel, count, sample.processes, sample.pss, sample.rss)
        for parallel, each in ((1, single), (chosen.parallel, several))
        for count, sample in each.samples.items()
    ]
    sys.stdout.write(table(("at a time", "after", "processes", "PSS MB", "RSS MB"), memory))
    samples = list(single.samples.values())
    steady = samples[-1].pss <= GROWTH * samples[0].pss
    return int(not (set(single.verdicts) == set(several.verdicts) == {"faithful"} and ratio > 1 and steady))


if __name__ == "__main__":
    sys.exit(main())
