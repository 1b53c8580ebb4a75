"""Observe every context that Playwright opens in this process, which runs a recorded script.

Clients announce contexts through their instrumentation (`playwright/_impl/client_instrumentation.py`) and wait for its
listeners. Contexts that close together with their browser are not announced.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from eikon_engine.browser.attach.client_views import IS_INTERNAL_CALL

if TYPE_CHECKING:
    from collections.abc import Callable


class ContextListener(Protocol):
    """Receives new and closing contexts."""

    async def on_context_opened(self, wrapper: object) -> None:
        """Handle a context before its owner gets it."""

    async def on_context_closing(self, impl: object) -> None:
        """Handle a context before it closes."""


class ContextHandle:
    """A context for use inside the event loop of its own client."""

    def __init__(self, impl: Any) -> None:  # noqa: ANN401 - the objects of the client have no public types
        """Wrap `impl`."""
        self._impl_obj = impl
        self._loop = impl._loop  # noqa: SLF001 - as above
        self._dispatcher_fiber = impl._dispatcher_fiber  # noqa: SLF001 - as above


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
    from playwright._impl import browser

    connection: Any = import_module("playwright._impl.connection")
    create = connection.create_instrumentation
    close = browser.Browser.close

    def create_with_host() -> Any:  # noqa: ANN401 - as above
        made = create()
        made.add_listener(_ClientInstrumentation(host))
        return made

    async def close_after_telling(self: Any, *values: Any, **named: Any) -> None:  # noqa: ANN401 - as above
        for context in tuple(self.contexts):
            await host.on_context_closing(context)
        await close(self, *values, **named)

    connection.create_instrumentation = create_with_host
    browser.Browser.close = close_after_telling  # type: ignore[method-assign] # this process only runs the recorded script


def override_launch(browser_path: Path | None, find: Callable[[], Path]) -> None:
    """Launch this browser for scripts that name none; call `find` if Playwright's own is not installed."""
    from playwright._impl.browser_type import BrowserType

    launch = BrowserType.launch

    async def launch_found(self: Any, *values: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
        chosen = named.get("executable_path") or named.get("channel")
        if not chosen and self.name == "chromium":
            own = Path(self.executable_path).exists()  # noqa: ASYNC240 - once per browser
            named["executable_path"] = browser_path or (None if own else find())
        return await launch(self, *values, **named)

    BrowserType.launch = launch_found  # type: ignore[method-assign] # this process only runs the recorded script
