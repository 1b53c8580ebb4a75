"""What a trace of Playwright says of the context that it was recorded in."""

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
"""Options that do not reach a page, or that a sealed replay has no use for."""


def screen_of(head: TraceHead, calls: Iterable[Call], gathered: Gathering) -> Screen:
    """Return the surroundings, and note what of them is not carried over."""
    options = head.options
    width, height = _size(options.get("viewport"), calls, gathered)
    for name, value in options.items():
        if name not in _CARRIED | _OF_NO_EFFECT and value not in (None, False, "", [], {}):
            gathered.notes.append(f"the option {name} of the context was left out")
    if head.browser_name not in {"", "chromium"}:
        gathered.notes.append(f"it was recorded in {head.browser_name}, and is replayed in chromium")
    if not options.get("timezoneId"):
        gathered.notes.append("the trace does not say in which time zone it was recorded; UTC was taken")
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
    """Return the size of the pages, which may be set before anything is done to one."""
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
    gathered.notes.append(f"the trace does not say how big its pages were; {_DEFAULT[0]} x {_DEFAULT[1]} was taken")
    return _DEFAULT
