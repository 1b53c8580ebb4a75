from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture.sources import sources


@pytest.fixture(scope="package", autouse=True)
def _drop_syntax_trees() -> Iterator[None]:
    """Drop the syntax trees of the project after the tests that read them: they slow down every other test."""
    yield
    sources.cache_clear()
