"""One driver for all browsers of a test process; the browsers are shared, and each replay has its own context."""

from __future__ import annotations

from contextlib import ExitStack, asynccontextmanager
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from eikon_engine.browser.launch import shared_driver
from eikon_engine.replay.context import launch_replay_browser
from eikon_engine.replay.engine import run_replay, verify_bundle_files
from eikon_engine.replay.plan import plan_replay
from eikon_engine.report import standard_reports

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.replay.engine import Run
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.bundle import Bundle

Kind: TypeAlias = tuple[object, ...]
MAX_BROWSERS = 8
"""Browsers that run at once: each recording of an agent has a seed, and therefore a browser, of its own."""
T = TypeVar("T")


class SharedBrowsers:
    """An event loop with one driver, and one browser of each requested kind.

    Browsers are launched at their first use, and again if they have died or made room for others.
    """

    def __init__(self) -> None:
        self._held = ExitStack()
        self._loop: tuple[BlockingPortal, Context] | None = None
        self._running: dict[Kind, tuple[LaunchedBrowser, ExitStack]] = {}
        """With what closes it, least recently used first."""

    def replay(self, bundle: Bundle, options: ReplayOptions) -> Run:
        """Replay a bundle with the standard reports, as `ReplayEngine` does in its own browser."""
        plan = plan_replay(bundle, options)
        verify_bundle_files(bundle)
        browser = self._browser(plan, options)
        return self._in_loop(lambda portal: portal.call(run_replay, bundle, options, standard_reports(), browser))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop of these browsers, so that it shares their driver."""

        async def done() -> T:
            return await work

        return self._in_loop(lambda portal: portal.call(done))

    def close(self) -> None:
        """Close all browsers."""
        while self._running:
            self._close_oldest()
        self._held.close()
        self._loop = None

    def _in_loop(self, act: Callable[[BlockingPortal], T]) -> T:
        """Call the loop from a context that has its driver, so that the coroutine inherits it."""
        if self._loop is None:
            portal = self._held.enter_context(start_blocking_portal())
            self._loop = portal, self._held.enter_context(portal.wrap_async_context_manager(_with_driver()))
        portal, surroundings = self._loop
        return surroundings.copy().run(act, portal)

    def _browser(self, plan: Plan, options: ReplayOptions) -> LaunchedBrowser:
        recorded = plan.trace.environment
        seed = recorded.random_seed if recorded else None
        kind = (options.browser_path, options.headless, plan.has_sink, seed)
        running = self._running.pop(kind, None)
        if running is not None and not running[0].browser.is_connected():
            running[1].close()
            running = None
        if running is None:
            while len(self._running) >= MAX_BROWSERS:
                self._close_oldest()
            held = ExitStack()
            browser = self._in_loop(
                lambda portal: held.enter_context(
                    portal.wrap_async_context_manager(launch_replay_browser(plan, options))
                )
            )
            running = browser, held
        self._running[kind] = running
        return running[0]

    def _close_oldest(self) -> None:
        _, held = self._running.pop(next(iter(self._running)))
        held.close()


@asynccontextmanager
async def _with_driver() -> AsyncIterator[Context]:
    async with shared_driver():
        yield copy_context()


SHARED = SharedBrowsers()
