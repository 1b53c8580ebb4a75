from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.pages import PageSite, serve_pages


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve an empty site."""
    with serve_pages() as serving:
        yield serving
