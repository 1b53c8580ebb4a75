"""Several replays in one browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.outcome.events import RunStart
from eikon_engine.replay import ReplayOptions
from eikon_engine.replay.engine import replay_many
from eikon_engine.replay.options import Decision, Halt, Proceed
from eikon_engine.trace.bundle import open_bundle
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.replay.engine import Run
    from eikon_engine.replay.plan import PlannedStep

pytestmark = pytest.mark.browser

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
AT_ONCE = 2


class HaltUnless:
    """A controller that halts before the first step unless the run may continue."""

    def __init__(self, *, go_on: bool) -> None:
        self._decision = Proceed() if go_on else Halt("short")

    async def decide(self, _step: PlannedStep) -> Decision:
        """Return the same decision every time."""
        return self._decision


def test_runs_are_concurrent_and_returned_in_order(tmp_path: Path) -> None:
    """Two of five replays run at a time; the long first one ends late and is still returned first."""
    running: set[int] = set()
    most: list[int] = []
    order: list[int] = []

    def options(place: int) -> ReplayOptions:
        def read(line: EventLine) -> None:
            if isinstance(line.event, RunStart):
                running.add(place)
                most.append(len(running))

        controller = HaltUnless(go_on=place == 0)
        folder = tmp_path / str(place)
        return ReplayOptions(artifacts_dir=folder, reports=(), readers=(read,), controller=controller)

    def ended(place: int, _run: Run) -> None:
        running.remove(place)
        order.append(place)

    chosen = [options(place) for place in range(5)]
    runs = SHARED.run(replay_many(open_bundle(TRACES / "shop_failing"), chosen, parallel=AT_ONCE, on_run_end=ended))

    assert max(most) == AT_ONCE
    assert [run.folder.name for run in runs] == ["0", "1", "2", "3", "4"]
    assert order[0] != 0
    assert [run.outcome.ended_early for run in runs] == [None, *["short"] * 4]
