"""Shorten test output: drop whole lines, least informative first, and state how many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Choice: TypeAlias = "Callable[[list[str]], Sequence[int]]"

MAX_LINE_LENGTH: Final = 400
"""Characters of a line; the rest is cut, with a note."""
_ERROR_MARKS: Final = ("E  ", "> ")
"""Prefixes of pytest's error and source lines."""


def last_lines(text: str, limit: int) -> str:
    """Return the last lines."""
    return _select_lines(text, lambda lines: range(max(0, len(lines) - limit), len(lines)))


def shorten(text: str, limit: int) -> str:
    """Return pytest's error lines, then the first and last lines, up to `limit` lines."""
    return _select_lines(text, lambda lines: _informative_lines(lines, limit))


def _informative_lines(lines: list[str], limit: int) -> list[int]:
    if len(lines) <= limit:
        return list(range(len(lines)))
    marked = [number for number, line in enumerate(lines) if line.startswith(_ERROR_MARKS)][: limit // 2]
    rest = limit - len(marked)
    ends = (*range(rest // 3), *range(len(lines) - (rest - rest // 3), len(lines)))
    return sorted({*marked, *ends})


def _select_lines(text: str, choose: _Choice) -> str:
    lines = text.strip("\n").split("\n")
    shown: list[str] = []
    before = -1
    for number in choose(lines):
        if number > before + 1:
            shown.append(f"[… {pluralize(number - before - 1, 'line')} omitted]")
        shown.append(_cut(lines[number]))
        before = number
    return "\n".join(shown)


def _cut(line: str) -> str:
    return (
        line
        if len(line) <= MAX_LINE_LENGTH
        else f"{line[:MAX_LINE_LENGTH]}[… {len(line) - MAX_LINE_LENGTH} characters]"
    )
