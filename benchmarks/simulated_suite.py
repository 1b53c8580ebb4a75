"""A simulation of suites on many machines: how long missions take that are handed out as `eikon suite run` does.

Pure: missions and chance are arguments, and the same ones give the same result. A worker makes as many replays at once
as one of `eikon_engine.suite.runner`, the next mission goes to a worker with the fewest, and a worker that loses its
browser loses all of its replays, which are made once more, first. Missions are either in one queue, as with the engine
`ray`, or divided between the machines before, as `--shard` divides them: by recorded durations, which are not those of
replays.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal, TypeAlias

from eikon_engine.suite.runner import REPLAYS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random  # noqa: TID251 - an argument

Distribution: TypeAlias = Literal["queue", "shards"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mission:
    """A mission to replay."""

    duration_s: float
    """Of its replay."""
    recorded_s: float
    """Of its recording, from which shards are made."""
    arrival_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Machines with workers."""

    machines: int
    workers: int
    """Of each machine."""
    start_s: float
    """Until a new worker makes replays, also one that replaces a lost one."""
    distribution: Distribution = "queue"
    lost_share: float = 0.0
    """Share of the replays whose browser or worker is lost before they end."""

    @property
    def slots(self) -> int:
        """Return how many replays are made at once."""
        return self.machines * self.workers * REPLAYS_AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRun:
    """When missions ended."""

    ended_s: tuple[float, ...]
    """By mission."""
    replays: int
    """Including those that were lost."""
    lost_twice: int
    """Missions that failed because their second replay was lost, too."""

    @property
    def makespan_s(self) -> float:
        """Return when the last mission ended."""
        return max(self.ended_s, default=0.0)


def simulate(missions: Sequence[Mission], fleet: Fleet, chance: Random) -> SimulatedRun:
    """Return when each mission ends on a fleet."""
    if fleet.distribution == "queue":
        parts = [list(range(len(missions)))]
        workers = fleet.machines * fleet.workers
    else:
        parts = divide([each.recorded_s for each in missions], fleet.machines)
        workers = fleet.workers
    ended_s = [0.0] * len(missions)
    replays = lost_twice = 0
    for part in parts:
        chosen = [missions[place] for place in part]
        queue = _Queue(missions=chosen, workers=workers, fleet=fleet, chance=chance)
        for place, end in zip(part, queue.run(), strict=True):
            ended_s[place] = end
        replays += queue.replays
        lost_twice += queue.lost_twice
    return SimulatedRun(ended_s=tuple(ended_s), replays=replays, lost_twice=lost_twice)


def divide(recorded_s: Sequence[float], count: int) -> list[list[int]]:
    """Divide missions, given by the durations of their recordings, as `shard_missions` does, in less time."""
    parts: list[list[int]] = [[] for _ in range(count)]
    loads = [(0.0, place) for place in range(count)]
    for mission in sorted(range(len(recorded_s)), key=lambda each: (-recorded_s[each], each)):
        load, place = heappop(loads)
        parts[place].append(mission)
        heappush(loads, (load + recorded_s[mission], place))
    return [sorted(part) for part in parts]


@dataclass(slots=True, kw_only=True)
class _Worker:
    ready: bool = False
    started: int = 0
    """How often it was started, so that what happened to an earlier browser does not count."""
    replays: set[int] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class _Queue:
    """Missions that workers take from one queue, in the order in which they arrive."""

    missions: Sequence[Mission]
    workers: int
    fleet: Fleet
    chance: Random
    replays: int = 0
    lost_twice: int = 0
    _waiting: deque[int] = field(default_factory=deque)
    _pool: list[_Worker] = field(default_factory=list)
    _free: list[tuple[int, int]] = field(default_factory=list)
    """Workers by their number of replays, with entries that hold no more."""
    _events: list[tuple[float, int, int, int, int]] = field(default_factory=list)
    """Time, number, worker, its start, and the mission that ends; `_READY` or `_LOST` for the worker itself."""
    _retried: set[int] = field(default_factory=set)
    _ended_s: dict[int, float] = field(default_factory=dict)
    _number: int = 0

    def run(self) -> list[float]:
        """Return when each mission ends."""
        self._pool = [_Worker() for _ in range(min(self.workers, len(self.missions)))]
        for place in range(len(self._pool)):
            self._push(self.fleet.start_s, place, _READY)
        arrivals = deque(sorted(range(len(self.missions)), key=lambda each: self.missions[each].arrival_s))
        while arrivals or self._events:
            now = self._events[0][0] if self._events else float("inf")
            if arrivals and self.missions[arrivals[0]].arrival_s <= now:
                now = self.missions[arrivals[0]].arrival_s
                self._waiting.append(arrivals.popleft())
            else:
                self._happen()
            self._hand_out(now)
        return [self._ended_s[place] for place in range(len(self.missions))]

    def _happen(self) -> None:
        now, _, place, started, what = heappop(self._events)
        worker = self._pool[place]
        if started != worker.started:
            return
        if what == _READY:
            worker.ready = True
        elif what == _LOST:
            self._lose(now, place)
        else:
            worker.replays.discard(what)
            self._end(what, now)
        self._offer(place)

    def _lose(self, now: float, place: int) -> None:
        worker = self._pool[place]
        for mission in sorted(worker.replays, reverse=True):
            if mission in self._retried:
                self.lost_twice += 1
                self._end(mission, now)
            else:
                self._retried.add(mission)
                self._waiting.appendleft(mission)
        worker.replays.clear()
        worker.ready = False
        worker.started += 1
        self._push(now + self.fleet.start_s, place, _READY)

    def _end(self, mission: int, now: float) -> None:
        assert mission not in self._ended_s, f"mission {mission} ended twice"
        self._ended_s[mission] = now

    def _offer(self, place: int) -> None:
        worker = self._pool[place]
        if worker.ready and len(worker.replays) < REPLAYS_AT_ONCE:
            heappush(self._free, (len(worker.replays), place))

    def _hand_out(self, now: float) -> None:
        while self._waiting and self._free:
            load, place = heappop(self._free)
            worker = self._pool[place]
            if not worker.ready or load != len(worker.replays):
                continue
            mission = self._waiting.popleft()
            worker.replays.add(mission)
            self.replays += 1
            duration = self.missions[mission].duration_s
            is_lost = self.chance.random() < self.fleet.lost_share
            after_s = duration * self.chance.random() if is_lost else duration
            self._push(now + after_s, place, _LOST if is_lost else mission)
            self._offer(place)

    def _push(self, at: float, place: int, what: int) -> None:
        self._number += 1
        heappush(self._events, (at, self._number, place, self._pool[place].started, what))


_READY, _LOST = -1, -2
