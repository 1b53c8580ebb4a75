"""Launch the browser and its Playwright driver, with the same flags for recording and for replay."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from eikon_engine.browser.executable import BrowserBinary, find_browser, find_display_problem, require_open_files
from eikon_engine.browser.playwright_errors import TARGET_GONE
from eikon_engine.browser.playwright_internals import driver_files_in
from eikon_engine.browser.traffic.sink import SINK_HOST, open_sink
from eikon_engine.errors import BrowserDiedError, BrowserError, EikonError
from eikon_engine.files.state_folder import private_cache_folder
from eikon_engine.files.temporary import process_folder
from eikon_engine.garbage_collection import gc_paused
from eikon_engine.interrupts import open_portal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from concurrent.futures import Future

    from anyio.from_thread import BlockingPortal
    from playwright.async_api import APIRequest, Browser, Playwright, ProxySettings

_ArgumentT = TypeVar("_ArgumentT")
_ResultT = TypeVar("_ResultT")


class _SharedDriver:
    """A driver that starts on first use, and the browser that was prepared with it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.exit_stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._playwright: Playwright | None = None
        self._preparing: asyncio.Task[object] | None = None
        self._prepared: tuple[LaunchOptions, LaunchedBrowser | EikonError] | None = None

    async def prepare(self, options: LaunchOptions) -> None:
        """Launch a browser with these options; an error is raised where the browser is taken."""
        self._preparing = asyncio.current_task()
        try:
            launched = await self.exit_stack.enter_async_context(launch_behind_sink(options))
        except EikonError as error:
            self._prepared = options, error
        else:
            self._prepared = options, launched

    async def take_browser(self, options: LaunchOptions | None) -> LaunchedBrowser | None:
        """Return the prepared browser, once; None if there is none, or one with other options, which is closed.

        Raises:
            BrowserError: one with these options was not found, or did not start.
        """
        if self._preparing is not None:
            await asyncio.wait({self._preparing})
        expected, prepared = self._prepared or (None, None)
        self._prepared = None
        if isinstance(prepared, EikonError):
            if expected == options:
                raise prepared
            return None
        if prepared is None or (expected == options and prepared.browser.is_connected()):
            return prepared
        await prepared.browser.close()
        return None

    async def playwright(self) -> Playwright:
        """Return the driver, which runs until the block ends."""
        async with self._lock:
            if self._playwright is None:
                self._playwright = await self.exit_stack.enter_async_context(_new_driver())
            return self._playwright

    async def close(self) -> None:
        """Close the browser and stop the driver, once they have started."""
        if self._preparing is not None:
            await asyncio.wait({self._preparing})
        async with self._lock:
            await self.exit_stack.aclose()


_SHARED_DRIVER: Final[ContextVar[_SharedDriver | None]] = ContextVar("driver", default=None)
"""The driver of the enclosing `shared_driver` block."""


@asynccontextmanager
async def open_driver() -> AsyncIterator[Playwright]:
    """Yield the driver of the enclosing block, or a new one."""
    shared = _current_driver()
    if shared is not None:
        yield await shared.playwright()
        return
    async with _new_driver() as playwright:
        yield playwright


@asynccontextmanager
async def shared_driver() -> AsyncIterator[None]:
    """Share one driver between all browsers launched in the block.

    For code that launches browsers one after the other. Nested blocks share the outermost driver.
    """
    if _current_driver() is not None:
        yield
        return
    shared = _SharedDriver()
    async with shared.exit_stack:
        before = _SHARED_DRIVER.set(shared)
        try:
            yield
        finally:
            _SHARED_DRIVER.reset(before)


@contextmanager
def browser_starting(options: LaunchOptions | None) -> Iterator[None]:
    """Begin to start a driver, in an event loop of a thread of its own, for `run_in_loop` in the block.

    With `options`, a browser is launched with them, for `take_prepared_browser`. Both take about as long to start as
    the modules of a replay to import and its bundle to read.

    Raises:
        BrowserError: a browser could not open its files.
    """
    require_open_files()
    with gc_paused():
        import playwright.async_api  # noqa: F401 - both threads would wait for each other's imports

    with open_portal() as portal:
        shared = portal.call(_new_shared_driver)
        before = _PREPARED_LOOP.set(portal), _SHARED_DRIVER.set(shared)
        starting: list[Future[Any]] = []
        try:
            starting.append(portal.start_task_soon(shared.playwright))
            if options is not None:
                starting.append(portal.start_task_soon(shared.prepare, options))
            yield
        except Exception:  # an error does not wait for the browser
            for each in starting[1:]:
                each.cancel()
            raise
        except BaseException:  # an interrupt waits for nothing
            for each in starting:
                each.cancel()
            raise
        finally:
            _PREPARED_LOOP.reset(before[0])
            _SHARED_DRIVER.reset(before[1])
            portal.call(shared.close)


