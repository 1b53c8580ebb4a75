"""What the torture site knows: counters, notes, who listens. It is a function of the requests and their order."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(slots=True)
class TortureState:
    """Everything remembered since the start."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)
    arrived: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What came in by a road on which nothing comes back, by its name."""
    arrival: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    """The sockets that wait for the notice, in order of opening."""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def count(self, name: str) -> int:
        """Count one more of a kind, and tell how many there are now."""
        self.counts[name] += 1
        return self.counts[name]

    def arrive(self, name: str, what: str) -> None:
        """Remember what came in, for those who ask for it later or wait for it already."""
        self.arrived[name].append(what)
        self.arrival[name].set()


@dataclass(slots=True)
class Memory:
    """Hold the state, so that it can be replaced while the site runs."""

    state: TortureState = field(default_factory=TortureState)
    requests: list[str] = field(default_factory=list)
    other_origin: str = ""


MEMORY = web.AppKey("memory", Memory)


def state_of(request: web.Request) -> TortureState:
    """Find what the site knows."""
    return request.app[MEMORY].state
