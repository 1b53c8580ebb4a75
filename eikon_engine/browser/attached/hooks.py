"""Meet every context that Playwright opens in this process, which is ours and runs somebody's script.

Each client tells of new contexts through its instrumentation (`playwright/_impl/client_instrumentation.py`), and waits
for those who hear of them; it tells so of contexts that close, too, but for those that go with their browser.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from eikon_engine.browser.attached.view import OURS

if TYPE_CHECKING:
    from collections.abc import Callable


class ContextHost(Protocol):
    """Somebody who wants to know of contexts."""

    async def opened(self, wrapper: object) -> None:
        """Hear of a context before its user has it."""

    async def closing(self, impl: object) -> None:
        """Hear of a context before it is closed."""


class HeldContext:
    """Stand for a context that its user holds: what is done with it is done inside the loop of its client."""

    def __init__(self, impl: Any) -> None:  # noqa: ANN401 - the objects of the client have no public types
        """Stand for `impl`."""
        self._impl_obj = impl
        self._loop = impl._loop  # noqa: SLF001 - as above
        self._dispatcher_fiber = impl._dispatcher_fiber  # noqa: SLF001 - as above


class _Instrument:
    """What each client tells."""

    def __init__(self, host: ContextHost) -> None:
        self._host = host

    async def run_after_create_browser_context(self, context: object) -> None:
        if not OURS.get():
            await self._host.opened(HeldContext(context))

    async def run_before_close_browser_context(self, context: object) -> None:
        if not OURS.get():
            await self._host.closing(context)


def meet_contexts(host: ContextHost) -> None:
    """Tell `host` of every context from now on."""
    from playwright._impl import browser

    connection: Any = import_module("playwright._impl.connection")
    create = connection.create_instrumentation
    close = browser.Browser.close

    def create_with_host() -> Any:  # noqa: ANN401 - as above
        made = create()
        made.add_listener(_Instrument(host))
        return made

    async def close_after_telling(self: Any, *values: Any, **named: Any) -> None:  # noqa: ANN401 - as above
        for context in tuple(self.contexts):
            await host.closing(context)
        await close(self, *values, **named)

    connection.create_instrumentation = create_with_host
    browser.Browser.close = close_after_telling  # type: ignore[method-assign] # this process is ours


def launch_with(browser_path: Path | None, find: Callable[[], Path]) -> None:
    """Let a script that names no browser have this one, or one that `find` finds where Playwright's own is missing."""
    from playwright._impl.browser_type import BrowserType

    launch = BrowserType.launch

    async def launch_found(self: Any, *values: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
        chosen = named.get("executable_path") or named.get("channel")
        if not chosen and self.name == "chromium":
            own = Path(self.executable_path).exists()  # noqa: ASYNC240 - once a browser
            named["executable_path"] = browser_path or (None if own else find())
        return await launch(self, *values, **named)

    BrowserType.launch = launch_found  # type: ignore[method-assign] # this process is ours
