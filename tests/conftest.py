"""What holds for all tests."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator


settings.register_profile("patient", deadline=None)  # an example may take long on a busy machine
settings.load_profile("patient")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put modules that start browsers first: short ones then fill up whichever worker has nothing left to do."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


@pytest.fixture(scope="session", autouse=True)
def _drivers_start_quickly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let each driver of browsers have what Node compiled for the first one: a fifth of the time it takes to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_COMPILE_CACHE", str(tmp_path_factory.getbasetemp().parent / "node"))
        yield


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


@pytest.fixture(scope="session", autouse=True)
def _browsers_end() -> Iterator[None]:
    """End the browsers that tests shared."""
    yield
    SHARED.close()
