"""The state of the torture site: counters, notes, listeners. It is a function of the requests and their order."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(slots=True)
class TortureState:
    """The whole state since the start."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)
    arrived: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What arrived by requests without a response, by name."""
    arrival: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    """The sockets that wait for the notification, in order of opening."""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def count(self, name: str) -> int:
        """Increment a counter and return its value."""
        self.counts[name] += 1
        return self.counts[name]

    def arrive(self, name: str, what: str) -> None:
        """Store what arrived, and wake the requests that wait for it."""
        self.arrived[name].append(what)
        self.arrival[name].set()


@dataclass(slots=True)
class Memory:
    """A holder of the state, so that it can be replaced while the site runs."""

    state: TortureState = field(default_factory=TortureState)
    requests: list[str] = field(default_factory=list)
    other_origin: str = ""


MEMORY = web.AppKey("memory", Memory)


def state_of(request: web.Request) -> TortureState:
    """Return the state of the site."""
    return request.app[MEMORY].state
