"""Do what blocks in a thread of its own, which holds up neither the loop nor the end of the process."""

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


async def run_aside(work: Callable[[], Value]) -> Value:
    """Return what `work` returns, or raise what it raises; where the wait is cancelled, nobody hears of either.

    The threads of a pool are waited for when a process ends, so that a tool that hangs could not be stopped.
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
            give = partial(_returned, context.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            give = partial(_raised, error)
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(settle, give)

    threading.Thread(target=target, name="eikon tool", daemon=True).start()
    return (await done)()


def _returned(value: Value) -> Value:
    return value


def _raised(error: BaseException) -> NoReturn:
    raise error
