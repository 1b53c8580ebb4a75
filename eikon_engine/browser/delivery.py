"""Deliver recorded answers one at a time, in the order in which they were completed in the recording."""

from __future__ import annotations

import asyncio
import heapq
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.rest import BLOCKED_S
from eikon_engine.errors import BrowserDiedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from eikon_engine.browser.session import Session


FETCHES: Final = frozenset({"fetch", "xhr"})
"""Resource types of what a page counts as asked for; it does so before anybody else hears of a request."""


class Delivery:
    """Hand out turns.

    The next answer in recorded order goes at once. Where it has not been asked for, the page is left to come to rest;
    if nothing new was asked for by then, the first of the waiting ones goes: its predecessor belongs to a later action
    or never comes.
    """

    def __init__(self, session: Session, completions: Iterable[int]) -> None:
        """Expect these places in the order of completion."""
        self._session = session
        self._expected = sorted(completions)
        heapq.heapify(self._expected)
        self._waiting: dict[int, asyncio.Event] = {}
        self._fetches: set[int] = set()
        self.never = 0
        """How many fetches get no answer, as in the recording."""
        self._done = asyncio.Event()
        self._arrived = asyncio.Event()
        self._loop = asyncio.ensure_future(self._deliver())

    @asynccontextmanager
    async def turn(self, completion: int | None, kind: str) -> AsyncIterator[None]:
        """Wait for the turn of an answer to a request of some kind, and hold it until the answer is delivered."""
        if completion is None:
            await self._session.rest.gate.wait()
            yield
            return
        granted = self._waiting[completion] = asyncio.Event()
        if kind in FETCHES:
            self._fetches.add(completion)
        self._arrived.set()
        await granted.wait()
        self._fetches.discard(completion)
        try:
            yield
        finally:
            self._done.set()

    async def stop(self) -> None:
        """Hand out no more turns."""
        self._loop.cancel()
        await asyncio.gather(self._loop, return_exceptions=True)

    async def _deliver(self) -> None:
        while True:
            await self._session.rest.gate.wait()
            completion = self._next_in_order()
            if completion is None:
                completion = await self._first_at_rest()
            if completion is None:
                continue
            if not self._session.rest.gate.is_set():
                continue
            self._done.clear()
            self._waiting.pop(completion).set()
            await self._done.wait()

    def _next_in_order(self) -> int | None:
        """Return the answer that is next in the recording, if it waits; forget those that went before their turn."""
        late = [completion for completion in self._waiting if not self._expected or completion < self._expected[0]]
        if late:
            return min(late)
        if self._expected and self._expected[0] in self._waiting:
            return heapq.heappop(self._expected)
        return None

    async def _first_at_rest(self) -> int | None:
        """Return the first waiting answer once the page has nothing left to do; None if more was asked for."""
        if not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
            return None
        before = set(self._waiting)
        await self._come_to_rest()
        if set(self._waiting) != before or self._next_is_waiting():
            return None
        first = min(self._waiting)
        while self._expected and self._expected[0] <= first:
            heapq.heappop(self._expected)
        return first

    async def _come_to_rest(self) -> None:
        try:
            async with asyncio.timeout(BLOCKED_S):
                calm = 0
                while calm < 2:  # noqa: PLR2004 - as when the session comes to rest
                    wanted = await self._session.rest.ask_pages()
                    calm = calm + 1 if wanted <= len(self._fetches) + self.never else 0
        except TimeoutError:
            # The page does nothing but wait for an answer, as a synchronous request does, or the machine is very slow.
            self._session.rest.notes.append(f"an answer was given to a page that did not respond for {BLOCKED_S:.0f} s")
        except BrowserDiedError:
            self._session.ledger.mark_dead()

    def _next_is_waiting(self) -> bool:
        return bool(self._expected) and self._expected[0] in self._waiting
