"""Wait for another process without using much processor time."""

from __future__ import annotations

import time
from threading import Event
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_S: Final = 0.005
"""Poll interval: short compared with a process, long compared with a check."""
GENEROUS_S: Final = 60.0
"""Wall time after which a test fails because something never happened, also on a busy machine."""


def wait_until(holds: Callable[[], object], what: str, within_s: float) -> None:
    """Return when a condition holds; `what` names it in the timeout message."""
    deadline = time.monotonic() + within_s
    pause = Event()
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not come within {within_s:g} s"
        pause.wait(LOOK_S)
