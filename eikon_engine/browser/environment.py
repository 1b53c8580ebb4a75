"""Describe the environment a mission is recorded in."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.environment import PageView

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Route

    from eikon_engine.browser.launch import LaunchedBrowser

FONT_LIST_TIMEOUT_S: Final = 10.0
SECURE_PAGE: Final = "https://surroundings.invalid/"
NATIVE: Final = """() => ({
  user_agent: navigator.userAgent,
  cpu_count: navigator.hardwareConcurrency,
  device_memory_gb: navigator.deviceMemory ?? null,
})"""
VIEW: Final = """() => {
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
    """What a browser tells pages of itself and of its machine when nobody sets anything."""

    user_agent: str
    cpu_count: int
    device_memory_gb: float | None


async def native_browser(browser: Browser) -> NativeBrowser:
    """Ask a page of a secure origin, which is served without a network."""
    page = await browser.new_page()
    try:
        await page.route("**/*", _serve_nothing)
        await page.goto(SECURE_PAGE)
        told = await page.evaluate(NATIVE)
        return NativeBrowser(**told)
    finally:
        await page.close()


async def see(page: Page) -> PageView:
    """Ask a page, which is empty as yet, what it is told of its surroundings."""
    told = await page.evaluate(VIEW)
    return PageView.model_validate_json(json.dumps(told))


def browser_kind(launched: LaunchedBrowser, *, headless: bool) -> str:
    """Name the kind of browser, and whether it has a window."""
    return launched.binary.kind if headless else f"{launched.binary.kind}, window"


async def _serve_nothing(route: Route) -> None:
    await route.fulfill(status=200, content_type="text/html", body="")


def platform_name() -> str:
    """Name operating system and machine, such as `Linux x86_64`."""
    return f"{platform.system()} {platform.machine()}"


@cache
def fonts_digest() -> str:
    """Return the SHA-256 of the sorted list of installed fonts; empty where there is no `fc-list`.

    Asked once a process: it takes as long as an action.
    """
    lister = shutil.which("fc-list")
    if lister is None:
        return ""
    try:
        listing = subprocess.run(  # noqa: S603 - a program of the system, without arguments of anybody
            [lister, "--format", "%{family}|%{style}|%{fontversion}\n"],
            capture_output=True,
            check=True,
            timeout=FONT_LIST_TIMEOUT_S,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return hashlib.sha256(b"\n".join(sorted(listing.splitlines()))).hexdigest()
