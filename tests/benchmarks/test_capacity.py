"""What is computed from the costs of a mission: fleets that reach a goal, storage, and the picture."""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ET

import pytest

from benchmarks.capacity import (
    Goal,
    Measured,
    draw_picture,
    goals,
    latencies,
    smallest_fleet,
    storage_rows,
)
from eikon_engine.suite.runner import REPLAYS_AT_ONCE

MEASURED = Measured(
    workers=2,
    missions=3,
    seconds=6.0,
    machine_share=1.0,
    start_s=1.5,
    processor_s=2.0,
    worker_mb=400.0,
    suite_mb=80.0,
    bundle_bytes=300_000,
    faithful_bytes=100_000,
    failed_bytes=1_000_000,
    durations_s=((3.0, 1.5), (60.0, 5.0), (20.0, 4.0)),
)
CHOSEN = argparse.Namespace(cores=1, lost=0.01, seed=1)
GOALS = goals([3000])


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: f"{goal.arrival}, {goal.distribution}, {goal.text}")
def test_the_smallest_fleet_reaches_its_goal(goal: Goal) -> None:
    """It is no smaller than one whose slots are never empty, and the same each time."""
    least, fleet, missions, run = smallest_fleet(MEASURED, goal, CHOSEN)

    assert goal.is_reached(missions, run)
    assert fleet.machines >= least >= 1
    assert fleet.slots == fleet.machines * REPLAYS_AT_ONCE
    assert len(run.ended_s) == len(missions) == 3000
    assert latencies(missions, run)[0] >= 1.5
    assert smallest_fleet(MEASURED, goal, CHOSEN)[3] == run


def test_storage_is_that_of_all_days_that_are_kept() -> None:
    """In gigabytes: of bundles, of artifacts a day, of those of failures, and both for 30 days."""
    (row,) = storage_rows(MEASURED, [1_000_000], failing=0.1)

    assert row == ("1,000,000", 300.0, pytest.approx(190.0), 100.0, pytest.approx(5700.0), 3000.0)


def test_the_picture_is_svg() -> None:
    """With a line for each distribution, and one for what is possible."""
    picture = ET.fromstring(draw_picture(MEASURED, 500, CHOSEN))  # noqa: S314 - our own

    assert len(picture.findall("{*}polyline")) == 3
