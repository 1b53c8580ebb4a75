"""The browser environment of a recording, as far as pages can observe it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eikon_engine.trace.record import FileModel


class Viewport(FileModel):
    """Size of the page in CSS pixels."""

    width: int = Field(gt=0)
    height: int = Field(gt=0)


DEFAULT_VIEWPORT = Viewport(width=1280, height=720)


class Geolocation(FileModel):
    """Emulated position; pages can read it only with the permission `geolocation`."""

    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    accuracy: float = Field(default=0.0, ge=0)
    """In metres."""


class PageEnvironment(FileModel):
    """What an empty page reports about its environment at the start of the session."""

    user_agent: str
    languages: tuple[str, ...]
    locale: str
    """Locale of dates and numbers."""
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


class Environment(FileModel):
    """The options a browser context is created with, and the browser it ran in."""

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
    """Whether the `viewport` meta element of a page is honoured, as on a phone."""
    permissions: tuple[str, ...] = ()
    """Permissions granted to every site."""
    geolocation: Geolocation | None = None
    extra_http_headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request; values of secrets are placeholders."""
    cpu_count: int | None = Field(default=None, ge=1)
    """Emulated number of processors; None for that of the machine."""
    device_memory_gb: float | None = Field(default=None, gt=0)
    """Emulated memory, visible to pages of secure origins; None for that of the machine."""
    browser_kind: str = ""
    """`headless-shell`, `chromium` or `chrome`, with `, window` if headed; empty if unknown."""
    page_view: PageEnvironment | None = None
    """None if it was not recorded."""
    fonts_digest: str = ""
    """SHA-256 of the sorted list of installed fonts; empty if unknown."""
    clock_start_ms: int
    """Time of the page's clock at the start of the mission, in milliseconds since 1970 UTC."""
    clock: Literal["stepped", "natural"] = "stepped"
    """Whether the page's clock was stepped during the recording, or ran on its own."""
    random_seed: int = Field(ge=1, lt=2**31)
    settle_ms: float = 500.0
    """Page time that passes after each action before it is observed."""
    tick_ms: float = Field(default=500.0, ge=1)
    """Longest step of page time before the page must be idle again."""
