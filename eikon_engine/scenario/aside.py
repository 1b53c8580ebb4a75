"""Run blocking work in a daemon thread, which blocks neither the event loop nor process exit."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")


async def run_in_daemon_thread(work: Callable[[], Value]) -> Value:
    """Run `work` in a thread and return or raise its result, which is discarded if the wait is cancelled.

    A pool would join its threads at exit, so a hanging tool could not be stopped.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Callable[[], Value]] = loop.create_future()
    context = copy_context()

    def settle(give: Callable[[], Value]) -> None:
        if not done.cancelled():
            done.set_result(give)

    def target() -> None:
        give: Callable[[], Value]
        try:
            give = partial(_return_value, context.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again by the awaiting caller
            give = partial(_raise_error, error)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, give)

    threading.Thread(target=target, name="eikon tool", daemon=True).start()
    return (await done)()


def _return_value(value: Value) -> Value:
    return value


def _raise_error(error: BaseException) -> NoReturn:
    raise error
