"""Observe every context that Playwright opens in this process, which runs a recorded script.

Clients announce contexts through their instrumentation (`playwright/_impl/client_instrumentation.py`) and wait for its
listeners. Contexts that close together with their browser are not announced.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from eikon_engine.browser.attach.client_views import IS_INTERNAL_CALL
from eikon_engine.browser.playwright_internals import (
    ContextHandle,
    add_instrumentation,
    adjust_launches,
    call_before_browser_closes,
    call_before_playwright_stops,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.browser.playwright_internals import Connection


class ContextListener(Protocol):
    """Receives new and closing contexts."""

    async def on_context_opened(self, wrapper: object) -> None:
        """Handle a context before its owner gets it."""

    async def on_context_closing(self, impl: object) -> None:
        """Handle a context before it closes."""

    async def on_playwright_stopping(self, connection: Connection, error: BaseException | None) -> None:
        """Handle a client before it stops with all its contexts; `error` is the exception that leaves its block."""


class _ClientInstrumentation:
    """Instrumentation listener of one client."""

    def __init__(self, host: ContextListener) -> None:
        self._host = host

    async def run_after_create_browser_context(self, context: object) -> None:
        if not IS_INTERNAL_CALL.get():
            await self._host.on_context_opened(ContextHandle(context))

    async def run_before_close_browser_context(self, context: object) -> None:
        if not IS_INTERNAL_CALL.get():
            await self._host.on_context_closing(context)


def observe_contexts(host: ContextListener) -> None:
    """Notify `host` of every context from now on."""
    add_instrumentation(lambda: _ClientInstrumentation(host))
    call_before_browser_closes(host.on_context_closing)
    call_before_playwright_stops(host.on_playwright_stopping)


def override_launch(browser_path: Path | None, find: Callable[[], Path], *, headless: bool | None = None) -> None:
    """Launch this browser for scripts that name none; call `find` if Playwright's own is not installed.

    `headless` replaces what the script asks for, unless it is None.
    """

    def choose_browser(browser_type: Any, options: dict[str, Any]) -> None:  # noqa: ANN401 - the objects of the client have no public types
        if not (options.get("executable_path") or options.get("channel")) and browser_type.name == "chromium":
            own = Path(browser_type.executable_path).exists()
            options["executable_path"] = browser_path or (None if own else find())
        if headless is not None:
            options["headless"] = headless

    adjust_launches(choose_browser)
