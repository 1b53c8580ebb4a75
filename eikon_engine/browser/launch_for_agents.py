"""Launch the browser that replays use, for the scripts of users."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

from eikon_engine.browser.executable import find_browser

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from playwright import async_api, sync_api


@overload
def launch_browser(
    playwright: sync_api.Playwright,
    *,
    headless: bool = True,
    **options: Any,  # noqa: ANN401 - the options of Playwright
) -> sync_api.Browser: ...


@overload
def launch_browser(
    playwright: async_api.Playwright,
    *,
    headless: bool = True,
    **options: Any,  # noqa: ANN401 - the options of Playwright
) -> Awaitable[async_api.Browser]: ...


def launch_browser(
    playwright: sync_api.Playwright | async_api.Playwright,
    *,
    headless: bool = True,
    **options: Any,
) -> sync_api.Browser | Awaitable[async_api.Browser]:
    """Call `playwright.chromium.launch(**options)` with the browser that `eikon doctor` reports.

    With the asynchronous API of Playwright, await the result.

    Raises:
        BrowserMissingError: no browser is installed, or that of `EIKON_BROWSER_PATH` cannot be used.
    """
    binary = find_browser(None, environ=os.environ, headless=headless)
    return playwright.chromium.launch(executable_path=str(binary.path), headless=headless, **options)
