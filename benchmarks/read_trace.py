"""Measure how fast a large trace is read: 100,000 actions, about 150 MB with indentation.

Run `python benchmarks/read_trace.py`. The baseline is `json.loads` of the same bytes, which knows no models: the ratio
is the cost of validation on any machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from eikon_engine.trace.actions import Click
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, SubgoalTrace, Succeeded
from eikon_engine.trace.observation import FrameObservation, Observation, PageObservation
from eikon_engine.trace.target import Ancestor, Identity, Target
from eikon_engine.trace.trace_file import read_trace, write_trace

ACTIONS_PER_SUBGOAL = 1_000
START = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def main() -> None:
    """Write the trace, then read it in one process for each method, to measure their memory separately."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=100_000)
    parser.add_argument("--read", choices=sorted(READERS), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        _report(arguments.read, arguments.path, arguments.actions)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        write_trace(_trace(arguments.actions), path)
        sys.stdout.write(f"{arguments.actions:,} actions, {path.stat().st_size / 1e6:.1f} MB\n")
        sys.stdout.flush()
        seconds = {name: _measured(name, path, arguments.actions) for name in READERS}
        sys.stdout.write(f"read_trace / json.loads: {seconds['read_trace'] / seconds['json.loads']:.2f}\n")


def _measured(name: str, path: Path, actions: int) -> float:
    command = [sys.executable, __file__, "--read", name, "--path", str(path), "--actions", str(actions)]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sys.stdout.write(line)
    sys.stdout.flush()
    return float(line.split()[1])


def _report(name: str, path: Path, actions: int) -> None:
    start = perf_counter()
    READERS[name](path)
    seconds = perf_counter() - start
    size = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT / 1e6
    speed = f"{size / seconds:.0f} MB/s  {actions / seconds:,.0f} actions/s"
    sys.stdout.write(f"{name:12} {seconds:.2f} s  {speed}  peak {peak:.0f} MB\n")


READERS = {
    "json.loads": lambda path: json.loads(path.read_bytes()),
    "read_trace": read_trace,
}


def _trace(actions: int) -> ExecutionTrace:
    numbers = range(0, actions, ACTIONS_PER_SUBGOAL)
    return ExecutionTrace(
        id="big",
        mission_id="big",
        mission_text="Click often",
        started_at=START,
        status="complete",
        subgoal_traces=tuple(_subgoal(first, min(ACTIONS_PER_SUBGOAL, actions - first)) for first in numbers),
    )


def _subgoal(first: int, count: int) -> SubgoalTrace:
    return SubgoalTrace(
        id=f"s{first}__attempt_1",
        subgoal_id=f"s{first}",
        description="Click",
        status="complete",
        actions_taken=tuple(_action(number) for number in range(1, count + 1)),
    )


def _action(number: int) -> ActionTrace:
    identity = Identity(
        tag="button",
        role="button",
        name=f"Add {number}",
        attributes=(("id", f"add-{number}"),),
        ancestors=(Ancestor(tag="main"),),
    )
    frame = FrameObservation(path="", url="http://shop.test/", digest=f"{number:064x}")
    page = PageObservation(page=0, url="http://shop.test/", title="Shop", frames=(frame,))
    return ActionTrace(
        id=f"action_{number}",
        sequence=number,
        started_at=START,
        action=Click(target=Target(selector=f"#add-{number}", identity=identity)),
        result=Succeeded(),
        observation=Observation(pages=(page,)),
    )


if __name__ == "__main__":
    main()
