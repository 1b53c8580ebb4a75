"""The clock that pages see: stepped by us, or running with the wall clock."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.browser.page_activity import has_document
from eikon_engine.browser.page_calls import call_in_frame, is_document_gone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import BrowserContext, Page

CLOSED_MESSAGE: Final = "Target page, context or browser has been closed"
CLOSE_S: Final = 5.0
"""Wall time within which it must be known which page has closed."""
_POLL_S: Final = 0.01
_RUN_CLOCK_TO: Final = "time => window.__eikon__?.runClockTo?.(time)"
"""Runs the timers of a document until a Unix time in milliseconds; see init_page_activity.js."""


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
            PageUnreadableError: a page has replaced what the clock uses.
        """
        passed = max(1, round(duration_ms))  # whole milliseconds, and at least one, so that a waiting action progresses
        if self._context is not None:
            await _run_for(self._context, passed, self.start_ms + self._now_ms + passed)
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


async def _run_for(context: BrowserContext, passed_ms: int, until_ms: float) -> None:
    """Advance the clocks of all pages; `until_ms` is the Unix time by then.

    Playwright announces the step to each page before it moves the first clock. That fails while a page is closing, with
    no clock moved; then the clocks of the remaining pages are advanced. It also fails, with the other clocks moved,
    where a page has replaced what Playwright's code in the page uses; then its clock is moved without that.
    """
    from playwright.async_api import Error

    while True:
        pages = context.pages
        try:
            await context.clock.run_for(passed_ms)
        except Error as error:
            if CLOSED_MESSAGE not in error.message:
                if is_document_gone(error):
                    raise
                frames = (frame for page in context.pages for frame in page.frames if has_document(frame))
                await asyncio.gather(*(call_in_frame(frame, _RUN_CLOCK_TO, until_ms) for frame in frames))
                return
            if not await _wait_for_closed_page(pages):
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
