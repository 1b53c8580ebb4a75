"""The clock that pages see: one that stands until it is stepped, or one that runs by itself."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import BrowserContext, Page

CLOSED: Final = "Target page, context or browser has been closed"
CLOSE_S: Final = 5.0
"""Wall time within which it is known which page has closed."""
_LOOK_S: Final = 0.01


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
        """Fire the timers that are due within a step, in order; a step is of whole milliseconds, at least one.

        Raises:
            playwright.async_api.Error: the browser or the context is gone.
        """
        passed = max(1, round(duration_ms))  # the page clock takes whole ones, and whoever waits must come nearer
        if self._context is not None:
            await _run_for(self._context, passed)
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


async def _run_for(context: BrowserContext, passed_ms: int) -> None:
    """Move the clocks of all pages.

    Playwright tells each page of the step before it moves the first clock. Where a page is just closing this fails,
    with no clock moved, and the pages that are left are asked again.
    """
    from playwright.async_api import Error

    while True:
        pages = context.pages
        try:
            await context.clock.run_for(passed_ms)
        except Error as error:
            if CLOSED not in error.message or not await _one_closes(pages):
                raise
        else:
            return


async def _one_closes(pages: Sequence[Page]) -> bool:
    """Wait until one of the pages is closed, and say whether another one is not."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            while not any(page.is_closed() for page in pages):  # noqa: ASYNC110 - whichever it is
                await asyncio.sleep(_LOOK_S)
    closed = [page.is_closed() for page in pages]
    return any(closed) and not all(closed)
