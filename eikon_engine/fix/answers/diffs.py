"""Find unified diffs in an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.answers.placed import PlacedEdit
from eikon_engine.fix.proposal import UnifiedDiff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADER: Final = re.compile(
    r"^(?:diff --git |index [0-9a-f]|new file mode |deleted file mode |old mode |new mode |similarity index |rename "
    r"|copy |Binary files |GIT binary patch)"
)
_BODY_PREFIXES: Final = (" ", "+", "-", "\\", "@@")


def read_diffs(lines: Sequence[str]) -> Iterator[PlacedEdit]:
    """Yield the diffs of an answer; adjacent file diffs are combined."""
    number = 0
    while number < len(lines):
        if not _is_diff_start(lines, number):
            number += 1
            continue
        end = _diff_end(lines, number)
        text = "".join(f"{line}\n" for line in lines[number:end])
        yield PlacedEdit(edit=UnifiedDiff(text=text), first=number, end=end)
        number = end


def _is_diff_start(lines: Sequence[str], number: int) -> bool:
    """Return whether a file header starts here, with or without git's lines above it."""
    line = lines[number]
    if line.startswith("diff --git "):
        return True
    return line.startswith("--- ") and number + 1 < len(lines) and lines[number + 1].startswith("+++ ")


def _diff_end(lines: Sequence[str], number: int) -> int:
    """Return the line after a diff; an empty line belongs to it if more of the diff follows."""
    end = number
    while number < len(lines):
        line = lines[number]
        if line.startswith(_BODY_PREFIXES) or _HEADER.match(line) or _is_diff_start(lines, number):
            end = number + 1
        elif line.strip():
            break
        number += 1
    return end
