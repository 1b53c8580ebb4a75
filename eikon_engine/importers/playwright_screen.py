"""Read the browser environment from the context options of a Playwright trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.importers.mission import ImportedEnvironment
from eikon_engine.importers.playwright_calls import SET_VIEWPORT_SIZE
from eikon_engine.importers.playwright_lines import get_number, get_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from eikon_engine.importers.mission import MissionBuilder
    from eikon_engine.importers.playwright_lines import Call, TraceHeader

_DEFAULT_VIEWPORT: Final = (1280, 720)
_IMPORTED_OPTIONS: Final = frozenset(
    ("viewport", "deviceScaleFactor", "isMobile", "hasTouch", "userAgent", "locale", "timezoneId", "colorScheme")
)
_IRRELEVANT_OPTIONS: Final = frozenset(
    (
        *("noDefaultViewport", "baseURL", "acceptDownloads", "strictSelectors", "recordVideo", "recordHar"),
        *("selectorEngines", "testIdAttributeName", "ignoreHTTPSErrors", "sdkLanguage"),
    )
)
"""Options that do not affect pages, or that a sealed replay does not need."""


def read_environment(head: TraceHeader, calls: Iterable[Call], gathered: MissionBuilder) -> ImportedEnvironment:
    """Return the environment, and note options that are not imported."""
    options = head.options
    width, height = _read_viewport(options.get("viewport"), calls, gathered)
    for name, value in options.items():
        if name not in _IMPORTED_OPTIONS | _IRRELEVANT_OPTIONS and value not in (None, False, "", [], {}):
            gathered.notes.append(f"context option {name} ignored")
    if head.browser_name not in {"", "chromium"}:
        gathered.notes.append(f"recorded in {head.browser_name}, replayed in chromium")
    if not options.get("timezoneId"):
        gathered.notes.append("the trace has no time zone; UTC is used")
    scheme = get_text(options, "colorScheme")
    return ImportedEnvironment(
        width=width,
        height=height,
        device_scale_factor=get_number(options, "deviceScaleFactor") or 1.0,
        is_mobile=options.get("isMobile") is True,
        has_touch=options.get("hasTouch") is True,
        user_agent=get_text(options, "userAgent"),
        locale=get_text(options, "locale") or "en-US",
        timezone=get_text(options, "timezoneId") or "UTC",
        color_scheme="dark" if scheme == "dark" else "no-preference" if scheme == "no-preference" else "light",
        clock_start_ms=int(head.wall_ms) or None,
    )


def _read_viewport(viewport: JsonValue, calls: Iterable[Call], gathered: MissionBuilder) -> tuple[int, int]:
    """Return the viewport of the context, or the one set before the first action."""
    sizes = [viewport]
    for call in calls:
        if call.name == SET_VIEWPORT_SIZE:
            sizes.append(call.params.get("viewportSize"))
        elif call.name.startswith(("Frame.", "Page.")):
            break
    for size in reversed(sizes):
        if isinstance(size, dict):
            width, height = get_number(size, "width"), get_number(size, "height")
            if width and height and min(width, height) >= 1:
                return int(width), int(height)
    gathered.notes.append(f"the trace has no viewport; {_DEFAULT_VIEWPORT[0]} x {_DEFAULT_VIEWPORT[1]} is used")
    return _DEFAULT_VIEWPORT
