"""The simulation of suites: nothing is lost or made twice, and no fleet is faster than it can be."""

from __future__ import annotations

from random import Random  # noqa: TID251 - seeded
from typing import TYPE_CHECKING

import pytest

from benchmarks.simulated_suite import Distribution, Fleet, Mission, divide, simulate
from eikon_engine.suite.missions import Shard, SuiteMission, shard_missions

if TYPE_CHECKING:
    from pathlib import Path

DISTRIBUTIONS: tuple[Distribution, ...] = ("queue", "shards")
NO_START = Fleet(machines=1, workers=1, start_s=0.0)


def missions_of(count: int, *, seed: int = 1, spread_s: float = 0.0) -> list[Mission]:
    """Return missions of one to ten seconds, which arrive within a time."""
    chance = Random(seed)  # noqa: S311 - no secret
    return [
        Mission(
            duration_s=chance.uniform(1, 10), recorded_s=chance.uniform(1, 60), arrival_s=chance.uniform(0, spread_s)
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("count", [1, 7, 300])
def test_no_fleet_is_faster_than_it_can_be(distribution: Distribution, count: int) -> None:
    """Each mission ends once, after its arrival; the last not before the longest, nor before all slots were full."""
    missions = missions_of(count, spread_s=20)
    fleet = Fleet(machines=3, workers=2, start_s=1.0, distribution=distribution)

    run = simulate(missions, fleet, Random(1))  # noqa: S311 - no secret

    assert len(run.ended_s) == run.replays == count
    assert run.lost_twice == 0
    pairs = list(zip(missions, run.ended_s, strict=True))
    assert all(end >= mission.arrival_s + mission.duration_s - 1e-9 for mission, end in pairs)
    longest, total = max(each.duration_s for each in missions), sum(each.duration_s for each in missions)
    assert run.makespan_s >= max(longest + fleet.start_s, total / fleet.slots)


def test_a_worker_makes_two_replays_at_once() -> None:
    """Four missions of a second take two on one worker; and one on two machines."""
    missions = [Mission(duration_s=1.0, recorded_s=1.0)] * 4

    one = simulate(missions, NO_START, Random(1))  # noqa: S311 - no secret
    two = simulate(missions, Fleet(machines=2, workers=1, start_s=0.5), Random(1))  # noqa: S311 - no secret

    assert one.ended_s == (1.0, 1.0, 2.0, 2.0)
    assert two.ended_s == (1.5,) * 4


def test_a_queue_balances_what_shards_cannot_know() -> None:
    """Shards are made by the durations of recordings: those whose replays take longer may all be in one of them."""
    missions = [Mission(duration_s=10.0 if number % 2 else 1.0, recorded_s=1.0) for number in range(8)]
    fleets = {each: Fleet(machines=2, workers=1, start_s=0.0, distribution=each) for each in DISTRIBUTIONS}

    times = {each: simulate(missions, fleet, Random(1)).makespan_s for each, fleet in fleets.items()}  # noqa: S311

    assert times["queue"] < times["shards"]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_lost_replays_are_made_once_more(distribution: Distribution) -> None:
    """Each mission still ends once; what is lost takes further replays, and time."""
    missions = missions_of(400)
    fleet = Fleet(machines=2, workers=2, start_s=1.0, distribution=distribution)
    losing = Fleet(machines=2, workers=2, start_s=1.0, distribution=distribution, lost_share=0.1)

    run = simulate(missions, losing, Random(1))  # noqa: S311 - no secret

    assert len(run.ended_s) == 400
    assert 400 < run.replays <= 800
    assert 0 < run.lost_twice < 40
    assert run.makespan_s > simulate(missions, fleet, Random(1)).makespan_s  # noqa: S311 - no secret


def test_the_same_seed_gives_the_same_run() -> None:
    """Also with losses."""
    fleet = Fleet(machines=2, workers=2, start_s=1.0, lost_share=0.2)
    missions = missions_of(200, spread_s=60)

    runs = [simulate(missions, fleet, Random(seed)) for seed in (5, 5, 6)]  # noqa: S311 - no secret

    assert runs[0] == runs[1] != runs[2]


def test_missions_are_divided_as_shards_are(tmp_path: Path) -> None:
    """The longest first, each to the shard that has least."""
    missions = [SuiteMission(name=f"{number:03d}", bundle=tmp_path) for number in range(100)]
    recorded = [mission.recorded_s for mission in missions_of(100)]
    durations = {mission.name: seconds for mission, seconds in zip(missions, recorded, strict=True)}

    parts = divide(recorded, 7)

    assert [[f"{place:03d}" for place in part] for part in parts] == [
        [each.name for each in shard_missions(missions, Shard(number=number, count=7), durations)]
        for number in range(1, 8)
    ]
