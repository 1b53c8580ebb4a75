"""Wait for what another process does, and leave the processor to it meanwhile."""

from __future__ import annotations

import time
from threading import Event
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_S: Final = 0.005
"""Between two looks: short beside anything that a process does, long beside a look."""


def wait_until(holds: Callable[[], object], what: str, within_s: float) -> None:
    """Return when something holds; `what` says what did not come in time."""
    deadline = time.monotonic() + within_s
    pause = Event()
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not come within {within_s:g} s"
        pause.wait(LOOK_S)
