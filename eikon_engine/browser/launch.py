"""Start the browser, the same way for recording and for replay."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.driver import open_driver
from eikon_engine.browser.find import BrowserBinary, find_browser
from eikon_engine.browser.left_behind import overlook_what_is_gone
from eikon_engine.browser.sink import SINK_HOST
from eikon_engine.errors import BrowserDiedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from playwright.async_api import APIRequest, Browser, ProxySettings

_FEATURES_OFF: Final = (
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
"""The first holds back what a click leads to, such as sending a form, until the next frame is painted: some 100 ms in
which a page seems to be at rest. `Prerender2FallbackPrefetchSpecRules` makes requests that no route meets. The
others are what Playwright switches off; its own list is overruled by ours."""

_DISABLE: Final = "--disable-features="

FLAGS: Final[tuple[str, ...]] = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    f"{_DISABLE}{','.join(_FEATURES_OFF)}",
    "--disable-quic",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--no-pings",
    "--no-first-run",
)
"""Flags of every launch: no traffic of the browser's own."""

SEALED_FLAGS: Final[tuple[str, ...]] = (
    f"--host-resolver-rules=MAP {SINK_HOST} 127.0.0.1,MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--component-updater=url-source=http://127.0.0.1:1/,disable-background-downloads",
    "--gaia-url=http://127.0.0.1:1/",
)
"""What a sealed launch adds: nothing resolves but the sink, addresses in digits included; peers are reached through the
proxy or not at all; and what the browser asks on its own account leads nowhere."""
SEALED_FEATURES_OFF: Final = ("WebRtcHideLocalIpsWithMdns",)
"""Features off in a sealed launch alone: this one joins a multicast group. No local address is told to a page there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """How to start the browser."""

    headless: bool = True
    browser_path: Path | None = None
    binary: BrowserBinary | None = None
    """A browser that was found before; looked for if left out."""
    random_seed: int = 1
    """Seed of `Math.random` in every frame and worker of the browser."""
    sealed: bool = False
    proxy: str | None = None
    """Where the browser's own requests go; those of a context go to the context's."""
    debugging_port: int | None = None
    """Port on loopback at which others may drive the browser as well, over the DevTools protocol."""
    outlives_signals: bool = False
    """Whether Ctrl-C and SIGTERM are left to us: the browser is needed to complete a recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedBrowser:
    """A running browser and what it was started from."""

    browser: Browser
    binary: BrowserBinary
    flags: tuple[str, ...]
    """Those that can change what a page sees, without what is added to seal it."""
    playwright_version: str
    requests: APIRequest
    """Makes requests beside the browser."""


def launch_flags(options: LaunchOptions) -> tuple[str, ...]:
    """List the flags of a launch, in order."""
    flags = (*FLAGS, f"--js-flags=--random-seed={options.random_seed}")
    if not options.sealed:
        return flags
    # Of several lists of features the browser reads the last one, so there is one.
    features = ",".join(("", *SEALED_FEATURES_OFF))
    return (*(flag + features if flag.startswith(_DISABLE) else flag for flag in flags), *SEALED_FLAGS)


def proxy_settings(server: str | None) -> ProxySettings | None:
    """Send everything to a proxy, what is meant for loopback included."""
    return None if server is None else {"server": server, "bypass": "<-loopback>"}


@asynccontextmanager
async def launch_browser(options: LaunchOptions) -> AsyncIterator[LaunchedBrowser]:
    """Run a browser for as long as the context is open.

    Raises:
        BrowserMissingError: no browser is installed, or the one asked for is not there.
        BrowserDiedError: it was found, and did not start.
    """
    binary = options.binary or find_browser(options.browser_path, environ=os.environ, headless=options.headless)
    from playwright.async_api import Error

    port = () if options.debugging_port is None else (f"--remote-debugging-port={options.debugging_port}",)
    sandbox = hasattr(os, "geteuid") and os.geteuid() != 0
    overlook_what_is_gone()
    async with open_driver() as playwright:
        try:
            browser = await playwright.chromium.launch(
                executable_path=str(binary.path),
                headless=options.headless,
                args=[*launch_flags(options), *port],
                chromium_sandbox=sandbox,
                proxy=proxy_settings(options.proxy),
                handle_sigint=not options.outlives_signals,
                handle_sigterm=not options.outlives_signals,
                handle_sighup=not options.outlives_signals,
            )
        except Error as error:
            message = f"{binary.path} did not start: {error.message.splitlines()[0]}; try `eikon doctor`"
            raise BrowserDiedError(message) from error
        try:
            flags = launch_flags(replace(options, sealed=False))
            yield LaunchedBrowser(
                browser=browser,
                binary=binary,
                flags=flags,
                playwright_version=version("playwright"),
                requests=playwright.request,
            )
        finally:
            await browser.close()
