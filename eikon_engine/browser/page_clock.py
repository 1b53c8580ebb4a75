"""The clock that pages see: one that stands until it is stepped, or one that runs by itself."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext


class PageClock(Protocol):
    """Measure and pass page time, in milliseconds since the session began."""

    natural: bool
    """Whether it runs by itself."""

    async def start(self, context: BrowserContext, start_ms: int) -> None:
        """Set the clock of a context that has no page yet; `start_ms` counts from 1970 UTC."""

    @property
    def now_ms(self) -> float:
        """Return how much page time has passed."""

    async def run(self, duration_ms: float) -> None:
        """Let page time pass."""


class SteppedClock:
    """Stand still but for steps: replays, and recordings unless told otherwise."""

    natural = False

    def __init__(self) -> None:
        """Begin at no time passed."""
        self._context: BrowserContext | None = None
        self._now_ms = 0.0

    async def start(self, context: BrowserContext, start_ms: int) -> None:
        """Pause the clock: `pause_at` alone, since after `install` pages begin at different times."""
        self._context = context
        await context.clock.pause_at(start_ms / 1000)

    @property
    def now_ms(self) -> float:
        """Return the sum of all steps."""
        return self._now_ms

    async def run(self, duration_ms: float) -> None:
        """Fire the timers that are due within a step, in order; a step is of whole milliseconds, at least one."""
        passed = max(1, round(duration_ms))  # the page clock takes whole ones, and whoever waits must come nearer
        if self._context is not None:
            await self._context.clock.run_for(passed)
        self._now_ms += passed


class NaturalClock:
    """Run as the wall clock does, from the start that was asked for."""

    natural = True

    def __init__(self) -> None:
        """Begin when the session does."""
        self._begin = time.monotonic()

    async def start(self, context: BrowserContext, start_ms: int) -> None:
        """Install a clock that runs."""
        await context.clock.install(time=start_ms / 1000)
        self._begin = time.monotonic()

    @property
    def now_ms(self) -> float:
        """Return the wall time since the start."""
        return (time.monotonic() - self._begin) * 1000

    async def run(self, duration_ms: float) -> None:
        """Wait."""
        await asyncio.sleep(duration_ms / 1000)
