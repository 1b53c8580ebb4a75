"""Hold back responses while an action runs and while the page clock moves."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.async_api import Request

    from eikon_engine.browser.request_tracker import BlockingRequests

BLOCKED_S: Final = 4.0
"""Wall time after which an unresponsive page counts as waiting for the network."""


class DeliveryBarrier:
    """Let responses through, or hold them back."""

    def __init__(self, blocking_requests: BlockingRequests, notes: list[str], *, is_natural: bool) -> None:
        """Begin open; deliveries after a timeout are reported in `notes`, which is shared."""
        self._blocking_requests = blocking_requests
        self._notes = notes
        self._is_natural = is_natural
        self._opened = asyncio.Event()
        self._opened.set()
        self._is_forced = False
        """Whether the barrier was opened by a timeout."""

    @property
    def is_open(self) -> bool:
        """Whether responses may be delivered now."""
        return self._opened.is_set()

    async def wait_until_open(self) -> None:
        """Wait until responses may be delivered."""
        await self._opened.wait()

    @contextmanager
    def hold(self, *, acting: bool = False) -> Iterator[None]:
        """Hold back responses, so that none arrives between the events of an action or of a clock step.

        While page time passes by itself, only `acting` holds anything back. After a timeout, responses are let through
        in case the page waits for one, and a note reports it.
        """
        if self._is_natural and not acting:
            yield
            return
        self._opened.clear()
        timer = asyncio.get_running_loop().call_later(BLOCKED_S, self._force_open)
        try:
            yield
        finally:
            timer.cancel()
            self._is_forced = False
            self._opened.set()

    def _force_open(self) -> None:
        self._is_forced = True
        self._opened.set()

    def note_delivery(self) -> None:
        """Note that something is delivered to a page, and report it if a timeout opened the barrier."""
        if self._is_forced:
            self._is_forced = False
            self._notes.append(f"a response arrived during an action or clock step of more than {BLOCKED_S:.0f} s")

    async def wait_until_deliverable(self, request: Request) -> None:
        """Wait until responses may be delivered, or a document is blocked on this request."""
        while not self.is_open and request not in self._blocking_requests:
            waits = {
                asyncio.ensure_future(self._opened.wait()),
                asyncio.ensure_future(self._blocking_requests.wait_for_change()),
            }
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
        if request not in self._blocking_requests:
            self.note_delivery()
