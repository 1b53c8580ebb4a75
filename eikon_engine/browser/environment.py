"""Describe the environment a mission is recorded in."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Browser

FONT_LIST_TIMEOUT_S = 10.0


async def native_user_agent(browser: Browser) -> str:
    """Ask the browser for the user agent it has when nobody sets one."""
    page = await browser.new_page()
    try:
        agent: str = await page.evaluate("navigator.userAgent")
        return agent
    finally:
        await page.close()


def platform_name() -> str:
    """Name operating system and machine, such as `Linux x86_64`."""
    return f"{platform.system()} {platform.machine()}"


def fonts_digest() -> str:
    """Return the SHA-256 of the sorted list of installed fonts; empty where there is no `fc-list`."""
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
