"""Write for people."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Write a number with what it counts: `1 place`, `3 places`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
