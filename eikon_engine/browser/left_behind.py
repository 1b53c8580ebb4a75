"""What Playwright leaves behind where the browser goes away: calls that nobody waits for any more, and that fail."""

from __future__ import annotations

import asyncio
from typing import Any

from eikon_engine.browser.playwright_errors import GONE


def overlook_what_is_gone() -> None:
    """Keep the running loop from telling of such calls; whoever needed the browser is told by an error of ours.

    The same holds for what could not be written to a driver that had ended. The loop tells of them when they are
    collected, which may be after everything else has ended. A loop that tells of its faults in a way of its own is left
    alone.
    """
    loop = asyncio.get_running_loop()
    if loop.get_exception_handler() is None:
        loop.set_exception_handler(_tell)


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    fault = context.get("exception")
    is_gone = isinstance(fault, BrokenPipeError | ConnectionResetError) or GONE.search(str(fault))
    if fault is None or not is_gone:
        loop.default_exception_handler(context)
