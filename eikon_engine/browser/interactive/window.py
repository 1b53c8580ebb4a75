"""Open a browser window for a person, observe what they do in it, and verify the selectors of what they act on."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from eikon_engine.browser.attach.call_interceptor import frame_selectors
from eikon_engine.browser.executable import find_display_problem
from eikon_engine.browser.interactive.page_monitor import PageMonitor, call_soon
from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.playwright_errors import first_line
from eikon_engine.browser.playwright_internals import impl_of
from eikon_engine.errors import NavigationError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from playwright.async_api import Browser, BrowserContext, Dialog, Frame, Page, Request

    from eikon_engine.browser.interactive.page_monitor import PageListener
    from eikon_engine.browser.page_tracker import PageTracker
    from eikon_engine.trace.environment import Viewport

PROBE_TIMEOUT_S: Final = 2.0
"""Wall time after which an unresponsive page is not probed any longer."""
_IS_ELEMENT: Final = (
    "(elements, key) => elements.length === 1 && window.__eikon__?.recorder?.keyOf(elements[0]) === key"
)
_SELECTORS: Final = (
    "element => (window.__eikon__?.recorder?.name(element) ?? []).map(each => [each.kind, each.selector])"
)
_CSS_SELECTOR_KINDS: Final = frozenset({"test-id", "id", "name", "css", "place"})


class ReportingFrame:
    """A frame that reported an element."""

    def __init__(self, frame: Frame) -> None:
        """Send nothing yet."""
        self._frame = frame

    async def verify_selectors(self, key: str, selectors: Sequence[str]) -> frozenset[str]:
        """Return the selectors that Playwright resolves to exactly this element."""
        answers = await asyncio.gather(*(self._matches_element(key, selector) for selector in selectors))
        return frozenset(selector for selector, holds in zip(selectors, answers, strict=True) if holds)

    async def frame_selectors(self) -> tuple[str, ...]:
        """Return selectors of the iframes that lead to the frame, outermost first; positional ones as fallback."""
        path: list[str] = []
        inner = self._frame
        while (outer := inner.parent_frame) is not None:
            selector = await _iframe_selector(inner)
            if selector is None:
                return frame_selectors(impl_of(self._frame))
            path.insert(0, selector)
            inner = outer
        return tuple(path)

    async def _matches_element(self, key: str, selector: str) -> bool:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                return bool(await self._frame.locator(selector).evaluate_all(_IS_ELEMENT, key))
        except (Error, TimeoutError):
            return False


async def _iframe_selector(frame: Frame) -> str | None:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            element = await frame.frame_element()
            names: list[list[str]] = await element.evaluate(_SELECTORS)
    except (Error, TimeoutError):
        return None
    return next((selector for kind, selector in names if kind in _CSS_SELECTOR_KINDS), None)


BINDING: Final = "__eikon_report__"
"""Name of the binding the script reports through; the script removes it before the page can see it."""


@cache
def interaction_script() -> str:
    """Return the init script; it runs after those of the session."""
    script = load_script("interactive.js").replace("BINDING", BINDING)
    for part in ("selectors", "bar", "events", "history"):
        source = load_script(f"interactive_{part}.js").strip()
        script = script.replace(f"({part.upper()})", f"({source[source.index(chr(10) + '(') + 1 :]})")
    return script


_UPDATE_BAR: Final = "([actions, subgoal]) => window.__eikon__?.recorder?.show?.(actions, subgoal)"
_LOOPBACK: Final = "127.0.0.1"
OPEN_TIMEOUT_S: Final = 30.0
"""Wall time for the response of the first document."""


class WindowListener(Protocol):
    """Receives what a person does; pages are identified by ordinal."""

    def on_message(self, page: int, frame: ReportingFrame, text: str) -> None:
        """Handle a JSON message of the script in a document."""

    def on_page_opened(self, page: int, *, is_popup: bool) -> PageListener:
        """Handle a new page; return the listener for its events."""

    def on_page_closed(self, page: int) -> None:
        """Handle a closed page."""

    def on_navigation_failed(self, page: int, reason: str) -> None:
        """Handle a failed navigation."""

    def has_recent_activity(self, page: int | None = None) -> bool:
        """Return whether an action is pending, in one page or in any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """Options of the browser window."""

    headless: bool = False
    debugging_port: int | None = None
    browser_path: Path | None = None
    viewport: Viewport


def require_display(environ: Mapping[str, str], platform: str = sys.platform) -> None:
    """Check that a window can be shown.

    Raises:
        UsageError: there is no display.
    """
    problem = find_display_problem(environ, platform)
    if problem is not None:
        message = (
            f"no display for the browser window: {problem}; use --headless and drive the browser from another machine"
        )
        raise UsageError(message)


