"""Proves that sealed replays repeat: hundreds of replays of each mission on a busy machine are equal to the last byte.

Run: `python -m benchmarks.soak [--runs 200] [--parallel 4] [--busy 2] [--only NAME,NAME]` in the environment of
scripts/test; `--runs 1000` is the long form. The missions are the bundled ones, all solved pages of MiniWoB++, one in
Django's admin, an order in our shop, and a control room with a WebSocket and an event stream; all but the bundled ones
are recorded first, and their servers are stopped before anything is replayed. Then each is replayed sealed, several at
a time, while busy processes compete for the processor.

Each replay has two digests of its outcome: one of all observations with their page times, results, divergences and
verdicts, and one of the network with its notes. Only the wall times and the folder of the bundle are omitted
(`benchmarks/digest.py`). A mission passes if every replay has the expected verdict, and there is only one digest of
each kind. The findings of the replays, and their differences, are printed below the table. Exits with 1 if a mission
does not pass.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.busy import busy
from benchmarks.often import replay_often
from benchmarks.subjects import NAMES, subject
from benchmarks.table import counted, table

if TYPE_CHECKING:
    from benchmarks.often import Tally

HEADS = ("mission", "runs", "verdicts", "observed", "network", "misses", "notes", "seconds", "holds")


async def soak(names: tuple[str, ...], *, runs: int, parallel: int, processes: int) -> dict[str, Tally]:
    """Replay each mission the given number of times."""
    tallies: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory(prefix="eikon-soak-") as scratch:
        for name in names:
            recorded = await subject(name, Path(scratch))
            with busy(processes):
                tallies[name] = await replay_often(recorded, runs=runs, parallel=parallel)
            sys.stderr.write(f"{name}: {counted(tallies[name].verdicts)}\n")
    return tallies


def row(name: str, tally: Tally) -> tuple[object, ...]:
    """Return the row of one mission."""
    return (
        name,
        tally.runs,
        counted(tally.verdicts),
        len(tally.observed),
        len(tally.network),
        tally.misses.total(),
        tally.notes.total(),
        tally.seconds,
        "yes" if tally.holds else "NO",
    )


def main() -> int:
    """Print the table and the findings of the replays."""
    parser = argparse.ArgumentParser(description="Replay missions many times on a busy machine, and count digests.")
    parser.add_argument("--runs", type=int, default=200, help="replays of each mission (1000 is the long form)")
    parser.add_argument("--parallel", type=int, default=4, help="replays at a time")
    parser.add_argument("--busy", type=int, default=2, help="processes that burn processor time meanwhile")
    parser.add_argument("--only", default="", help=f"missions, with commas between them: {', '.join(NAMES)}")
    chosen = parser.parse_args()
    wanted = set(chosen.only.split(",")) - {""}
    if unknown := wanted - set(NAMES):
        parser.error(f"no such mission: {', '.join(sorted(unknown))}")
    names = tuple(name for name in NAMES if not wanted or name in wanted)
    tallies = asyncio.run(soak(names, runs=chosen.runs, parallel=chosen.parallel, processes=chosen.busy))
    sys.stdout.write(table(HEADS, [row(name, tally) for name, tally in tallies.items()]))
    sys.stdout.write("observed, network: how many different digests there were\n")
    for name, tally in tallies.items():
        if told := tally.findings():
            sys.stdout.write(f"\n{name}\n{told}")
    return int(not names or not all(tally.holds for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
