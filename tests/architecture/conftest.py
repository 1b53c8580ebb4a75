from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture.sources import sources


@pytest.fixture(scope="package", autouse=True)
def _trees_are_forgotten() -> Iterator[None]:
    """Keep the syntax trees of the project no longer than for the tests of its shape: they slow every other one."""
    yield
    sources.cache_clear()
