"""Let a page come to rest, then let its clock go on: the only way in which page time passes."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import BrowserDiedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import BrowserContext, Page

    from eikon_engine.browser.ledger import PageLedger

TICK_MS: Final = 100.0
"""Longest piece of page time that passes without looking whether requests were made."""
STALL_S: Final = 15.0
"""Wall time after which a request that neither ends nor fails is no longer waited for; noted when it happens."""
ROUND_TRIP_S: Final = 30.0
"""Wall time after which a page that does not answer counts as dead."""

PROBE: Final = (
    "() => document.readyState === 'complete' && !document.getAnimations().some(each => each.playState === 'running')"
)


class Rest:
    """Step the clock of a context, one tick after the other, with the page at rest in between."""

    def __init__(self, context: BrowserContext, ledger: PageLedger) -> None:
        """Step the paused clock of `context`."""
        self._context = context
        self._ledger = ledger
        self.gate = asyncio.Event()
        """Open while answers may be delivered: closed during an action and while the clock moves."""
        self.gate.set()
        self.pending: list[Callable[[], int]] = []
        """Counters of work that is not a request: captures to read, navigations to redo."""
        self.virtual_ms = 0.0
        """Page time passed since the last call of `take_time`."""
        self.notes: list[str] = []

    def take_time(self) -> float:
        """Return the page time since the last call."""
        passed, self.virtual_ms = self.virtual_ms, 0.0
        return passed

    async def settle(self, duration_ms: float) -> None:
        """Let page time pass, and leave the page at rest."""
        remaining = duration_ms
        await self.quiesce()
        while remaining > 0:
            step = min(TICK_MS, remaining)
            await self.tick(step)
            remaining -= step

    async def tick(self, duration_ms: float) -> None:
        """Move the clock once; answers that come meanwhile wait until it stands."""
        self.gate.clear()
        try:
            await self._context.clock.run_for(round(duration_ms))
        finally:
            self.gate.set()
        self.virtual_ms += duration_ms
        await self.quiesce()

    async def quiesce(self) -> None:
        """Return when no request is in flight and the pages have nothing left to do at this time of their clock.

        Raises:
            BrowserDiedError: the browser went away.
        """
        calm = 0
        deadline = time.monotonic() + STALL_S
        while calm < 2:  # noqa: PLR2004 - two round trips: what the first answer triggers, the second one sees
            if self._ledger.crashed:
                message = "a page crashed; the browser cannot go on"
                raise BrowserDiedError(message)
            if self._busy():
                calm = 0
                if not await self._change(deadline):
                    self._give_up()
                    return
                continue
            complete = await self.round_trip()
            calm = calm + 1 if complete and not self._busy() else 0
            if time.monotonic() > deadline:
                self.notes.append(f"the page was still loading or moving after {STALL_S:.0f} s")
                return

    def _busy(self) -> bool:
        return bool(self._ledger.in_flight) or any(count() for count in self.pending)

    async def _change(self, deadline: float) -> bool:
        self._ledger.changed.clear()
        try:
            async with asyncio.timeout(0.05):
                await self._ledger.changed.wait()
        except TimeoutError:
            return time.monotonic() < deadline
        return True

    def _give_up(self) -> None:
        if not self._ledger.in_flight:
            self.notes.append(f"recording or serving was not done within {STALL_S:.0f} s")
        for request in tuple(self._ledger.in_flight):
            self.notes.append(f"no answer within {STALL_S:.0f} s: {request.method} {request.url}")
            self._ledger.forget(request)

    async def round_trip(self) -> bool:
        """Ask every page whether it is complete; whatever it had to do before is done when it answers."""
        pages = [page for _, page in self._ledger.open_pages()]
        answers = await asyncio.gather(*(_probe(page) for page in pages))
        return all(answers)


async def _probe(page: Page) -> bool:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(ROUND_TRIP_S):
            return bool(await page.evaluate(PROBE))
    except Error as error:
        if page.is_closed():
            return True
        if "Execution context was destroyed" in error.message or "navigat" in error.message:
            return False
        message = f"the browser stopped answering: {error.message.splitlines()[0]}"
        raise BrowserDiedError(message) from error
    except TimeoutError as error:
        message = f"page {page.url} did not answer within {ROUND_TRIP_S:.0f} s; it may be in an endless loop"
        raise BrowserDiedError(message) from error
