"""Ctrl-C and SIGTERM at moments at which an exception would break what has begun.

Python raises `KeyboardInterrupt` between any two instructions of the main thread: also where a thread has started that
nothing would stop then, or in a destructor, where it is printed and ignored.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from anyio.from_thread import BlockingPortal

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_REPEAT_S: Final = 0.05
"""After how long an ignored interrupt is repeated: the destructor has ended by then."""


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM at the end of the block instead of within it; no effect in other threads than the main.

    A signal that the process ignores, or that ends it at once, still does.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before: dict[signal.Signals, Callable[[int, FrameType | None], object]] = {}

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    try:
        for number in STOP_SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def open_portal() -> Iterator[BlockingPortal]:
    """Run an event loop in another thread; both end with the block, whenever it is interrupted.

    `start_blocking_portal` alone waits forever for its thread if it is interrupted while the thread starts.
    """
    from anyio.from_thread import start_blocking_portal  # noqa: PLC0415 - asyncio takes a while to import

    with ExitStack() as stack:
        with interrupts_deferred():
            portal = stack.enter_context(start_blocking_portal())
        yield portal


@contextmanager
def ignored_interrupts_repeated() -> Iterator[None]:
    """Repeat an interrupt that was raised in a destructor or a callback, which Python prints and ignores."""
    before = sys.unraisablehook

    def repeat(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            timer = threading.Timer(_REPEAT_S, os.kill, (os.getpid(), signal.SIGINT))  # here, it would be ignored, too
            timer.daemon = True
            timer.start()
        else:
            before(unraisable)

    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = before
