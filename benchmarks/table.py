"""Plain tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table of rows below their headings; numbers are right-aligned."""
    lines = [list(heads), *([_text(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    right = [all(not isinstance(row[column], str) for row in rows) for column in range(len(heads))]
    drawn = (
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, right, strict=True)
        )
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in drawn)


def counted(counts: dict[str, int]) -> str:
    """Return counts as text, such as `198 faithful, 2 diverged`."""
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"


def _text(cell: object) -> str:
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell)
