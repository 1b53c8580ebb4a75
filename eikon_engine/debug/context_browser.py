"""The browser side of a replay context: its session and traffic, and whether it can still be used."""

from __future__ import annotations

from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING

from eikon_engine.browser import inspection
from eikon_engine.browser.inspection import report_gone_browser
from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.errors import BrowserDiedError, InternalError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.observation import CapturedObservation
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.worker import Worker
    from eikon_engine.replay.context import OpenedContext
    from eikon_engine.trace.environment import StorageState


class ContextBrowser:
    """One context's session in a browser that other contexts share; an interrupted operation makes it unusable."""

    def __init__(self, launched: LaunchedBrowser, opened: OpenedContext) -> None:
        """Use an open session."""
        self.launched = launched
        self.opened = opened
        self.exit_stack = AsyncExitStack()
        """Resources that are closed with the context."""
        self.is_closed = False
        self._in_progress: str | None = None
        """What is running or was interrupted."""

    @property
    def worker(self) -> Worker:
        """Return the worker that performs the actions."""
        return self.opened.worker

    @property
    def session(self) -> Session:
        """Return the browser session."""
        return self.opened.session

    @property
    def traffic(self) -> SealedTraffic:
        """Return the traffic that serves the pages."""
        traffic = self.session.traffic
        if not isinstance(traffic, SealedTraffic):
            message = f"expected a sealed session, got {type(traffic).__name__}"
            raise InternalError(message)
        return traffic

    @property
    def is_interrupted(self) -> bool:
        """Return whether an operation was interrupted, so that the state of the pages is unknown."""
        return self._in_progress is not None

    @property
    def is_usable(self) -> bool:
        """Return whether the pages are open and in a known state."""
        return not self.is_closed and not self.is_interrupted and self.launched.browser.is_connected()

    async def observe(self) -> CapturedObservation:
        """Observe the pages again without affecting the next step.

        Raises:
            BrowserDiedError: the browser went away.
        """
        self.require_usable()
        with report_gone_browser(self.launched.browser):
            return await inspection.observe_idle(self.session)

    async def storage_state(self) -> StorageState:
        """Return the storage state of the browser, see `inspection.read_storage_state`.

        Raises:
            BrowserDiedError: the browser went away.
        """
        self.require_usable()
        with report_gone_browser(self.launched.browser):
            return await inspection.read_storage_state(self.session)

    @contextmanager
    def interruptible(self, what: str) -> Iterator[None]:
        """Mark the session as interrupted until the block completes.

        Raises:
            BrowserDiedError: the browser went away.
            UsageError: an earlier operation was interrupted.
        """
        self.require_usable()
        self._in_progress = what
        with report_gone_browser(self.launched.browser):
            yield
        self._in_progress = None

    def require_usable(self) -> None:
        """Check that the pages are open and in a known state.

        Raises:
            BrowserDiedError: the browser went away.
            UsageError: the context is closed, or an earlier operation was interrupted.
        """
        if not self.launched.browser.is_connected():
            message = "the browser crashed or was closed; all its pages are gone"
            raise BrowserDiedError(message)
        if self._in_progress is not None or self.is_closed:
            what = "it is closed" if self._in_progress is None else f"{self._in_progress} was interrupted"
            message = f"the mission cannot continue, {what}; rewind to an earlier position"
            raise UsageError(message)

    async def close(self) -> None:
        """Close the session; idempotent."""
        if self.is_closed:
            return
        self.is_closed = True
        await self.exit_stack.aclose()
