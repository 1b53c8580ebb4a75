"""Measures the history: what a replay spends on it, and what storing and listing many runs takes.

Run: `python -m benchmarks.history [--runs 20000] [--url URL]` in the environment of scripts/test. Without a URL, the
database is an SQLite file. Prints milliseconds: of writing the file of a run, as each replay does after its verdict
(median and 95th percentile of 200); of storing a run, when many wait; and seconds for listing 1,000 missions, and what
earlier runs say about one cause, with so many runs in the database.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

from eikon_engine.history import add_pending, find_history, summarize_mission
from eikon_engine.history.database import open_history
from tests.history.runs import START, make_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.history import HistoryPlace
    from eikon_engine.history.database import History

MISSIONS: Final = 1_000
WRITTEN: Final = 200


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--url", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="eikon-history-") as folder:
        home = Path(folder)
        place = find_history(home, {"EIKON_HISTORY": options.url, "XDG_STATE_HOME": folder})
        if place is None:
            parser.error("expected a database, got `off`")
        _print_figures(place, options.runs)


def _print_figures(place: HistoryPlace, runs: int) -> None:
    written = [1000 * _seconds(partial(add_pending, place, make_run(number))) for number in range(WRITTEN)]
    _print(f"write the file of a run: {median(written):.2f} ms, p95 {quantiles(written, n=20)[-1]:.2f} ms")
    with open_history(place) as history:
        seconds = _seconds(history.store_pending)
        _print(f"store {WRITTEN} runs that wait: {1000 * seconds / WRITTEN:.2f} ms a run")
        many = [make_run(number, "+-"[number % 3 == 0], mission=f"m{number % MISSIONS}") for number in range(runs)]
        _print(f"store {runs} runs: {1000 * _seconds(lambda: history.add(many)) / runs:.2f} ms a run")
        _print(f"list {MISSIONS} missions: {_seconds(lambda: _summarize(history)):.2f} s")
        later = START + timedelta(days=365)
        _print(f"look up one cause: {_seconds(lambda: history.runs_with('0123abcd', before=later)):.2f} s")


def _summarize(history: History) -> None:
    for runs in history.last_runs(50).values():
        summarize_mission(runs)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
