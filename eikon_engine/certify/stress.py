"""Keep the machine busy, so that runs that agree do so by more than luck."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESSES: Final = 2
BUSY: Final = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(1_000_000))"
"""Counts until its parent is gone, so that nothing is left behind by a command that was killed."""


@contextmanager
def busy_machine() -> Iterator[tuple[int, ...]]:
    """Run busy processes for as long as the context is open; yields their ids."""
    busy: list[subprocess.Popen[bytes]] = []
    try:
        # In a session of their own: Ctrl-C is for us, and we end them.
        command = [sys.executable, "-c", BUSY]
        busy.extend(subprocess.Popen(command, start_new_session=True) for _ in range(PROCESSES))  # noqa: S603 - our own
        yield tuple(each.pid for each in busy)
    finally:
        for each in busy:
            each.kill()
            each.wait()
