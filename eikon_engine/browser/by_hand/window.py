"""Open a browser for a person, and hear what they do in it."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from eikon_engine.browser.attached.view import impl_of
from eikon_engine.browser.by_hand.look import HeardFrame
from eikon_engine.browser.by_hand.pages import HeardPage, in_turn
from eikon_engine.browser.by_hand.script import BINDING, hearing_script
from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.playwright_errors import first_line
from eikon_engine.errors import NavigationError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from playwright.async_api import Browser, BrowserContext, Dialog, Page, Request

    from eikon_engine.browser.by_hand.pages import PageListener
    from eikon_engine.browser.ledger import PageLedger
    from eikon_engine.trace.environment import Viewport

_SHOW: Final = "([actions, subgoal]) => window.__eikon__?.hand?.show?.(actions, subgoal)"
_LOOPBACK: Final = "127.0.0.1"
OPEN_S: Final = 30.0
"""Wall time for the first document to begin to come."""


class HandListener(Protocol):
    """Somebody who wants to know what a person does; pages go by their ordinals."""

    def told(self, page: int, frame: HeardFrame, text: str) -> None:
        """Hear what the script in a document tells, as JSON."""

    def opened(self, page: int, *, is_popup: bool) -> PageListener:
        """Hear of a page; return who wants to hear of it."""

    def closed(self, page: int) -> None:
        """Hear that a page is gone."""

    def failed(self, page: int, reason: str) -> None:
        """Hear that the document that was asked for does not come."""

    def is_busy(self, page: int | None = None) -> bool:
        """Say whether an action is under way, in one page or in any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """What the browser of a person is like."""

    headless: bool = False
    debugging_port: int | None = None
    browser_path: Path | None = None
    viewport: Viewport


def demand_display(environ: Mapping[str, str], platform: str = sys.platform) -> None:
    """Raise where no window can be shown.

    Raises:
        UsageError: there is no display.
    """
    if platform.startswith("linux") and not (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
        message = (
            "wanted a display for the window, found neither DISPLAY nor WAYLAND_DISPLAY; record with --headless, and "
            "drive the browser from another machine"
        )
        raise UsageError(message)


def free_port(wanted: int | None) -> int:
    """Return the port that is wanted, or one that is free.

    Raises:
        UsageError: it is taken.
    """
    with socket.socket() as probe:
        try:
            probe.bind((_LOOPBACK, wanted or 0))
        except OSError as error:
            message = f"--debugging-port: wanted port {wanted}, found it taken ({error.strerror}); choose another"
            raise UsageError(message) from error
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def open_window(options: WindowOptions) -> AsyncIterator[Window]:
    """Run a browser with one empty page for as long as the block lasts.

    Raises:
        UsageError: a window is wanted where there is no display.
        BrowserMissingError: no browser is installed.
        BrowserDiedError: it did not start.
    """
    if not options.headless:
        demand_display(os.environ)
    launch = LaunchOptions(
        headless=options.headless,
        browser_path=options.browser_path,
        debugging_port=options.debugging_port,
        outlives_signals=True,
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
    """A browser context of a person, and whoever listens to its pages."""

    def __init__(self, context: BrowserContext) -> None:
        """Listen to nothing yet."""
        self.context = context
        self._listener: HandListener
        self._ledger: PageLedger
        self._tasks: set[asyncio.Task[Any]] = set()
        self._heard: list[HeardPage] = []

    async def start(self, ledger: PageLedger, listener: HandListener) -> None:
        """Listen to the page that is open, and to those to come; `ledger` numbers them."""
        self._ledger, self._listener = ledger, listener
        await self.context.expose_binding(BINDING, self._on_told)
        await self.context.add_init_script(hearing_script())
        (page,) = self.context.pages
        await self._hear(page, is_popup=False)
        self.context.on("page", self._on_page)
        self.context.on("dialog", _leave_it)

    async def take_over(self, ledger: PageLedger, listener: HandListener) -> None:
        """Listen to all pages of a context that somebody else works in, and answers the dialogs of, from now on."""
        from playwright.async_api import Error

        self._ledger, self._listener = ledger, listener
        await self.context.expose_binding(BINDING, self._on_told)
        await self.context.add_init_script(hearing_script())
        self.context.on("page", self._on_page)
        for page in self.context.pages:
            await self._hear(page, is_popup=True)
            for frame in page.frames:
                with suppress(Error):  # it is going away
                    await frame.evaluate(hearing_script())

    async def go(self, url: str) -> None:
        """Open the first document.

        Raises:
            NavigationError: it does not come.
        """
        from playwright.async_api import Error

        (page,) = self.context.pages
        try:
            await page.goto(url, wait_until="commit", timeout=OPEN_S * 1000)
        except Error as error:
            message = f"{url}: wanted a document, found none: {first_line(error.message)}; check --url"
            raise NavigationError(message) from error

    def show(self, actions: int, subgoal: str) -> None:
        """Show in every page what is recorded."""
        for page in self.context.pages:
            self._spawn(_show(page, actions, subgoal))

    def expect_travel(self, page: int) -> None:
        """Let the next journey through the history of a page be a script's."""
        for heard in self._heard:
            if heard.ordinal == page:
                heard.expect_travel()

    async def stop(self) -> None:
        """Leave nothing running."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Any) -> None:  # noqa: ANN401 - any coroutine
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _on_told(self, source: Mapping[str, Any], text: str) -> None:
        self._listener.told(self._ordinal(source["page"]), HeardFrame(source["frame"]), text)

    def _ordinal(self, page: Page) -> int:
        """Return the number of a page; -1 for one that is not recorded. The ledger has views of its own."""
        known = (number for number, each in enumerate(self._ledger.pages) if impl_of(each) is impl_of(page))
        return next(known, -1)

    def _on_page(self, page: Page) -> None:
        self._spawn(self._arrive(page))

    async def _arrive(self, page: Page) -> None:
        from playwright.async_api import Error

        was_busy = self._listener.is_busy()
        with suppress(Error):  # it has closed already
            opener = await page.opener()
            await self._hear(page, is_popup=was_busy or opener is not None)

    async def _hear(self, page: Page, *, is_popup: bool) -> None:
        ordinal = self._ordinal(page)
        page.on("close", lambda _: in_turn(self._listener.closed, ordinal))
        page.on("requestfailed", self._on_failed)
        heard = HeardPage(ordinal, self._listener.opened(ordinal, is_popup=is_popup), is_popup=is_popup)
        self._heard.append(heard)
        await heard.start(page)

    def _on_failed(self, request: Request) -> None:
        from playwright.async_api import Error

        reason = request.failure or ""
        with suppress(Error):  # of no frame
            if request.is_navigation_request() and request.frame.parent_frame is None and "ERR_ABORTED" not in reason:
                self._listener.failed(self._ordinal(request.frame.page), f"navigating to {request.url}: {reason}")


def _leave_it(_dialog: Dialog) -> None:
    """Leave a dialog to the person: where nobody listens, Playwright answers it."""


async def _show(page: Page, actions: int, subgoal: str) -> None:
    from playwright.async_api import Error

    with suppress(Error):  # it is going away
        await page.main_frame.evaluate(_SHOW, [actions, subgoal])