_PREPARED_LOOP: Final[ContextVar[BlockingPortal | None]] = ContextVar("prepared_loop", default=None)
"""The event loop of the enclosing `browser_starting` block."""


async def take_prepared_browser(options: LaunchOptions | None) -> LaunchedBrowser | None:
    """Return the browser that the enclosing `browser_starting` block launched with these options, once; else None.

    One with other options is closed; without any options, each is.

    Raises:
        BrowserError: it was not found, or did not start.
    """
    shared = _current_driver()
    return None if shared is None else await shared.take_browser(options)


def run_in_loop(function: Callable[[_ArgumentT], Awaitable[_ResultT]], argument: _ArgumentT) -> _ResultT:
    """Call an asynchronous function from a thread without an event loop, in that of the enclosing block or a new one.

    If the call is interrupted, it is cancelled, and has ended when the interruption is raised.
    """
    portal = _PREPARED_LOOP.get()
    if portal is None:
        with open_portal() as portal:
            return portal.call(function, argument)
    has_ended = threading.Event()

    async def call() -> _ResultT:
        try:
            return await function(argument)
        finally:
            has_ended.set()

    running = portal.start_task_soon(call)
    try:
        return running.result()
    except BaseException:
        if running.cancel():
            has_ended.wait()
        raise


async def _new_shared_driver() -> _SharedDriver:
    ignore_calls_to_gone_browser()  # Ctrl-C ends a driver that starts
    return _SharedDriver()


def _current_driver() -> _SharedDriver | None:
    """Return the driver of this block; a driver of another event loop cannot be used."""
    shared = _SHARED_DRIVER.get()
    return shared if shared is not None and shared.loop is asyncio.get_running_loop() else None


def _compile_cache() -> Path | None:
    """Return where the compiled code of drivers is kept, with which they start a third faster; None if nowhere.

    None as well if the user has set where Node.js keeps it: https://nodejs.org/api/cli.html#node_compile_cachedir
    """
    if os.environ.keys() & {"NODE_COMPILE_CACHE", "NODE_DISABLE_COMPILE_CACHE"}:
        return None
    try:
        return private_cache_folder(Path.home(), os.environ, "driver")
    except RuntimeError:  # the user has no home
        return None


@asynccontextmanager
async def _new_driver() -> AsyncIterator[Playwright]:
    from playwright.async_api import async_playwright

    async with AsyncExitStack() as stack:
        with driver_files_in(process_folder(), _compile_cache()):
            playwright = await stack.enter_async_context(async_playwright())
        yield playwright


def ignore_calls_to_gone_browser(loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Stop a loop, by default the running one, from logging calls that failed because their browser is gone.

    The same holds for writes to a driver process that has exited. The loop reports them when they are garbage
    collected, possibly after everything else has ended. A loop with its own exception handler is left alone.
    """
    loop = loop or asyncio.get_running_loop()
    if loop.get_exception_handler() is None:
        loop.set_exception_handler(_handle_loop_error)


def _handle_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    fault = context.get("exception")
    is_gone = isinstance(fault, BrokenPipeError | ConnectionResetError) or TARGET_GONE.search(str(fault))
    if fault is None or not is_gone:
        loop.default_exception_handler(context)


_DISABLED_FEATURES: Final = (
    "DeferRendererTasksAfterInput",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "Prerender2FallbackPrefetchSpecRules",
    "ThirdPartyStoragePartitioning",
)
"""Disabled Chromium features. `DeferRendererTasksAfterInput` delays what a click triggers (a form submission) until the
next frame, so a page looks idle for about 100 ms. `Prerender2FallbackPrefetchSpecRules` sends requests that bypass
routes. The rest repeats Playwright's own list, which this flag overrides."""

_NO_SANDBOX: Final = "No usable sandbox!"
"""What Chromium prints when it cannot make user namespaces."""
_DISABLE_FEATURES: Final = "--disable-features="

FLAGS: Final[tuple[str, ...]] = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    f"{_DISABLE_FEATURES}{','.join(_DISABLED_FEATURES)}",
    "--disable-quic",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--no-pings",
    "--no-first-run",
)
"""Flags of every launch: no background traffic of the browser itself."""

