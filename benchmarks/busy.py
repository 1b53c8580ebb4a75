"""Put load on the machine."""

from __future__ import annotations

import os
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep the given number of processes busy until the block ends."""
    parent = os.getpid()
    burning = [get_context("spawn").Process(target=burn, args=(parent,), daemon=True) for _ in range(processes)]
    for each in burning:
        each.start()
    try:
        yield
    finally:
        for each in burning:
            each.kill()
            each.join()


def burn(parent: int) -> None:
    """Count until the parent process is gone, so that no process outlives a killed benchmark."""
    while os.getppid() == parent:
        sum(range(1_000_000))
