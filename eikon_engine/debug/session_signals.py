"""Let Ctrl-C and SIGTERM end the running session instead of the program."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.errors import InterruptedRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def _interrupt_args(number: signal.Signals) -> tuple[str, ...]:
    """Return the arguments of a `KeyboardInterrupt` for a signal; none for Ctrl-C."""
    return () if number is signal.SIGINT else (number.name,)


@contextmanager
def handle_signals(stop: Callable[[str], None], *, ignore_sigint: bool) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the session instead of the program; restore the handlers afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {each: signal.getsignal(each) for each in _SIGNALS}
    for each in _SIGNALS:
        if each is signal.SIGINT and ignore_sigint:
            loop.add_signal_handler(each, lambda: None)
        else:
            loop.add_signal_handler(
                each, stop, InterruptedRunError.stop_cause(KeyboardInterrupt(*_interrupt_args(each)))
            )
    try:
        yield
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
