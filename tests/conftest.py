"""What holds for all tests."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """Let programs be interrupted that are started here, also where a shell runs the tests in the background.

    Such a shell has them ignore SIGINT, and whatever they start inherits that.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
