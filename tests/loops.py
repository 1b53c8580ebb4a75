"""Event loops beside the one of Playwright's synchronous API."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


def in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a thread of its own.

    A test whose module uses the fixture `chromium` cannot call `asyncio.run` itself: the synchronous API keeps a
    running loop in the main thread until the module ends.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work)).result()
