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

    def differences(self, other: Environment) -> tuple[str, ...]:
        """Name the parts in which another environment differs, as `part: ours -> theirs`."""
        return tuple(
            f"{name}: {getattr(self, name)} -> {getattr(other, name)}"
            for name in type(self).model_fields
            if getattr(self, name) != getattr(other, name)
        )
