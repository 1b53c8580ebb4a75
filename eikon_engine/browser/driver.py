"""The driver: Playwright's program that starts browsers and speaks with them. It starts more slowly than they do."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Playwright


class _Shared:
    """A driver that is started when it is asked for first."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.held = AsyncExitStack()
        self._one_at_a_time = asyncio.Lock()
        self._playwright: Playwright | None = None

    async def playwright(self) -> Playwright:
        """Return the driver, which runs until `held` is closed."""
        async with self._one_at_a_time:
            if self._playwright is None:
                self._playwright = await self.held.enter_async_context(_own_driver())
            return self._playwright


_SHARED: Final[ContextVar[_Shared | None]] = ContextVar("driver", default=None)
"""The driver of the `one_driver` block in which a task runs."""


@asynccontextmanager
async def open_driver() -> AsyncIterator[Playwright]:
    """Give the driver of the block in which this runs; one of its own, where there is none."""
    shared = _shared_here()
    if shared is not None:
        yield await shared.playwright()
        return
    async with _own_driver() as playwright:
        yield playwright


@asynccontextmanager
async def one_driver() -> AsyncIterator[None]:
    """Have one driver for all browsers that are launched in the block, each of which is a process of its own.

    For work that launches one browser after the other. A block inside another one has the driver of that.
    """
    if _shared_here() is not None:
        yield
        return
    shared = _Shared()
    async with shared.held:
        before = _SHARED.set(shared)
        try:
            yield
        finally:
            _SHARED.reset(before)


def _shared_here() -> _Shared | None:
    """Return the driver of this block; that of another loop, from which a thread was started, is of no use."""
    shared = _SHARED.get()
    return shared if shared is not None and shared.loop is asyncio.get_running_loop() else None


@asynccontextmanager
async def _own_driver() -> AsyncIterator[Playwright]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        yield playwright
