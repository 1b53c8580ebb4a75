"""Proves that recorded waiting costs a replay no time: a minute on the page's clock passes in seconds.

Run: `python -m benchmarks.waits [--seconds 60] [--runs 3] [--clock stepped|natural]` in the environment of
scripts/test. A page counts seconds with an interval and opens a door with each of its timers; the mission waits for one
door after the other, then for a number of seconds, and leaves. It is recorded, the site is stopped, and it is replayed
sealed. Prints the page time of the recording and the wall time of each replay. Exits with 1 if a replay is not
faithful, shows another page time, or takes more than a tenth of it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.table import table
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay.engine import replay_many
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.actions import Click, FunctionCondition, Navigate, SelectorCondition, WaitFor
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import read_trace
from tests.browser.pages import serve_pages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.trace.observation import Observation

CLOCKS = ("stepped", "natural")
DOORS = 4
SHARE = 0.1
"""Share of the page time that a replay may take."""
PAGE = """<h1 id=clock>0</h1><ul id=doors></ul><button onclick="this.textContent = clock.textContent">Leave</button>
<script>
setInterval(() => { clock.textContent = Number(clock.textContent) + 1; }, 1000);
const open = (number) => {
  const door = document.createElement("li");
  door.id = `door-${number}`;
  door.textContent = Math.round(performance.now() / 1000);
  doors.append(door);
  if (number < %(doors)d) setTimeout(open, %(apart)d, number + 1);
};
setTimeout(open, %(apart)d, 1);
</script>"""


async def record_waits(bundle: Path, seconds: float, clock: str = "stepped") -> None:
    """Record a mission that waits on the page's clock for the given time: half of it for doors, half for the count."""
    apart = int(seconds * 500 / DOORS)
    patience = seconds * 1000
    options = RecordOptions(clock="natural" if clock == "natural" else "stepped", settle_ms=100.0)
    with serve_pages() as site:
        url = site.put(PAGE % {"doors": DOORS, "apart": apart})
        async with open_recorder(bundle, mission_text="wait", mission_id="waits", options=options) as mission:
            async with mission.subgoal("Wait for the doors"):
                await mission.perform(Navigate(url=url))
                for number in range(1, DOORS + 1):
                    door = SelectorCondition(target=Target(selector=f"#door-{number}"))
                    await mission.perform(WaitFor(condition=door, timeout_ms=patience))
            async with mission.subgoal("Wait for the clock"):
                late = FunctionCondition(expression=f"Number(clock.textContent) >= {seconds:.0f}")
                await mission.perform(WaitFor(condition=late, timeout_ms=patience))
                await mission.perform(Click(target=Target(selector="button")))


def recorded_seconds(bundle: Path) -> float:
    """Return the page time that a recording took."""
    trace = read_trace(bundle)
    return _seconds(each.observation for subgoal in trace.subgoal_traces for each in subgoal.actions_taken)


def replayed_seconds(outcome: ReplayOutcome) -> float:
    """Return the page time that a replay took."""
    steps = (step for subgoal in outcome.subgoals for step in subgoal.steps)
    return _seconds(step.observation for step in steps if step.kind == "action")


def _seconds(observations: Iterable[Observation | None]) -> float:
    return sum(each.virtual_ms for each in observations if each is not None) / 1000


async def replay_once(bundle: Path, folder: Path) -> tuple[ReplayOutcome, float]:
    """Replay it sealed, including the launch of the browser; return the wall time."""
    begin = time.perf_counter()
    (run,) = await replay_many(open_bundle(bundle), [ReplayOptions(artifacts_dir=folder, network="sealed")])
    return run.outcome, time.perf_counter() - begin


def main() -> int:
    """Print page time and wall time."""
    parser = argparse.ArgumentParser(description="Replay a mission that mostly waits, and time it.")
    parser.add_argument("--seconds", type=float, default=60.0, help="page time to wait for")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--clock", choices=CLOCKS, default="stepped", help="how the page's clock runs when recording")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="eikon-waits-") as scratch:
        bundle = Path(scratch) / "bundle"
        begin = time.perf_counter()
        asyncio.run(record_waits(bundle, chosen.seconds, chosen.clock))
        rows = [("recording", "", recorded_seconds(bundle), time.perf_counter() - begin, "")]
        right = chosen.runs > 0
        for number in range(1, chosen.runs + 1):
            outcome, wall = asyncio.run(replay_once(bundle, Path(scratch) / str(number)))
            shown = replayed_seconds(outcome)
            right &= outcome.verdict == "faithful" and shown == rows[0][2] and wall <= SHARE * shown
            rows.append((f"replay {number}", outcome.verdict, shown, wall, f"1 : {shown / wall:.0f}"))
            sys.stdout.writelines(f"{note}\n" for note in (*outcome.reasons, *outcome.network.notes))
    sys.stdout.write(table(("", "verdict", "page s", "wall s", "ratio"), rows))
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
