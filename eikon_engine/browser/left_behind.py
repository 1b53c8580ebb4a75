"""Silence Playwright calls that fail because the browser is gone, and that no code awaits any more."""

from __future__ import annotations

import asyncio
from typing import Any

from eikon_engine.browser.playwright_errors import TARGET_GONE


def ignore_calls_to_gone_browser() -> None:
    """Keep the running loop from logging such failures; code that needed the browser gets an error of ours.

    The same holds for writes to a driver process that has exited. The loop reports them when they are garbage
    collected, possibly after everything else has ended. A loop with its own exception handler is left alone.
    """
    loop = asyncio.get_running_loop()
    if loop.get_exception_handler() is None:
        loop.set_exception_handler(_handle_loop_error)


def _handle_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    fault = context.get("exception")
    is_gone = isinstance(fault, BrokenPipeError | ConnectionResetError) or TARGET_GONE.search(str(fault))
    if fault is None or not is_gone:
        loop.default_exception_handler(context)
