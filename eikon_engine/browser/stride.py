"""Skip page time in one step while an action waits for something known not to happen.

Page time must still pass, since later events happen at their times. But while no timer of a page is due and no recorded
delivery is pending, many small clock steps and one large step end in the same state.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.look import has_document

if TYPE_CHECKING:
    from playwright.async_api import Frame

    from eikon_engine.browser.ledger import PageTracker
    from eikon_engine.browser.rest import PageStabilizer

_NEXT_TIMER: Final = """() => {
  const clock = window.__pwClock?.controller;
  if (!(clock?._timers instanceof Map) || window.__eikon__?.workerCount?.()) return 0;
  return Math.min(...Array.from(clock._timers.values(), each => each.callAt - clock._now.ticks));
}"""
"""Milliseconds to the next timer of a document, `Infinity` without one; 0 if unknown, as with workers."""


@dataclass(frozen=True, slots=True)
class KnownTimeout:
    """A wait that is known to time out."""

    tracker: PageTracker
    tick_ms: float
    """The longest step of the clock."""

    async def skippable_ms(self, stabilizer: PageStabilizer) -> float:
        """Return how much page time can pass at once without anything happening meanwhile."""
        if stabilizer.pending_deliveries is None or stabilizer.pending_deliveries.pending_count():
            return 0.0
        frames = (frame for _, page in self.tracker.open_pages() for frame in page.frames if has_document(frame))
        return min(await asyncio.gather(*map(_next_timer, frames)), default=0.0)


async def fast_forward(stabilizer: PageStabilizer, step_ms: float, left_ms: float) -> float:
    """Return the page time until an action checks again: one step, or several while nothing can happen."""
    step = min(step_ms, left_ms)
    if stabilizer.known_timeout is None:
        return step
    free = min(left_ms, stabilizer.known_timeout.tick_ms, await stabilizer.known_timeout.skippable_ms(stabilizer))
    return max(step, free // step_ms * step_ms)


async def _next_timer(frame: Frame) -> float:
    from playwright.async_api import Error

    try:
        return float(await frame.evaluate(_NEXT_TIMER))
    except Error:
        return 0.0  # the document is being replaced: nothing is known of the next one
