"""Keep the machine busy."""

from __future__ import annotations

import os
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Burn processor time in so many processes until the block ends."""
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
    """Count until the parent is gone, so that nothing is left behind by a benchmark that was killed."""
    while os.getppid() == parent:
        sum(range(1_000_000))
