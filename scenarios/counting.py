"""A tool of the example: a plain function."""

from __future__ import annotations


def count_lines(text: str) -> int:
    """Count the lines of a text that say something."""
    return sum(1 for line in text.splitlines() if line.strip())
