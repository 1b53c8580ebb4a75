"""Share one Playwright driver process between browser launches; it starts more slowly than a browser."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Playwright


class _SharedDriver:
    """A driver that starts on first use."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.exit_stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._playwright: Playwright | None = None

    async def playwright(self) -> Playwright:
        """Return the driver, which runs until the block ends."""
        async with self._lock:
            if self._playwright is None:
                self._playwright = await self.exit_stack.enter_async_context(_new_driver())
            return self._playwright


_SHARED_DRIVER: Final[ContextVar[_SharedDriver | None]] = ContextVar("driver", default=None)
"""The driver of the enclosing `shared_driver` block."""


@asynccontextmanager
async def open_driver() -> AsyncIterator[Playwright]:
    """Yield the driver of the enclosing block, or a new one."""
    shared = _current_driver()
    if shared is not None:
        yield await shared.playwright()
        return
    async with _new_driver() as playwright:
        yield playwright


@asynccontextmanager
async def shared_driver() -> AsyncIterator[None]:
    """Share one driver between all browsers launched in the block.

    For code that launches browsers one after the other. Nested blocks share the outermost driver.
    """
    if _current_driver() is not None:
        yield
        return
    shared = _SharedDriver()
    async with shared.exit_stack:
        before = _SHARED_DRIVER.set(shared)
        try:
            yield
        finally:
            _SHARED_DRIVER.reset(before)


def _current_driver() -> _SharedDriver | None:
    """Return the driver of this block; a driver of another event loop cannot be used."""
    shared = _SHARED_DRIVER.get()
    return shared if shared is not None and shared.loop is asyncio.get_running_loop() else None


@asynccontextmanager
async def _new_driver() -> AsyncIterator[Playwright]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        yield playwright
