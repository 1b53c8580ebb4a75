"""Kinds of requests."""

from __future__ import annotations

from typing import Final

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that ask for nothing to be changed: https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1."""
FETCHES: Final = frozenset({"fetch", "xhr"})
"""Resource types of what scripts ask for: a page counts it before anybody else hears of it."""
