"""The clock that pages see: stepped by us, or running with the wall clock."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import BrowserContext, Page

CLOSED_MESSAGE: Final = "Target page, context or browser has been closed"
CLOSE_S: Final = 5.0
"""Wall time within which it must be known which page has closed."""
_POLL_S: Final = 0.01


class PageClock(Protocol):
    """Measure and advance page time, in milliseconds since the session began."""

    is_natural: bool
    """Whether it runs by itself."""
    start_ms: float
    """Unix time, in milliseconds, that pages see when it begins."""

    async def install(self, context: BrowserContext, start_ms: int) -> None:
        """Set the clock of a context without pages; `start_ms` is Unix time in milliseconds."""

    @property
    def now_ms(self) -> float:
        """Return how much page time has passed."""

    async def advance(self, duration_ms: float) -> None:
        """Let page time pass."""


class SteppedClock:
    """A clock that moves only in steps: replays, and recordings by default."""

    is_natural = False

    def __init__(self) -> None:
        """Start at zero."""
        self.start_ms = 0.0
        self._context: BrowserContext | None = None
        self._now_ms = 0.0

    async def install(self, context: BrowserContext, start_ms: int) -> None:
        """Pause the clock. Uses `pause_at` alone, since after `install` pages begin at different times."""
        self._context = context
        self.start_ms = start_ms
        await context.clock.pause_at(start_ms / 1000)

    @property
    def now_ms(self) -> float:
        """Return the sum of all steps."""
        return self._now_ms

    async def advance(self, duration_ms: float) -> None:
        """Fire the timers due within a step, in order; a step is at least one whole millisecond.

        Raises:
            playwright.async_api.Error: the browser or the context is gone.
        """
        passed = max(1, round(duration_ms))  # whole milliseconds, and at least one, so that a waiting action progresses
        if self._context is not None:
            await _run_for(self._context, passed)
        self._now_ms += passed


class NaturalClock:
    """A clock that runs with the wall clock, from the configured start."""

    is_natural = True

    def __init__(self, start_ms: float = 0.0) -> None:
        """Start at zero; without `install`, pages have the time of the machine, which is `start_ms` now."""
        self.start_ms = start_ms
        self._began_s = time.monotonic()

    async def install(self, context: BrowserContext, start_ms: int) -> None:
        """Install a running clock."""
        self.start_ms = start_ms
        await context.clock.install(time=start_ms / 1000)
        self._began_s = time.monotonic()

    @property
    def now_ms(self) -> float:
        """Return the wall time since the start."""
        return (time.monotonic() - self._began_s) * 1000

    async def advance(self, duration_ms: float) -> None:
        """Wait."""
        await asyncio.sleep(duration_ms / 1000)


async def _run_for(context: BrowserContext, passed_ms: int) -> None:
    """Advance the clocks of all pages.

    Playwright announces the step to each page before it moves the first clock. That fails while a page is closing, with
    no clock moved; then the clocks of the remaining pages are advanced.
    """
    from playwright.async_api import Error

    while True:
        pages = context.pages
        try:
            await context.clock.run_for(passed_ms)
        except Error as error:
            if CLOSED_MESSAGE not in error.message or not await _wait_for_closed_page(pages):
                raise
        else:
            return


async def _wait_for_closed_page(pages: Sequence[Page]) -> bool:
    """Wait until one of the pages closes; return whether another one is still open."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            while not any(page.is_closed() for page in pages):  # noqa: ASYNC110 - any of several pages
                await asyncio.sleep(_POLL_S)
    closed = [page.is_closed() for page in pages]
    return any(closed) and not all(closed)
