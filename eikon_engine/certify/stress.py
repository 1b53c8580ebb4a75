"""Put the machine under load, so that agreeing runs are not a coincidence."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESSES: Final = 2
BUSY_LOOP: Final = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(1_000_000))"
"""Loops until its parent exits, so that a killed command leaves no process behind."""


@contextmanager
def cpu_load() -> Iterator[tuple[int, ...]]:
    """Run CPU-bound processes inside the block; yield their process ids."""
    busy: list[subprocess.Popen[bytes]] = []
    try:
        # Own session: Ctrl-C reaches only this process, which kills them.
        command = [sys.executable, "-c", BUSY_LOOP]
        busy.extend(subprocess.Popen(command, start_new_session=True) for _ in range(PROCESSES))  # noqa: S603 - our own
        yield tuple(each.pid for each in busy)
    finally:
        for each in busy:
            each.kill()
            each.wait()