SEALED_FLAGS: Final[tuple[str, ...]] = (
    f"--host-resolver-rules=MAP {SINK_HOST} 127.0.0.1,MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--component-updater=url-source=http://127.0.0.1:1/,disable-background-downloads",
    "--gaia-url=http://127.0.0.1:1/",
)
"""Extra flags of a sealed launch: only the sink's host name resolves, IP literals included; WebRTC uses the proxy or
nothing; the browser's own services are unreachable."""
SEALED_DISABLED_FEATURES: Final = ("WebRtcHideLocalIpsWithMdns",)
"""Features disabled only in a sealed launch. This one joins a multicast group; without it no local address is exposed
to pages either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """How to launch the browser."""

    headless: bool = True
    browser_path: Path | None = None
    random_seed: int = 1
    """Seed of `Math.random` in every frame and worker of the browser."""
    sealed: bool = False
    proxy: str | None = None
    """Proxy of the browser's own requests; each context has its own proxy."""
    debugging_port: int | None = None
    """Loopback port of the DevTools protocol, for other clients that drive this browser."""
    ignores_signals: bool = False
    """Whether the browser survives Ctrl-C and SIGTERM, so that a recording can be completed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedBrowser:
    """A running browser and what it was launched from."""

    browser: Browser
    binary: BrowserBinary
    flags: tuple[str, ...]
    """Flags that can change what a page sees, without the ones that seal it."""
    playwright_version: str
    api_request: APIRequest
    """Sends requests outside the browser."""


def launch_flags(options: LaunchOptions) -> tuple[str, ...]:
    """List the flags of a launch, in order."""
    flags = (*FLAGS, f"--js-flags=--random-seed={options.random_seed}")
    if not options.sealed:
        return flags
    # Chromium reads only the last --disable-features flag, so there must be exactly one.
    features = ",".join(("", *SEALED_DISABLED_FEATURES))
    return (*(flag + features if flag.startswith(_DISABLE_FEATURES) else flag for flag in flags), *SEALED_FLAGS)


def proxy_settings(server: str | None) -> ProxySettings | None:
    """Build proxy settings that route everything through the proxy, loopback included."""
    return None if server is None else {"server": server, "bypass": "<-loopback>"}


def _find_browser(options: LaunchOptions) -> BrowserBinary:
    return find_browser(options.browser_path, environ=os.environ, headless=options.headless)


def _read_exception(done: asyncio.Future[BrowserBinary]) -> None:
    """Read the error of a search that nothing waits for any more, or the loop reports it."""
    if not done.cancelled():
        done.exception()


def _start_failure(message: str) -> str:
    """Return why a browser did not start, and what to do, from what Playwright says, with the browser's own output."""
    if _NO_SANDBOX in message:
        return (
            "its sandbox needs user namespaces, which this system or container refuses. "
            "Allow them, or run eikon as root, which starts it without a sandbox."
        )
    return f"{message.splitlines()[0]}. Run `eikon doctor`."


@asynccontextmanager
async def launch_behind_sink(options: LaunchOptions) -> AsyncIterator[LaunchedBrowser]:
    """Run a browser whose own requests are refused, see `launch_browser`."""
    async with open_sink() as sink, launch_browser(replace(options, proxy=sink.browser_proxy)) as launched:
        yield launched


@asynccontextmanager
async def launch_browser(options: LaunchOptions) -> AsyncIterator[LaunchedBrowser]:
    """Run a browser for as long as the context is open.

    Raises:
        BrowserError: a browser could not open its files, or has no display.
        BrowserMissingError: no browser is installed, or the requested one does not exist.
        BrowserDiedError: the browser was found but did not start.
    """
    require_open_files()
    finding = asyncio.ensure_future(asyncio.to_thread(_find_browser, options))  # while the driver starts
    finding.add_done_callback(_read_exception)
    from playwright.async_api import Error

    port = () if options.debugging_port is None else (f"--remote-debugging-port={options.debugging_port}",)
    sandbox = hasattr(os, "geteuid") and os.geteuid() != 0
    ignore_calls_to_gone_browser()
    async with open_driver() as playwright:
        binary = await finding
        no_display = None if options.headless else find_display_problem(os.environ)
        if no_display is not None:
            raise BrowserError(f"no display for the browser window: {no_display}; use --headless, or a virtual display")
        try:
            browser = await playwright.chromium.launch(
                executable_path=str(binary.path),
                headless=options.headless,
                args=[*launch_flags(options), *port],
                chromium_sandbox=sandbox,
                proxy=proxy_settings(options.proxy),
                handle_sigint=not options.ignores_signals,
                handle_sigterm=not options.ignores_signals,
                handle_sighup=not options.ignores_signals,
            )
        except Error as error:
            raise BrowserDiedError(f"{binary.path} failed to start: {_start_failure(error.message)}") from error
        try:
            flags = launch_flags(replace(options, sealed=False))
            yield LaunchedBrowser(
                browser=browser,
                binary=binary,
                flags=flags,
                playwright_version=version("playwright"),
                api_request=playwright.request,
            )
        finally:
            await browser.close()
