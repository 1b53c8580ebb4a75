"""Wait in long strides for what is known not to come: where a way is gone again on which an action waited in vain.

Page time has to pass all the same, since everything afterwards comes at its time. But where no timer of a page is due
and nothing recorded waits for its moment, nothing can happen: many short steps of the clock and a long one end alike.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.look import has_document

if TYPE_CHECKING:
    from playwright.async_api import Frame

    from eikon_engine.browser.ledger import PageLedger
    from eikon_engine.browser.rest import Rest

_NEXT_TIMER: Final = """() => {
  const clock = window.__pwClock?.controller;
  if (!(clock?._timers instanceof Map) || window.__eikon__?.workerCount?.()) return 0;
  return Math.min(...Array.from(clock._timers.values(), each => each.callAt - clock._now.ticks));
}"""
"""Milliseconds to the next timer of a document, `Infinity` without one; 0 where that is not known, as with workers."""


@dataclass(frozen=True, slots=True)
class InVain:
    """How an action waits of which it is known that it waits in vain."""

    ledger: PageLedger
    tick_ms: float
    """The longest step of the clock."""

    async def free_ms(self, rest: Rest) -> float:
        """Return how much page time can pass at once without anything that could happen meanwhile."""
        if rest.agenda is None or rest.agenda.waiting():
            return 0.0
        frames = (frame for _, page in self.ledger.open_pages() for frame in page.frames if has_document(frame))
        return min(await asyncio.gather(*map(_next_timer, frames)), default=0.0)


async def stride(rest: Rest, step_ms: float, left_ms: float) -> float:
    """Return how much page time an action lets pass until it looks again: a step, or several where nothing can come."""
    step = min(step_ms, left_ms)
    if rest.in_vain is None:
        return step
    free = min(left_ms, rest.in_vain.tick_ms, await rest.in_vain.free_ms(rest))
    return max(step, free // step_ms * step_ms)


async def _next_timer(frame: Frame) -> float:
    from playwright.async_api import Error

    try:
        return float(await frame.evaluate(_NEXT_TIMER))
    except Error:
        return 0.0  # a document that is going: nothing is known of the next one
