"""Groups of methods and resource types."""

from __future__ import annotations

from typing import Final

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that do not change state: https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1."""
FETCH_TYPES: Final = frozenset({"fetch", "xhr"})
"""Resource types of requests sent by scripts; the page scripts count them before Playwright reports them."""
