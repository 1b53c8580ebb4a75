"""Browsers that run for all replays of a test process, each of which has a context of its own."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeAlias

from anyio.from_thread import BlockingPortal, start_blocking_portal

from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.run import find_for, run_replay, verify_bundle
from eikon_engine.replay.worker_for import browser_for
from eikon_engine.report import standard_reports

if TYPE_CHECKING:
    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan
    from eikon_engine.replay.run import Run
    from eikon_engine.trace.bundle import Bundle

Kind: TypeAlias = tuple[object, ...]


class SharedBrowsers:
    """One browser of each kind that was asked for: launched at its first use, and again if it has died."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._portal: BlockingPortal | None = None
        self._running: dict[Kind, LaunchedBrowser] = {}

    def replay(self, bundle: Bundle, options: ReplayOptions) -> Run:
        """Replay a bundle with the standard reports, as `ReplayEngine` does in a browser of its own."""
        plan = plan_replay(bundle, options)
        verify_bundle(bundle)
        if self._portal is None:
            self._portal = self._held.enter_context(start_blocking_portal())
        browser = self._browser(self._portal, plan, options)
        return self._portal.call(run_replay, bundle, options, standard_reports(), browser)

    def close(self) -> None:
        """End all browsers."""
        self._held.close()
        self._portal = None
        self._running.clear()

    def _browser(self, portal: BlockingPortal, plan: Plan, options: ReplayOptions) -> LaunchedBrowser:
        binary, recorded = find_for(options), plan.trace.environment
        seed = recorded.random_seed if recorded else None
        kind = (binary.path, options.headless, plan.network == "live", seed)
        running = self._running.get(kind)
        if running is None or not running.browser.is_connected():
            launching = portal.wrap_async_context_manager(browser_for(plan, options, binary))
            running = self._running[kind] = self._held.enter_context(launching)
        return running


SHARED = SharedBrowsers()
