"""Read the browser environment from the context options of a Playwright trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.importers.mission import Screen
from eikon_engine.importers.playwright_calls import RESIZE
from eikon_engine.importers.playwright_lines import number_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from eikon_engine.importers.mission import Gathering
    from eikon_engine.importers.playwright_lines import Call, TraceHead

_DEFAULT: Final = (1280, 720)
_CARRIED: Final = frozenset(
    ("viewport", "deviceScaleFactor", "isMobile", "hasTouch", "userAgent", "locale", "timezoneId", "colorScheme")
)
_OF_NO_EFFECT: Final = frozenset(
    (
        *("noDefaultViewport", "baseURL", "acceptDownloads", "strictSelectors", "recordVideo", "recordHar"),
        *("selectorEngines", "testIdAttributeName", "ignoreHTTPSErrors", "sdkLanguage"),
    )
)
"""Options that do not affect pages, or that a sealed replay does not need."""


def screen_of(head: TraceHead, calls: Iterable[Call], gathered: Gathering) -> Screen:
    """Return the environment, and note options that are not imported."""
    options = head.options
    width, height = _size(options.get("viewport"), calls, gathered)
    for name, value in options.items():
        if name not in _CARRIED | _OF_NO_EFFECT and value not in (None, False, "", [], {}):
            gathered.notes.append(f"context option {name} ignored")
    if head.browser_name not in {"", "chromium"}:
        gathered.notes.append(f"recorded in {head.browser_name}, replayed in chromium")
    if not options.get("timezoneId"):
        gathered.notes.append("the trace has no time zone; UTC is used")
    scheme = text_of(options, "colorScheme")
    return Screen(
        width=width,
        height=height,
        device_scale_factor=number_of(options, "deviceScaleFactor") or 1.0,
        is_mobile=options.get("isMobile") is True,
        has_touch=options.get("hasTouch") is True,
        user_agent=text_of(options, "userAgent"),
        locale=text_of(options, "locale") or "en-US",
        timezone=text_of(options, "timezoneId") or "UTC",
        color_scheme="dark" if scheme == "dark" else "no-preference" if scheme == "no-preference" else "light",
        clock_start_ms=int(head.wall_ms) or None,
    )


def _size(viewport: JsonValue, calls: Iterable[Call], gathered: Gathering) -> tuple[int, int]:
    """Return the viewport of the context, or the one set before the first action."""
    sizes = [viewport]
    for call in calls:
        if call.name == RESIZE:
            sizes.append(call.params.get("viewportSize"))
        elif call.name.startswith(("Frame.", "Page.")):
            break
    for size in reversed(sizes):
        if isinstance(size, dict):
            width, height = number_of(size, "width"), number_of(size, "height")
            if width and height and min(width, height) >= 1:
                return int(width), int(height)
    gathered.notes.append(f"the trace has no viewport; {_DEFAULT[0]} x {_DEFAULT[1]} is used")
    return _DEFAULT
