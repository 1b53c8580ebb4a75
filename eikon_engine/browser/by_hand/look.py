"""Verify the selectors of an element with Playwright, and locate its frame."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.attached.client import frame_path
from eikon_engine.browser.attached.view import impl_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import Frame

PROBE_TIMEOUT_S: Final = 2.0
"""Wall time after which an unresponsive page is not probed any longer."""
_IS_ELEMENT: Final = (
    "(elements, key) => elements.length === 1 && window.__eikon__?.recorder?.keyOf(elements[0]) === key"
)
_SELECTORS: Final = (
    "element => (window.__eikon__?.recorder?.name(element) ?? []).map(each => [each.kind, each.selector])"
)
_CSS_SELECTOR_KINDS: Final = frozenset({"test-id", "id", "name", "css", "place"})


class ReportingFrame:
    """A frame that reported an element."""

    def __init__(self, frame: Frame) -> None:
        """Send nothing yet."""
        self._frame = frame

    async def verify_selectors(self, key: str, selectors: Sequence[str]) -> frozenset[str]:
        """Return the selectors that Playwright resolves to exactly this element."""
        answers = await asyncio.gather(*(self._matches_element(key, selector) for selector in selectors))
        return frozenset(selector for selector, holds in zip(selectors, answers, strict=True) if holds)

    async def frame_path(self) -> tuple[str, ...]:
        """Return selectors of the iframes that lead to the frame, outermost first; positional ones as fallback."""
        path: list[str] = []
        inner = self._frame
        while (outer := inner.parent_frame) is not None:
            selector = await _iframe_selector(inner)
            if selector is None:
                return frame_path(impl_of(self._frame))
            path.insert(0, selector)
            inner = outer
        return tuple(path)

    async def _matches_element(self, key: str, selector: str) -> bool:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                return bool(await self._frame.locator(selector).evaluate_all(_IS_ELEMENT, key))
        except (Error, TimeoutError):
            return False


async def _iframe_selector(frame: Frame) -> str | None:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            element = await frame.frame_element()
            names: list[list[str]] = await element.evaluate(_SELECTORS)
    except (Error, TimeoutError):
        return None
    return next((selector for kind, selector in names if kind in _CSS_SELECTOR_KINDS), None)
