"""A context without a browser, for code that only listens to it and queries its pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from eikon_engine.browser.page_tracker import PageTracker

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import BrowserContext


@dataclass(frozen=True, slots=True)
class FakeFrame:
    """A frame in which every evaluation fails."""

    error: Exception
    page: object = None
    url: str = "about:blank"

    async def evaluate(self, _script: str, _argument: object = None) -> object:
        """Raise the error."""
        raise self.error


@dataclass(frozen=True, slots=True)
class FakePage:
    """An open page of one frame."""

    main_frame: FakeFrame

    @property
    def frames(self) -> list[FakeFrame]:
        """Return the only frame."""
        return [self.main_frame]

    def is_closed(self) -> bool:
        """Return False."""
        return False

    def on(self, _event: str, _listener: Callable[..., object]) -> None:
        """Emit nothing."""


@dataclass(frozen=True, slots=True)
class FakeRequest:
    """A request of a script."""

    method: str
    url: str
    resource_type: str = "xhr"
    failure: str | None = None

    def is_navigation_request(self) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True, slots=True)
class FakeResponse:
    """The head of a response."""

    request: FakeRequest
    content_type: str = "application/json"
    status: int = 200

    @property
    def headers(self) -> dict[str, str]:
        """Return the content type."""
        return {"content-type": self.content_type}


@dataclass(frozen=True, slots=True)
class FakeConsoleMessage:
    """A console message of a page that has closed since."""

    text: str
    page: None = None
    type: str = "debug"


@dataclass(frozen=True, slots=True)
class FakeContext:
    """A context whose events are emitted by the test."""

    pages: tuple[FakePage, ...]
    listeners: list[tuple[str, Callable[..., object]]] = field(default_factory=list)

    def on(self, event: str, listener: Callable[..., object]) -> None:
        """Add a listener."""
        self.listeners.append((event, listener))

    def emit(self, event: str, value: object) -> None:
        """Call the listeners of an event."""
        for name, listener in self.listeners:
            if name == event:
                listener(value)


def fake_tracker(*errors: Exception) -> PageTracker:
    """Track one page for each error that evaluating in a page raises."""
    pages = tuple(FakePage(FakeFrame(error)) for error in errors)
    return PageTracker(cast("BrowserContext", FakeContext(pages)))
