"""Track requests that block a document: it answers nothing, and its clock cannot move, until they end.

A synchronous XMLHttpRequest is such a request. The document reports it on the console, which still reaches the driver;
see init_standstill.js.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import BrowserContext, ConsoleMessage, Request

BLOCKS_MARK: Final = "\0eikon-stands:"
"""Prefix of the console message that a document writes before such a request, with its method and URL."""
RESUMES_MARK: Final = "\0eikon-goes-on:"
"""Prefix of the console message when the request has ended."""


class BlockingRequests:
    """The requests that block documents of a context."""

    def __init__(self, context: BrowserContext) -> None:
        """Listen to the console from now on."""
        self._open: Counter[str] = Counter()
        self.listeners: list[Callable[[], None]] = []
        """Called when a document blocks or resumes."""
        context.on("console", self._on_console)

    def __contains__(self, request: Request) -> bool:
        """Whether a document is blocked on this request."""
        asked = f"{request.method} {request.url}".partition("#")[0]
        return request.resource_type == "xhr" and self._open[asked] > 0

    async def wait_for_change(self) -> None:
        """Wait until a document blocks or resumes."""
        came = asyncio.Event()
        self.listeners.append(came.set)
        try:
            await came.wait()
        finally:
            self.listeners.remove(came.set)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.text.startswith(BLOCKS_MARK):
            self._note(message, BLOCKS_MARK, 1)
        elif message.text.startswith(RESUMES_MARK):
            self._note(message, RESUMES_MARK, -1)
        else:
            return
        for hear in tuple(self.listeners):
            hear()

    def _note(self, message: ConsoleMessage, mark: str, change: int) -> None:
        asked = message.text.removeprefix(mark).partition("#")[0]
        self._open[asked] += change
        if change > 0 and message.page is not None:  # a closed page never resumes
            message.page.once("close", lambda _: self._forget(asked))

    def _forget(self, asked: str) -> None:
        self._open.pop(asked, None)
