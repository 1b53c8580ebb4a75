"""A context without a browser, for what only listens to it and asks its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from eikon_engine.browser.page_tracker import PageTracker

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import BrowserContext


@dataclass(frozen=True, slots=True)
class SilentFrame:
    """A frame that fails whoever asks it."""

    fault: Exception

    async def evaluate(self, _script: str, _told: int | None = None) -> object:
        """Answer nothing."""
        raise self.fault


@dataclass(frozen=True, slots=True)
class SilentPage:
    """A page of one frame that shows something."""

    main_frame: SilentFrame

    @property
    def frames(self) -> list[SilentFrame]:
        """Return the only one."""
        return [self.main_frame]

    def is_closed(self) -> bool:
        """Say that it is open."""
        return False

    def on(self, _event: str, _listener: Callable[..., object]) -> None:
        """Tell nothing."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A request of a script."""

    method: str
    url: str
    resource_type: str = "xhr"


@dataclass(frozen=True, slots=True)
class Written:
    """What a page wrote to its console before it went away."""

    text: str
    page: None = None
    type: str = "debug"


@dataclass(frozen=True, slots=True)
class SilentContext:
    """A context in which nothing happens."""

    pages: tuple[SilentPage, ...]

    def on(self, _event: str, _listener: Callable[..., object]) -> None:
        """Tell nothing."""


def silent_ledger(*faults: Exception) -> PageTracker:
    """Open one page for each error that a page fails with."""
    pages = tuple(SilentPage(SilentFrame(fault)) for fault in faults)
    return PageTracker(cast("BrowserContext", SilentContext(pages)))