def free_port(expected: int | None) -> int:
    """Return the wanted port if it is free, or any free port.

    Raises:
        UsageError: the port is in use.
    """
    with socket.socket() as probe:
        try:
            probe.bind((_LOOPBACK, expected or 0))
        except OSError as error:
            message = f"--debugging-port: port {expected} is in use ({error.strerror}); choose another"
            raise UsageError(message) from error
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def open_window(options: WindowOptions) -> AsyncIterator[Window]:
    """Run a browser with one empty page for the duration of the block.

    Raises:
        UsageError: no display for the window.
        BrowserMissingError: no browser is installed.
        BrowserDiedError: it did not start.
    """
    if not options.headless:
        require_display(os.environ)
    launch = LaunchOptions(
        headless=options.headless,
        browser_path=options.browser_path,
        debugging_port=options.debugging_port,
        ignores_signals=True,
    )
    async with launch_browser(launch) as launched:
        context = await _context(launched.browser, options)
        await context.new_page()
        window = Window(context)
        try:
            yield window
        finally:
            await window.stop()


async def _context(browser: Browser, options: WindowOptions) -> BrowserContext:
    viewport = options.viewport
    return await browser.new_context(
        viewport={"width": viewport.width, "height": viewport.height}, service_workers="block", accept_downloads=True
    )


class Window:
    """The browser context of a person and the observers of its pages."""

    def __init__(self, context: BrowserContext) -> None:
        """Observe nothing yet."""
        self.context = context
        self._listener: WindowListener
        self._tracker: PageTracker
        self._tasks: set[asyncio.Task[Any]] = set()
        self._monitors: list[PageMonitor] = []

    async def start(self, tracker: PageTracker, listener: WindowListener) -> None:
        """Observe the open page and future ones; `tracker` assigns their ordinals."""
        self._tracker, self._listener = tracker, listener
        await self.context.expose_binding(BINDING, self._on_message)
        await self.context.add_init_script(interaction_script())
        (page,) = self.context.pages
        await self._monitor_page(page, is_popup=False)
        self.context.on("page", self._on_page)
        self.context.on("dialog", _ignore_dialog)

    async def observe_open_pages(self, tracker: PageTracker, listener: WindowListener) -> None:
        """Observe all pages of a context that someone else drives and whose dialogs they answer."""
        from playwright.async_api import Error

        self._tracker, self._listener = tracker, listener
        await self.context.expose_binding(BINDING, self._on_message)
        await self.context.add_init_script(interaction_script())
        self.context.on("page", self._on_page)
        for page in self.context.pages:
            await self._monitor_page(page, is_popup=True)
            for frame in page.frames:
                with suppress(Error):  # the document is unloading
                    await frame.evaluate(interaction_script())

    async def open_url(self, url: str) -> None:
        """Open the first document.

        Raises:
            NavigationError: it cannot be loaded.
        """
        from playwright.async_api import Error

        (page,) = self.context.pages
        try:
            await page.goto(url, wait_until="commit", timeout=OPEN_TIMEOUT_S * 1000)
        except Error as error:
            message = f"cannot open {url}: {first_line(error.message)}; check --url"
            raise NavigationError(message) from error

    def update_bar(self, actions: int, subgoal: str) -> None:
        """Show the recording state in every page."""
        for page in self.context.pages:
            self._spawn(_update_page_bar(page, actions, subgoal))

    def expect_script_navigation(self, page: int) -> None:
        """Attribute the next history navigation of a page to a script."""
        for monitor in self._monitors:
            if monitor.ordinal == page:
                monitor.expect_script_navigation()

    async def stop(self) -> None:
        """Cancel all background work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Any) -> None:  # noqa: ANN401 - any coroutine
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _on_message(self, source: Mapping[str, Any], text: str) -> None:
        self._listener.on_message(self._ordinal(source["page"]), ReportingFrame(source["frame"]), text)

    def _ordinal(self, page: Page) -> int:
        """Return the ordinal of a page; -1 if it is not recorded. The tracker wraps the same pages in other objects."""
        known = (number for number, each in enumerate(self._tracker.pages) if impl_of(each) is impl_of(page))
        return next(known, -1)

    def _on_page(self, page: Page) -> None:
        self._spawn(self._on_new_page(page))

    async def _on_new_page(self, page: Page) -> None:
        from playwright.async_api import Error

        was_busy = self._listener.has_recent_activity()
        with suppress(Error):  # the page is closed already
            opener = await page.opener()
            await self._monitor_page(page, is_popup=was_busy or opener is not None)

    async def _monitor_page(self, page: Page, *, is_popup: bool) -> None:
        ordinal = self._ordinal(page)
        page.on("close", lambda _: call_soon(self._listener.on_page_closed, ordinal))
        page.on("requestfailed", self._on_request_failed)
        monitor = PageMonitor(ordinal, self._listener.on_page_opened(ordinal, is_popup=is_popup), is_popup=is_popup)
        self._monitors.append(monitor)
        await monitor.start(page)

    def _on_request_failed(self, request: Request) -> None:
        from playwright.async_api import Error

        reason = request.failure or ""
        with suppress(Error):  # the request has no frame
            if request.is_navigation_request() and request.frame.parent_frame is None and "ERR_ABORTED" not in reason:
                self._listener.on_navigation_failed(
                    self._ordinal(request.frame.page), f"navigating to {request.url}: {reason}"
                )


def _ignore_dialog(_dialog: Dialog) -> None:
    """Leave a dialog to the person: without a listener, Playwright would answer it."""


async def _update_page_bar(page: Page, actions: int, subgoal: str) -> None:
    from playwright.async_api import Error

    with suppress(Error):  # the document is unloading
        await page.main_frame.evaluate(_UPDATE_BAR, [actions, subgoal])
