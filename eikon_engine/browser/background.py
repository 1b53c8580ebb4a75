"""Run tasks beside the actions of a session; their failures end the session."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, InternalError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from eikon_engine.browser.ledger import PageTracker


class BackgroundTasks:
    """Tasks whose failures reach the page tracker, and with it the running action."""

    def __init__(self, tracker: PageTracker) -> None:
        """Report failures to `ledger`."""
        self._tracker = tracker
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start a task that runs until it ends or `stop` is called."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    async def stop(self) -> None:
        """Cancel all tasks, and wait for their end."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._tracker.changed.set()
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            self._tracker.fail(_as_eikon_error(fault))


def _as_eikon_error(error: BaseException) -> EikonError:
    if isinstance(error, EikonError):
        return error
    wrapped = InternalError(f"internal error in a background task: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
