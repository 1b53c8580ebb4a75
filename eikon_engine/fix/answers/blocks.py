"""Search/replace blocks: which lines of a file are replaced by which.

The format is Aider's (https://aider.chat/docs/more/edit-formats.html): a line with the path, then

    <<<<<<< SEARCH
    current lines
    =======
    new lines
    >>>>>>> REPLACE

A code fence may enclose it. A block without a path belongs to the file of the block before it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ProposalMalformedError
from eikon_engine.fix.answers.placed import PlacedEdit
from eikon_engine.fix.proposal import ReplaceText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEARCH: Final = "<<<<<<< SEARCH"
DIVIDER: Final = "======="
REPLACE: Final = ">>>>>>> REPLACE"

_FENCE: Final = re.compile(r"^\s*(?:`{3,}|~{3,})[\w+.-]*\s*$")
_AROUND_PATH: Final = " \t`*#\"':"
_PATH: Final = re.compile(r"^[^\x00-\x1f<>|?*]{1,255}$")


def read_blocks(lines: Sequence[str]) -> Iterator[PlacedEdit]:
    """Yield the blocks of an answer.

    Raises:
        ProposalMalformedError: a block has no path or no end, or contains a marker line.
    """
    number, behind = 0, 0
    file: str | None = None
    while number < len(lines):
        if lines[number].rstrip() != SEARCH:
            _reject_stray(lines, number)
            number += 1
            continue
        first, file = _path(lines, number, behind, file)
        divider = _find_marker(lines, number + 1, DIVIDER)
        end = _find_marker(lines, divider + 1, REPLACE)
        edit = ReplaceText(
            file=file, search=_join_lines(lines[number + 1 : divider]), replace=_join_lines(lines[divider + 1 : end])
        )
        yield PlacedEdit(edit=edit, first=first, end=end + 1)
        number = behind = end + 1


def write_block(edit: ReplaceText) -> str:
    """Format a block so that `read_blocks` reads it."""
    return f"{edit.file}\n{SEARCH}\n{edit.search}{DIVIDER}\n{edit.replace}{REPLACE}\n"


def _join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _path(lines: Sequence[str], mark: int, behind: int, before: str | None) -> tuple[int, str]:
    """Return the line and the path above a block; the previous path if there is nothing in between."""
    number = mark - 1
    while number >= behind and (not lines[number].strip() or _FENCE.match(lines[number])):
        number -= 1
    if number < behind:
        if before is None:
            raise _malformed(mark, "the path of a file above it", "none")
        return mark, before
    name = lines[number].strip(_AROUND_PATH)
    if not _PATH.match(name):
        raise _malformed(mark, "the path of a file above it", repr(lines[number][:80]))
    return number, name


def _find_marker(lines: Sequence[str], begin: int, mark: str) -> int:
    """Return the line of the next marker; no other marker may come before it."""
    for number in range(begin, len(lines)):
        line = lines[number].rstrip()
        if line == mark:
            return number
        if line in {SEARCH, DIVIDER, REPLACE}:
            raise _malformed(begin - 1, f"{mark!r} next", f"{line!r} in line {number + 1}")
    raise _malformed(begin - 1, f"{mark!r} below it", "the end of the answer")


def _reject_stray(lines: Sequence[str], number: int) -> None:
    if lines[number].rstrip() == REPLACE:
        raise _malformed(number, f"{SEARCH!r} and {DIVIDER!r} above it", "none")


def _malformed(number: int, wanted: str, found: str) -> ProposalMalformedError:
    return ProposalMalformedError(
        f"model response, block at line {number + 1}: expected {wanted}, got {found}. Retry, or use another model."
    )
