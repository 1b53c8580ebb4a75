"""Replace lines that occur exactly once in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import PatchRejectedError
from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

BYTE_ORDER_MARK: Final = "\ufeff"
"""The byte order mark."""
_SHOWN: Final = 80


def replace_lines(text: str, old: Sequence[str], new: Sequence[str], where: str) -> str:
    """Replace the lines `old` of a text by `new`; both without line endings.

    Lines are compared exactly, including trailing spaces. The text keeps its line endings and its final newline. A byte
    order mark is kept, unless the old lines start with it.

    Raises:
        PatchRejectedError: the old lines do not occur exactly once, or equal the new ones.
    """
    is_marked = text.startswith(BYTE_ORDER_MARK) and not "".join(old[:1]).startswith(BYTE_ORDER_MARK)
    lines = text_lines(text.removeprefix(BYTE_ORDER_MARK) if is_marked else text)
    places = find_lines(lines, old)
    if len(places) != 1:
        raise PatchRejectedError(f"{where}: expected exactly one match, got {_match_count(places)}: {_shown(old)}")
    if list(old) == list(new):
        raise PatchRejectedError(f"{where}: expected a change, but old and new lines are equal: {_shown(old)}")
    begin = places[0]
    changed = join_lines([*lines[:begin], *new, *lines[begin + len(old) :]], like=text)
    return f"{BYTE_ORDER_MARK}{changed.removeprefix(BYTE_ORDER_MARK)}" if is_marked else changed


def find_lines(lines: Sequence[str], old: Sequence[str]) -> list[int]:
    """Return the indexes, from 0, of the lines at which `old` starts."""
    if not old:
        return []
    wanted = list(old)
    return [number for number in range(len(lines) - len(old) + 1) if list(lines[number : number + len(old)]) == wanted]


def text_lines(text: str) -> list[str]:
    """Return the lines of a text without line endings."""
    plain = text.replace("\r\n", "\n") if _has_crlf(text) else text
    lines = plain.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def join_lines(lines: Sequence[str], *, like: str) -> str:
    """Join lines with the line endings of another text."""
    end = "\r\n" if _has_crlf(like) else "\n"
    text = end.join(lines)
    return text + end if lines and (like == "" or like.endswith("\n")) else text


def _has_crlf(text: str) -> bool:
    """Return whether all lines end with CRLF."""
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _match_count(places: Sequence[int]) -> str:
    if not places:
        return "none"
    return f"{len(places)} at lines {', '.join(str(number + 1) for number in places)}"


def _shown(lines: Sequence[str]) -> str:
    first = next((line.strip() for line in lines if line.strip()), "")
    shown = first if len(first) <= _SHOWN else f"{first[:_SHOWN]}…"
    return f"{shown!r}" + (f" and {pluralize(len(lines) - 1, 'more line')}" if len(lines) > 1 else "")
