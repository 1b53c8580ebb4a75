"""Measure how long recorded tool calls take: listing, single look-ups, and the explanation of a missing one.

Run `python -m benchmarks.fixtures`. A look-up includes everything that a replay does: arguments, hash, file, digests,
result. The limit is one second for 10,000 look-ups.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.table import table
from eikon_engine.errors import RequirementError
from eikon_engine.scenario.fixtures import (
    RECORDING_FILE,
    Fixture,
    FixtureFolder,
    RecordingInfo,
    args_hash,
    digested_text,
    fixture_name,
)
from eikon_engine.scenario.replayed_calls import ReplayingCalls
from eikon_engine.scenario.tool_box import ToolBox

if TYPE_CHECKING:
    from pydantic import JsonValue

BEGAN = datetime(2026, 1, 20, 12, tzinfo=UTC)
WANTED_SECONDS = 1.0


def main() -> None:
    """Write the fixtures, then look all of them up; exit with 1 if that took too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place in range(count):
            _write(folder, place)
        seconds = _measured(folder, count)
    rows = [(what, f"{took:.3f}", f"{took / count * 1e6:.0f}") for what, took in seconds.items()]
    sys.stdout.write(table(("what", "s", "µs each"), rows))
    sys.exit(int(seconds["list and look up all"] > WANTED_SECONDS * count / 10_000))


def _args(place: int) -> dict[str, JsonValue]:
    return {"url": f"https://shop.test/items/{place}", "headers": {"accept": "text/html", "page": place}}


def _write(folder: Path, place: int) -> None:
    args = _args(place)
    fixture = Fixture(
        run_id="run",
        tool="web_fetch",
        args=args,
        args_hash=args_hash(args),
        occurrence=1,
        order=place + 1,
        result={"status": 200, "text": f"<li>item {place}</li>" * 20},
        started_at=BEGAN,
        ended_at=BEGAN,
        duration_seconds=0.1,
    )
    path = folder / fixture.tool / fixture_name(fixture.args_hash, 1)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(digested_text(fixture))
    note = RecordingInfo(run_id="run", started_at=BEGAN, ended_at=BEGAN, calls=place + 1)
    (folder / RECORDING_FILE).write_bytes(digested_text(note))


def _measured(folder: Path, count: int) -> dict[str, float]:
    began = perf_counter()
    calls = ReplayingCalls(FixtureFolder(folder), {})
    listed = perf_counter()
    box = ToolBox.of().with_calls(calls)
    for place in range(count):
        box.call("web_fetch", _args(place))
    looked_up = perf_counter()
    calls.close()
    closed = perf_counter()
    with suppress(RequirementError):
        box.call("web_fetch", {"url": "https://shop.test/items/other"})
    missed = perf_counter()
    return {
        "list": listed - began,
        "list and look up all": looked_up - began,
        "compare the order": closed - looked_up,
        "explain one miss": missed - closed,
    }


if __name__ == "__main__":
    main()
