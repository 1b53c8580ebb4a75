"""Where a mission was recorded, as far as a page can tell."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eikon_engine.trace.record import Record


class Viewport(Record):
    """Size of the page in CSS pixels."""

    width: int = Field(gt=0)
    height: int = Field(gt=0)


DEFAULT_VIEWPORT = Viewport(width=1280, height=720)


class Geolocation(Record):
    """Where the browser says it is; a page is told only with the permission `geolocation`."""

    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    accuracy: float = Field(default=0.0, ge=0)
    """In metres."""


class PageView(Record):
    """What an empty page is told of its surroundings, asked when the session begins."""

    user_agent: str
    languages: tuple[str, ...]
    locale: str
    """Of dates and numbers."""
    timezone: str
    width: int
    height: int
    screen_width: int
    screen_height: int
    device_pixel_ratio: float
    dark: bool
    reduced_motion: bool
    forced_colors: bool
    touch_points: int
    cpu_count: int


class Environment(Record):
    """Everything that a context is created with, and the browser it ran in."""

    browser_name: Literal["chromium"] = "chromium"
    browser_version: str
    playwright_version: str
    platform: str
    flags: tuple[str, ...] = ()
    viewport: Viewport = DEFAULT_VIEWPORT
    device_scale_factor: float = 1.0
    locale: str = "en-US"
    timezone: str = "UTC"
    user_agent: str = ""
    color_scheme: Literal["light", "dark", "no-preference"] = "light"
    reduced_motion: Literal["reduce", "no-preference"] = "no-preference"
    forced_colors: Literal["active", "none"] = "none"
    has_touch: bool = False
    is_mobile: bool = False
    """Whether the `viewport` element of a page counts, as on a telephone."""
    permissions: tuple[str, ...] = ()
    """What every site may do unasked."""
    geolocation: Geolocation | None = None
    extra_http_headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request; values of secrets are placeholders."""
    cpu_count: int | None = Field(default=None, ge=1)
    """What pages are told of the number of processors; None where it is whatever the machine has."""
    device_memory_gb: float | None = Field(default=None, gt=0)
    """What pages of secure origins are told of the memory; None where it is whatever the machine has."""
    browser_kind: str = ""
    """`headless-shell`, `chromium` or `chrome`, with `, window` if it had one; empty where nobody said."""
    page_view: PageView | None = None
    """None where the recording did not ask."""
    fonts_digest: str = ""
    """SHA-256 over the sorted list of installed fonts; empty where it cannot be told."""
    clock_start_ms: int
    """What the page's clock shows when the mission begins, in milliseconds since 1970 UTC."""
    clock: Literal["stepped", "natural"] = "stepped"
    """Whether the page's clock stood still but for steps while the mission was recorded, or ran by itself."""
    random_seed: int = Field(ge=1, lt=2**31)
    settle_ms: float = 500.0
    """Page time that passes after each action before it is observed."""
    tick_ms: float = Field(default=500.0, ge=1)
    """Longest piece of page time that passes before the page comes to rest again."""
