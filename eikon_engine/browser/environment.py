"""Describe the environment in which a mission is recorded."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.environment import PageEnvironment

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Route

    from eikon_engine.browser.launch import LaunchedBrowser

FONT_LIST_TIMEOUT_S: Final = 10.0
SECURE_PAGE_URL: Final = "https://secure-page.invalid/"
_READ_NATIVE: Final = """() => ({
  user_agent: navigator.userAgent,
  cpu_count: navigator.hardwareConcurrency,
  device_memory_gb: navigator.deviceMemory ?? null,
})"""
_READ_VIEW: Final = """() => {
  const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return {
    user_agent: navigator.userAgent,
    languages: [...navigator.languages],
    locale,
    timezone: timeZone,
    width: innerWidth,
    height: innerHeight,
    screen_width: screen.width,
    screen_height: screen.height,
    device_pixel_ratio: devicePixelRatio,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    reduced_motion: matchMedia('(prefers-reduced-motion: reduce)').matches,
    forced_colors: matchMedia('(forced-colors: active)').matches,
    touch_points: navigator.maxTouchPoints,
    cpu_count: navigator.hardwareConcurrency,
  };
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeBrowser:
    """What an unconfigured browser reports to pages about itself and its machine."""

    user_agent: str
    cpu_count: int
    device_memory_gb: float | None


async def read_native_browser(browser: Browser) -> NativeBrowser:
    """Read navigator values from a page of a secure origin, served without a network."""
    page = await browser.new_page()
    try:
        await page.route("**/*", _fulfill_blank)
        await page.goto(SECURE_PAGE_URL)
        values = await page.evaluate(_READ_NATIVE)
        return NativeBrowser(**values)
    finally:
        await page.close()


async def read_page_view(page: Page) -> PageEnvironment:
    """Read what a blank page sees of its environment."""
    values = await page.evaluate(_READ_VIEW)
    return PageEnvironment.model_validate_json(json.dumps(values))


def browser_kind(launched: LaunchedBrowser, *, headless: bool) -> str:
    """Name the kind of browser, and whether it is headed."""
    return launched.binary.kind if headless else f"{launched.binary.kind}, window"


async def _fulfill_blank(route: Route) -> None:
    await route.fulfill(status=200, content_type="text/html", body="")


def platform_name() -> str:
    """Return operating system and machine, such as `Linux x86_64`."""
    return f"{platform.system()} {platform.machine()}"


@cache
def fonts_digest() -> str:
    """Return the SHA-256 of the sorted list of installed fonts; empty without `fc-list`.

    Cached per process: it takes as long as an action.
    """
    lister = shutil.which("fc-list")
    if lister is None:
        return ""
    try:
        listing = subprocess.run(  # noqa: S603 - a system program with constant arguments
            [lister, "--format", "%{family}|%{style}|%{fontversion}\n"],
            capture_output=True,
            check=True,
            timeout=FONT_LIST_TIMEOUT_S,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return hashlib.sha256(b"\n".join(sorted(listing.splitlines()))).hexdigest()
