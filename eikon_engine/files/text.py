"""Format text for people."""

from __future__ import annotations


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun: `1 place`, `3 places`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
