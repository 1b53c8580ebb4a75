"""Share one Playwright driver process between browser launches; it starts more slowly than a browser."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Playwright


class _Shared:
    """A driver that starts on first use."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.held = AsyncExitStack()
        self._one_at_a_time = asyncio.Lock()
        self._playwright: Playwright | None = None

    async def playwright(self) -> Playwright:
        """Return the driver, which runs until the block ends."""
        async with self._one_at_a_time:
            if self._playwright is None:
                self._playwright = await self.held.enter_async_context(_own_driver())
            return self._playwright


_SHARED: Final[ContextVar[_Shared | None]] = ContextVar("driver", default=None)
"""The driver of the enclosing `one_driver` block."""


@asynccontextmanager
async def open_driver() -> AsyncIterator[Playwright]:
    """Yield the driver of the enclosing block, or a new one."""
    shared = _shared_here()
    if shared is not None:
        yield await shared.playwright()
        return
    async with _own_driver() as playwright:
        yield playwright


@asynccontextmanager
async def one_driver() -> AsyncIterator[None]:
    """Share one driver between all browsers launched in the block.

    For code that launches browsers one after the other. Nested blocks share the outermost driver.
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
    """Return the driver of this block; a driver of another event loop cannot be used."""
    shared = _SHARED.get()
    return shared if shared is not None and shared.loop is asyncio.get_running_loop() else None


@asynccontextmanager
async def _own_driver() -> AsyncIterator[Playwright]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        yield playwright
