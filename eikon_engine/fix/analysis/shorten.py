"""Shorten what a test printed: whole lines go, from where they tell least, and it is said how many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Choice: TypeAlias = "Callable[[list[str]], Sequence[int]]"

LONGEST_LINE: Final = 400
"""Characters of one line; what is beyond is cut off, and told."""
_ERROR_MARKS: Final = ("E  ", "> ")
"""How pytest begins the lines that say what was wrong, and where."""


def last_lines(text: str, limit: int) -> str:
    """Keep the last lines."""
    return _kept(text, lambda lines: range(max(0, len(lines) - limit), len(lines)))


def shortened(text: str, limit: int) -> str:
    """Keep the lines of pytest that say what was wrong, then the first and the last ones, up to `limit` lines."""
    return _kept(text, lambda lines: _telling(lines, limit))


def _telling(lines: list[str], limit: int) -> list[int]:
    if len(lines) <= limit:
        return list(range(len(lines)))
    marked = [number for number, line in enumerate(lines) if line.startswith(_ERROR_MARKS)][: limit // 2]
    rest = limit - len(marked)
    ends = (*range(rest // 3), *range(len(lines) - (rest - rest // 3), len(lines)))
    return sorted({*marked, *ends})


def _kept(text: str, choose: _Choice) -> str:
    lines = text.strip("\n").split("\n")
    shown: list[str] = []
    before = -1
    for number in choose(lines):
        if number > before + 1:
            shown.append(f"[… {counted(number - before - 1, 'line')} left out]")
        shown.append(_cut(lines[number]))
        before = number
    return "\n".join(shown)


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}[… {len(line) - LONGEST_LINE} characters]"
