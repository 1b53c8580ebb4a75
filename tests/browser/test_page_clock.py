"""The page clock survives a page that closes while it advances."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from playwright.async_api import Error

from eikon_engine.browser.page_clock import CLOSED_MESSAGE, SteppedClock


class Page:
    """A page that closes when the clock is first advanced, or never."""

    def __init__(self, *, closes: bool) -> None:
        """Start open."""
        self.closes = closes
        self.closed = False
        self.page = self
        self.url = "http://127.0.0.1/"
        self.frames = [self]
        self.parent_frame = None
        self.moved_to: list[str] = []

    def close(self) -> None:
        """Close the page."""
        self.closed = True

    async def evaluate(self, _script: str, text: str) -> str:
        """Move the clock of the page alone."""
        self.moved_to.append(text)
        return "jnull"

    def is_closed(self) -> bool:
        """Return whether it is closed."""
        return self.closed


class Context:
    """A context whose clock cannot be advanced while a page is closing."""

    def __init__(self, *pages: Page) -> None:
        """Start with some pages at time 0."""
        self.all = pages
        self.clock = self
        self.moved: list[int] = []

    @property
    def pages(self) -> list[Page]:
        """Return the pages that are open."""
        return [page for page in self.all if not page.closed]

    async def pause_at(self, _time: float) -> None:
        """Set the clock."""

    async def run_for(self, passed_ms: int) -> None:
        """Advance the clock of all pages, or of none."""
        closing = [page for page in self.pages if page.closes]
        if not closing and self.pages:
            self.moved.append(passed_ms)
            return
        for page in closing:
            asyncio.get_running_loop().call_later(0.02, page.close)
        message = f"Clock.run_for: {CLOSED_MESSAGE}"
        raise Error(message)


async def _run(context: Context) -> float:
    clock = SteppedClock()
    await clock.install(context, 0)  # type: ignore[arg-type] # of it
    await clock.advance(50)
    return clock.now_ms


def test_a_page_that_closes_takes_no_time_from_the_others() -> None:
    """Playwright fails before any clock moves; the remaining pages advance once."""
    context = Context(Page(closes=False), Page(closes=True))

    assert asyncio.run(_run(context)) == 50
    assert context.moved == [50]


@pytest.mark.parametrize("pages", [1, 2])
def test_a_browser_that_is_gone_is_an_error(pages: int) -> None:
    """All pages close, and the error is raised."""
    with pytest.raises(Error, match="has been closed"):
        asyncio.run(_run(Context(*(Page(closes=True) for _ in range(pages)))))


def test_where_playwright_fails_each_clock_is_moved_to_the_same_time() -> None:
    """It fails in a page that has replaced what it uses; others have moved by then, and stay."""
    pages = (Page(closes=False), Page(closes=False))
    context = Context(*pages)
    context.clock = SimpleNamespace(pause_at=context.pause_at, run_for=_fail)  # type: ignore[assignment] # of it

    assert asyncio.run(_run(context)) == 50
    assert [page.moved_to for page in pages] == [["50.0"], ["50.0"]]


async def _fail(_passed_ms: int) -> None:
    message = "Clock.run_for: TypeError: Array.from is not a function"
    raise Error(message)
