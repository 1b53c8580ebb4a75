"""Measure how fast a long session is printed: 10,000 events as text within 2 s, including process start.

Run `python -m benchmarks.session_events`. The events are those of one replay of a bundled mission, repeated.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter

from eikon_engine.errors import ReplayDivergenceError
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import Event, EventLine, RunEnd, RunStart
from eikon_engine.replay import ReplayEngine, ReplayOptions

BUNDLE = Path(__file__).parents[1] / "tests" / "data" / "traces" / "shop_passing"
START = datetime(2026, 1, 23, 12, tzinfo=UTC)
LIMIT_S = 2.0
RUNS = 5


def main() -> None:
    """Record the events, write the session, print it several times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session"
        write_session(session, replayed(Path(folder) / "run"), arguments.events)
        seconds = [told(session, arguments.events) for _ in range(RUNS)]
    spread = f"{min(seconds):.2f} to {max(seconds):.2f} s"
    sys.stdout.write(f"{arguments.events:,} events: median {median(seconds):.2f} s, {spread}, limit {LIMIT_S} s\n")
    sys.exit(median(seconds) > LIMIT_S)


def replayed(folder: Path) -> list[Event]:
    """Return the events of one replay."""
    lines: list[EventLine] = []
    engine = ReplayEngine(ReplayOptions(artifacts_dir=folder, readers=(lines.append,), reports=()))
    with suppress(ReplayDivergenceError):
        engine.replay(BUNDLE)
    return [line.event for line in lines]


def write_session(folder: Path, events: list[Event], wanted: int) -> None:
    """Write the given number of events, a tenth of a second apart."""
    times = (START + timedelta(milliseconds=100 * number) for number in count())
    begin = events[0]
    between = [event for event in events if not isinstance(event, RunStart | RunEnd)]
    with EventLog(folder, lambda: next(times)) as log:
        log.append(begin)
        for event in islice(cycle(between), wanted - 2):
            log.append(event)
        log.append(RunEnd(how="complete"))


def told(session: Path, wanted: int) -> float:
    """Print a session in a separate process; return the seconds that it took."""
    begin = perf_counter()
    command = [sys.executable, "-m", "eikon_engine", "debug", "replay", str(session)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = perf_counter() - begin
    lines = done.stdout.splitlines()
    if len(lines) != wanted + 2:
        sys.exit(f"wanted {wanted} events, found {len(lines) - 2}")
    return seconds


if __name__ == "__main__":
    main()
